# Prints the state of the agent: none, alive, lost, or ended with its exit code.
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
	echo alive # the command runs without its script
else
	[ -e tag ] && sweep "$(cat tag)" # kills processes that the command left behind
	echo lost
fi
