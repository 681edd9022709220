# Finds the regular file behind $1, if it is below one of the places. What it holds from byte $3 on is handed
# over at once if that is at most $2 bytes.
real=$(readlink -f "$1" 2>/dev/null)
[ -n "$real" ] && [ -e "$real" ] || {
	[ -L "$1" ] && exit 3 # a loop, or a link to nothing
	exit 2
}
case $real in
"$place_dir"/* | "$place_workspace"/* | "$place_home"/*) ;;
*) exit 3 ;;
esac
[ -f "$real" ] && [ -r "$real" ] || exit 3
size=$(wc -c < "$real" | tr -d ' ')
if [ "$((size - $3))" -le "$2" ]; then
	printf 'inline '
	tail -c "+$(($3 + 1))" < "$real" | head -c "$2" | base64 | tr -d '\n'
else
	printf 'at %s' "$real"
fi
