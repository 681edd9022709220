package token

import (
	"bytes"
	"strings"
)

const (
	// enough is how much of a token's end must be there to be worth hiding: with less than
	// that nobody can find the rest.
	enough = 32
	hidden = "[redacted]"
)

// Hide is a JSON text, or any other, without whatever has the form of a token. Where there is
// none it is text itself, and nothing is allocated: every event passes here.
func Hide(text []byte) []byte {
	var out []byte
	kept := 0
	for at := 0; ; {
		next := bytes.Index(text[at:], []byte(version+"."))
		if next < 0 {
			break
		}
		at += next + len(version) + 1
		if end := tokenEnd(text, at); end > 0 {
			out = append(append(out, text[kept:at-len(version)-1]...), hidden...)
			at, kept = end, end
		}
	}
	if out == nil {
		return text
	}
	return append(out, text[kept:]...)
}

// Holds reports whether a name holds what [Hide] would hide. It allocates nothing where the
// name does not even look like it.
func Holds(name string) bool {
	return strings.Contains(name, version+".") && len(Hide([]byte(name))) != len(name)
}

// HideIn is [Hide] for what is no JSON: paths, sentences, names.
func HideIn(text string) string {
	if !Holds(text) {
		return text
	}
	return string(Hide([]byte(text)))
}

// tokenEnd is where the token ends whose key id would begin at from; 0 if there is none.
func tokenEnd(text []byte, from int) int {
	dot := bytes.IndexByte(text[from:min(len(text), from+maxID+1)], '.')
	if dot < 1 || bytes.ContainsAny(text[from:from+dot], "\"\\/ \t\r\n") {
		return 0
	}
	end := from + dot + 1
	for end < len(text) && inBase64(text[end]) {
		end++
	}
	if end-from-dot-1 < enough {
		return 0
	}
	return end
}

func inBase64(c byte) bool {
	return 'a' <= c && c <= 'z' || 'A' <= c && c <= 'Z' || '0' <= c && c <= '9' || c == '-' || c == '_'
}
