# Runs one command of Attach in the folder $1, with its output in files.
cd "$1" || exit 70
. ./lib
tag=$(cat tag)
: > out
: > err
if [ ! -e stop ]; then
	(
		ulimit -m "$tag" 2>/dev/null
		. ./env
		rm -f env
		cd "$OMOI_START" || exit 126
		unset OMOI_START
		eval "exec $OMOI_ARGS"
	) < stdin > out 2> err &
	wait $!
	code=$?
	sweep "$tag"
fi
echo "${code:--1}" > code.new
mv -f code.new code
