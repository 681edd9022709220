// Package textcut shortens texts.
package textcut

import "unicode/utf8"

// First returns text, or the whole characters of its first n bytes.
func First(text string, n int) string {
	if len(text) <= n {
		return text
	}
	for n > 0 && !utf8.RuneStart(text[n]) {
		n--
	}
	return text[:n]
}
