package ingest

import (
	"unicode/utf16"
	"unicode/utf8"
)

// plainLen returns how long JSON is without needless escapes, as the store keeps it: a sender that writes \u6f22 has written one
// character, as one that writes it as it is.
func plainLen(raw []byte) int {
	n := 0
	for at := 0; at < len(raw); {
		long, plain := 1, 1
		if raw[at] == '\\' {
			long, plain = plainEscape(raw[at:])
		}
		at += long
		n += plain
	}
	return n
}

// plainEscape returns how long the escape is with which raw begins, and how long the same is where it needs none.
func plainEscape(raw []byte) (long, plain int) {
	long, _ = escapeAt(raw)
	r := unicodeAt(raw)
	switch {
	case r < 0, utf16.IsSurrogate(r) && long == len(`\u0000`):
		return long, long
	case utf16.IsSurrogate(r):
		return long, utf8.UTFMax
	case r < ' ', r == '"', r == '\\':
		return long, len(`\n`)
	}
	return long, utf8.RuneLen(r)
}
