# Runs the agent once in the life of the sandbox: a second start runs nothing.
. "$1/lib"
cd "$ctl" || exit 70
echo "$$ $(born $$)" > "lock.$$"
ln "lock.$$" lock 2>/dev/null || { rm -rf "lock.$$" "$1"; exit 0; }
rm -f "lock.$$"
tag=$(cat "$1/tag")
echo "$tag" > tag
rm -f out
mkfifo out || exit 70
tee log < out &
copy=$!
(
	ulimit -m "$tag" 2>/dev/null
	. "$1/env"
	rm -rf "$1"
	cd "$OMOI_START" || exit 126
	unset OMOI_START
	eval "exec $OMOI_ARGS"
) > out 2>&1 < /dev/null &
child=$!
echo "$child" > child
trap : TERM INT HUP
wait "$child"
code=$?
while kill -0 "$child" 2>/dev/null; do
	wait "$child"
	code=$?
done
sweep "$tag"
wait "$copy"
echo "$code" > exit.new
mv -f exit.new exit
exit "$code"
