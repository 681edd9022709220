# Prints the output of the command in the folder $1 from byte $2 and its error output from byte $3, at most
# $4 bytes of each. It waits at most 15 seconds for new output: proxies cut quiet calls after a minute.
cd "$1" || exit 70
fresh() { [ -e code ] || [ "$(wc -c < out)" -gt "$1" ] || [ "$(wc -c < err)" -gt "$2" ]; }
rounds=0
while [ "$rounds" -lt 97 ] && ! fresh "$2" "$3" 2>/dev/null; do
	rounds=$((rounds + 1))
	if [ "$rounds" -le 25 ]; then nap; else sleep 0.2 2>/dev/null || sleep 1; fi
done
if [ -e code ]; then echo "code $(cat code)"; else echo running; fi
tail -c "+$(($2 + 1))" out 2>/dev/null | head -c "$4" | base64 | tr -d '\n'
echo
tail -c "+$(($3 + 1))" err 2>/dev/null | head -c "$4" | base64 | tr -d '\n'
echo
