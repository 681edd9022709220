# Moves the uploaded file $1, of $4 bytes, to $2 with mode $3.
dir=${2%/*}
fail() { rm -f "$1"; exit "$2"; }
mkdir -p "$dir" 2>/dev/null || fail "$1" 3
case $(readlink -f "$dir" 2>/dev/null)/ in
"$place_dir"/* | "$place_workspace"/* | "$place_home"/*) ;;
*) fail "$1" 3 ;;
esac
[ "$(wc -c < "$1" 2>/dev/null | tr -d ' ')" = "$4" ] || fail "$1" 4
if [ -L "$2" ]; then rm -f "$2"; fi
[ -d "$2" ] && fail "$1" 3
chmod "$3" "$1" && mv -f "$1" "$2" || fail "$1" 5
