package token

import "regexp"

const hidden = "[redacted]"

// form is that of a token, whole or cut at its end: with less than 32 bytes of its end nobody can find the rest.
var form = regexp.MustCompile(`v1\.[^."\\/ \t\r\n]{1,40}\.[A-Za-z0-9_-]{32,}`)

// Hide is a JSON text, or any other, without whatever has the form of a token. Where there is
// none it is text itself, and nothing is allocated: every event passes here.
func Hide(text []byte) []byte {
	if !form.Match(text) {
		return text
	}
	return form.ReplaceAllLiteral(text, []byte(hidden))
}

// Holds reports whether a name holds what [Hide] would hide.
func Holds(name string) bool { return form.MatchString(name) }

// HideIn is [Hide] for what is no JSON: paths, sentences, names.
func HideIn(text string) string { return form.ReplaceAllLiteralString(text, hidden) }
