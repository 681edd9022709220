# Resolves $1 to a regular file below the places. If at most $2 bytes follow byte $3, it prints them,
# else the path.
real=$(readlink -f "$1" 2>/dev/null)
[ -n "$real" ] && [ -e "$real" ] || {
	[ -L "$1" ] && exit 3 # a loop, or a broken link
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
