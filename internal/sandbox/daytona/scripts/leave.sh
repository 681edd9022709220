# Kills the processes of the command in the folder $1, and removes the folder.
cd "$1" 2>/dev/null || exit 0
: > stop
[ -e tag ] && sweep "$(cat tag)"
cd /
for try in 1 2 3 4 5; do rm -rf "$1" 2>/dev/null && break; nap; done # the script of the command may be writing its exit code
