// Package textcut shortens and cleans texts.
package textcut

import (
	"bufio"
	"bytes"
	"errors"
	"strings"
	"unicode/utf8"
)

// First returns text, or at most its first n bytes without an incomplete character at the end.
func First(text string, n int) string {
	if len(text) <= n {
		return text
	}
	for n > 0 && !utf8.RuneStart(text[n]) {
		n--
	}
	return text[:n]
}

// Last returns text, or its last n bytes with "?" in place of an incomplete character.
func Last(text string, n int) string { return strings.ToValidUTF8(text[max(len(text)-n, 0):], "?") }

// ReadLine reads a line with its newline, and returns its full length. Of a line longer than most bytes, it keeps the
// first head bytes.
func ReadLine(in *bufio.Reader, most, head int) (line []byte, full int, err error) {
	for {
		part, err := in.ReadSlice('\n')
		if full += len(part); full <= most {
			line = append(line, part...)
		} else if len(line) > head {
			line = bytes.Clone(line[:head])
		}
		if !errors.Is(err, bufio.ErrBufferFull) {
			return line, full, err
		}
	}
}

// WithoutNUL replaces U+0000 in JSON in place, because PostgreSQL does not accept it.
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
