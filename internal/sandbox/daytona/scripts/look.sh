# Says what became of the agent: none, alive, lost, or ended and how.
cd "$ctl" 2>/dev/null || { echo none; exit 0; }
[ -e lock ] || { echo none; exit 0; }
read -r runner since < lock
if [ -e exit ]; then
	echo "ended $(cat exit)"
elif [ "$(born "$runner")" = "$since" ]; then
	echo alive
elif [ -e exit ]; then
	echo "ended $(cat exit)"
elif [ -e child ] && tagged "$(cat tag)" | grep -qx "$(cat child)"; then
	echo alive # it goes on without who ran it
else
	[ -e tag ] && sweep "$(cat tag)" # what it left behind ends with it
	echo lost
fi
