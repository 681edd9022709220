# Ends what runs from the folder $1, and removes it.
cd "$1" 2>/dev/null || exit 0
: > stop
[ -e tag ] && sweep "$(cat tag)"
cd / && rm -rf "$1"
