# Creates the folders, and prints the machine's architecture.
for d in "$place_dir" "$place_workspace" "$place_home"; do
	if [ ! -d "$d" ] || [ ! -w "$d" ]; then
		mkdir -p "$d" 2>/dev/null ||
			{ sudo -n mkdir -p "$d" && sudo -n chown "$(id -u):$(id -g)" "$d"; } >/dev/null 2>&1
	fi
	[ -w "$d" ] || { echo "$d"; exit 1; }
done
umask 077
mkdir -p "$ctl/tmp" "$ctl/exec" && uname -m
