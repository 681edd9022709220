package scm

import "strings"

// Quoted is a path as a shell takes it, for commands that people copy.
func Quoted(path string) string {
	if path != "" && !strings.ContainsAny(path, " '\"$&|;<>()*?[]{}#~`\\!\t\n") {
		return path
	}
	return "'" + strings.ReplaceAll(path, "'", `'\''`) + "'"
}
