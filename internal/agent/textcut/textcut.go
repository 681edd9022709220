// Package textcut shortens and cleans texts.
package textcut

import (
	"bufio"
	"bytes"
	"errors"
	"strings"
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

// Last returns text, or its last n bytes with a sign for what was cut in the middle of a character.
func Last(text string, n int) string { return strings.ToValidUTF8(text[max(len(text)-n, 0):], "?") }

// ReadLine reads a line with its end, and says how long it is. Of one that is longer than most it keeps the first head bytes.
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
