# Waits for the command in the folder $1 for $2 rounds, and hands over what it said. With "stop"
# it ends it first.
cd "$1" || exit 70
rounds=0
while [ ! -e code ] && [ "$rounds" -lt "$2" ]; do
	if [ "$3" = stop ]; then
		: > stop
		sweep "$(cat tag)"
	fi
	rounds=$((rounds + 1))
	if [ "$rounds" -le 25 ]; then nap; else sleep 0.2 2>/dev/null || sleep 1; fi
done
[ -e code ] || { echo running; exit 0; }
echo "code $(cat code)"
for f in out err; do
	[ -e "$f" ] && base64 < "$f" | tr -d '\n'
	echo
done
cd / && rm -rf "$1"
