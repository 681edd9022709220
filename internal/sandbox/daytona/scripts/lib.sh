# born prints the start time of the process $1, in clock ticks since the start of the machine.
born() {
	stat=$(cat "/proc/$1/stat" 2>/dev/null) || return 1
	set -- ${stat##*) }
	echo "${20}"
}
# tagged prints the PIDs of the command with the tag $1.
tagged() {
	grep -ls "^Max resident set  *$(($1 * 1024)) " /proc/[0-9]*/limits 2>/dev/null | cut -d/ -f3
}
# sweep kills the processes with the tag $1, and returns when none is left.
sweep() {
	rounds=0
	while left=$(tagged "$1") && [ -n "$left" ]; do
		kill -9 $left 2>/dev/null
		rounds=$((rounds + 1))
		[ "$rounds" -gt 400 ] && return 1
		nap
	done
}
nap() { sleep 0.02 2>/dev/null || sleep 1; }
