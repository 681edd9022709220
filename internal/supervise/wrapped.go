package supervise

import (
	"path"
	"regexp"
	"slices"
	"strings"
)

// wrappers are programs that run the command behind their flags, with the flags that take a value.
//
//nolint:gochecknoglobals // a table
var wrappers = map[string]string{
	"sudo": "-u -g -h -p -C -D -R -T", "env": "-u -C", "nice": "-n", "nohup": "", "timeout": "-k -s", "time": "-f -o", "command": "",
	"exec": "-a", "stdbuf": "-i -o -e", "setsid": "", "ionice": "-c -n -p", "xargs": "-n -P -I -L -d -a -E -s",
}

var assignment = regexp.MustCompile(`^[A-Za-z_]\w*=`)

// unwrapped returns the command inside of a command: without leading assignments, or without a wrapper such as
// "timeout 60". A command without either has none inside.
func unwrapped(words []string) []string {
	if assignment.MatchString(words[0]) {
		return words[1:]
	}
	program := path.Base(words[0])
	valued, wraps := wrappers[program]
	if !wraps {
		return nil
	}
	words = words[1:]
	for len(words) > 0 && strings.HasPrefix(words[0], "-") {
		if slices.Contains(strings.Fields(valued), words[0]) {
			words = words[1:]
		}
		words = words[min(1, len(words)):]
	}
	if program == "timeout" { // its duration
		words = words[min(1, len(words)):]
	}
	return words
}
