package ingest

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
	for at := 1; at < len(data); at++ {
		switch {
		case data[at] == '"':
			at += textEnd(data[at:])
		case data[at]|0x20 == 'e' && isDigit(data[at-1]) && huge(data[at+1:]):
			return true
		}
	}
	return false
}

// textEnd is the place of the quote that ends the text which begins with data.
func textEnd(data []byte) int {
	for at := 1; at < len(data); at++ {
		switch data[at] {
		case '\\':
			at++
		case '"':
			return at
		}
	}
	return len(data)
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
