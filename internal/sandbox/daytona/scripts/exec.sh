# Runs one command of Exec in the folder $1.
cd "$1" || exit 70
. ./lib
tag=$(cat tag)
if mkfifo o e && [ ! -e stop ]; then
	{ head -c "$2" > out; cat > /dev/null; } < o &
	first=$!
	{ head -c "$2" > err; cat > /dev/null; } < e &
	second=$!
	(
		ulimit -m "$tag" 2>/dev/null
		. ./env
		rm -f env
		cd "$OMOI_START" || exit 126
		unset OMOI_START
		eval "exec $OMOI_ARGS"
	) < stdin > o 2> e &
	wait $!
	code=$?
	sweep "$tag"
	wait "$first"
	wait "$second"
fi
echo "${code:--1}" > code.new
mv -f code.new code
