package token

import (
	"bytes"
	"regexp"
)

const hidden = "[redacted]"

// form matches a token, complete or cut at its end: with less than 32 bytes of the signature, guessing the rest is
// infeasible.
var form = regexp.MustCompile(`v1\.[^."\\/ \t\r\n]{1,40}\.[A-Za-z0-9_-]{32,}`)

// Hide returns text without anything that has the form of a token. If there is none, it returns text itself without an
// allocation, since every event passes here.
func Hide(text []byte) []byte {
	if !form.Match(text) {
		return text
	}
	return form.ReplaceAllLiteral(text, []byte(hidden))
}

// Cover is [Hide] that keeps the length of text, so that positions in it stay right.
func Cover(text []byte) []byte {
	return form.ReplaceAllFunc(text, func(found []byte) []byte {
		return append([]byte(hidden), bytes.Repeat([]byte{'_'}, len(found)-len(hidden))...)
	})
}

// Holds reports whether a name contains what [Hide] would hide.
func Holds(name string) bool { return form.MatchString(name) }

// HideIn is [Hide] for text that is not JSON: paths, sentences, names.
func HideIn(text string) string { return form.ReplaceAllLiteralString(text, hidden) }
