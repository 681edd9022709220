package task

import "strings"

// Sentence joins a beginning and an optional reason, with one full stop at the end.
func Sentence(beginning, reason string) string {
	reason = strings.TrimRight(strings.TrimSpace(reason), ".")
	if reason == "" {
		return beginning + "."
	}
	return beginning + ": " + reason + "."
}
