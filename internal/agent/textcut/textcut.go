// Package textcut shortens texts.
package textcut

import (
	"bytes"
	"unicode/utf8"
)

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

// WithoutNUL replaces U+0000 in JSON, in place: programs print it, and no database column takes it.
func WithoutNUL(body []byte) []byte {
	for at := 0; ; {
		next := bytes.Index(body[at:], []byte(`\u0000`))
		if next < 0 {
			return body
		}
		at += next
		escaped := 0
		for at-escaped > 0 && body[at-escaped-1] == '\\' {
			escaped++
		}
		if escaped%2 == 0 {
			copy(body[at:], `\ufffd`)
		}
		at += len(`\u0000`)
	}
}
