# Sends SIGTERM to the agent, or with "force" kills all its processes.
cd "$ctl" 2>/dev/null || exit 0
[ -e tag ] || exit 0
tag=$(cat tag)
if [ "$1" = force ]; then
	sweep "$tag"
else
	child=$(cat child 2>/dev/null)
	tagged "$tag" | grep -qx "$child" && kill -TERM "$child" 2>/dev/null
fi
exit 0
