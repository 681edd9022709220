package ingest

import "bytes"

// mostExponent is the exponent of the largest double. The database stores a number digit by digit: the six bytes
// 1e99999 would be returned as a hundred thousand, and a page of such numbers could not be returned.
const mostExponent = 308

// HasHugeNumber reports whether a well-formed JSON text contains a number with an exponent that no double has. Texts
// inside the JSON do not count.
func HasHugeNumber(data []byte) bool {
	for at := 0; at < len(data); at++ {
		switch c := data[at]; {
		case c == '"':
			at += textLen(data[at:]) - 1
		case c|0x20 == 'e' && at > 0 && isDigit(data[at-1]) && huge(data[at+1:]):
			return true
		}
	}
	return false
}

// textLen returns the length of the JSON string at the beginning of data, with its quotes.
func textLen(data []byte) int {
	for end := 1; end < len(data); end++ {
		n := bytes.IndexByte(data[end:], '"')
		if n < 0 {
			break
		}
		end += n
		before := data[:end]
		if escapes := len(before) - len(bytes.TrimRight(before, `\`)); escapes%2 == 0 {
			return end + 1
		}
	}
	return len(data)
}

// huge reports whether the exponent at the beginning of text is above the maximum.
func huge(text []byte) bool {
	if len(text) > 0 && (text[0] == '+' || text[0] == '-') {
		text = text[1:]
	}
	exponent := 0
	for _, c := range text {
		if !isDigit(c) {
			break
		}
		if exponent = exponent*10 + int(c-'0'); exponent > mostExponent {
			return true
		}
	}
	return false
}

func isDigit(c byte) bool { return '0' <= c && c <= '9' }
