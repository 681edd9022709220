package ingest

import (
	"bytes"
	"strings"

	"github.com/go-json-experiment/json/jsontext"
)

// mostExponent is that of the largest double. The database writes numbers out, digit by
// digit: six bytes 1e99999 would come back as a hundred thousand, and a page of them not at all.
const mostExponent = 308

// HasHugeNumber reports whether a well-formed JSON text holds a number with an exponent
// beyond that of any double. Texts inside the JSON do not count.
func HasHugeNumber(data []byte) bool {
	for at := 1; at < len(data); at++ {
		if data[at]|0x20 == 'e' && isDigit(data[at-1]) && huge(data[at+1:]) {
			return insideNoText(data) // rare enough to look twice
		}
	}
	return false
}

// insideNoText is HasHugeNumber that knows where texts begin and end.
func insideNoText(data []byte) bool {
	tokens := jsontext.NewDecoder(bytes.NewReader(data), jsontext.AllowDuplicateNames(true), jsontext.AllowInvalidUTF8(true))
	for {
		t, err := tokens.ReadToken()
		if err != nil {
			return false // the end
		}
		if t.Kind() != '0' {
			continue
		}
		if _, exponent, found := strings.Cut(strings.ToLower(t.String()), "e"); found && huge([]byte(exponent)) {
			return true
		}
	}
}

// huge reports whether the exponent with which text begins is beyond the most.
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
