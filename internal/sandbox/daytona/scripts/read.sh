# Finds the regular file behind $1, if it is below one of the places.
real=$(readlink -f "$1" 2>/dev/null)
[ -n "$real" ] && [ -e "$real" ] || {
	[ -L "$1" ] && exit 3 # a loop, or a link to nothing
	exit 2
}
case $real in
"$place_dir"/* | "$place_workspace"/* | "$place_home"/*) ;;
*) exit 3 ;;
esac
[ -f "$real" ] || exit 3
[ -r "$real" ] || exit 3
printf '%s' "$real"
