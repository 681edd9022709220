# Runs the command of the folder $1 at the current terminal. Output before the mark is not the command's.
cd "$1" || exit 70
ulimit -m "$(cat tag)" 2>/dev/null
. ./env
rm -f env
cd "$OMOI_START" || exit 126
unset OMOI_START
printf '\036'
eval "exec $OMOI_ARGS"
