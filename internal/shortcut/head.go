package shortcut

import (
	"bytes"
	"net/http"
	"net/textproto"
	"strconv"
	"strings"
)

// maxFields is how many header fields a request may have that is answered here.
const maxFields = 24

// head is what comes before the body of a request.
type head struct {
	method, target string
	size           int   // of the head itself, in bytes
	length         int64 // of the body
	simple         bool  // nothing in it asks for more than one answer
	fields         [maxFields]field
	count          int
}

type field struct {
	name  string
	value [1]string // as a header holds it
}

// read takes the head with which text begins. known is false where the end of the request is not:
// the head is not whole, or can be read in more than one way, or does not say how long the body is.
func (h *head) read(text []byte) (known bool) {
	end := bytes.Index(text, []byte("\r\n\r\n"))
	if end < 0 {
		return false
	}
	h.size, h.length, h.simple, h.count = end+len("\r\n\r\n"), 0, true, 0
	line, rest, _ := strings.Cut(string(text[:end]), "\r\n")
	var version string
	h.method, line, _ = strings.Cut(line, " ")
	h.target, version, _ = strings.Cut(line, " ")
	if version != "HTTP/1.1" || h.method == "" || h.target == "" || !isVisible(h.method) || !isVisible(h.target) {
		return false
	}
	for rest != "" {
		line, rest, _ = strings.Cut(rest, "\r\n")
		if h.count == maxFields || !h.add(line) {
			return false
		}
	}
	return h.times("Host") == 1 && h.times("Content-Length") <= 1
}

// isOf reports whether a text is of letters, digits and some other characters.
func isOf(text, others string) bool {
	for n := range len(text) {
		if c := text[n]; (c < '0' || c > '9') && (c|0x20 < 'a' || c|0x20 > 'z') && strings.IndexByte(others, c) < 0 {
			return false
		}
	}
	return true
}

func isVisible(text string) bool {
	for n := range len(text) {
		if text[n] <= ' ' || text[n] >= 0x7f {
			return false
		}
	}
	return true
}

// add takes one line; false: it has no plain meaning.
func (h *head) add(line string) bool {
	name, value, found := strings.Cut(line, ":")
	value = strings.Trim(value, " \t")
	if !found || name == "" || !isOf(name, "-_") || !isValue(value) {
		return false
	}
	name = textproto.CanonicalMIMEHeaderKey(name)
	h.fields[h.count] = field{name, [1]string{value}}
	h.count++
	switch name {
	case "Transfer-Encoding":
		return false
	case "Content-Length":
		return h.measure(value)
	case "Host":
		h.simple = h.simple && isOf(value, "-._:[]")
	case "Connection":
		h.simple = h.simple && strings.EqualFold(value, "keep-alive")
	case "Expect", "Upgrade", "Te", "Trailer":
		h.simple = false
	}
	return true
}

func isValue(text string) bool {
	for n := range len(text) {
		if c := text[n]; c < ' ' && c != '\t' || c == 0x7f {
			return false
		}
	}
	return true
}

func (h *head) measure(text string) bool {
	const bits = 62
	length, err := strconv.ParseUint(text, 10, bits)
	h.length = int64(length)
	return err == nil
}

func (h *head) times(name string) (n int) {
	for i := range h.fields[:h.count] {
		if h.fields[i].name == name {
			n++
		}
	}
	return n
}

// fill sets the host and the header of a request.
func (h *head) fill(r *http.Request) {
	for i := range h.fields[:h.count] {
		f := &h.fields[i]
		switch before := r.Header[f.name]; {
		case f.name == "Host":
			r.Host = f.value[0]
		case before == nil:
			r.Header[f.name] = f.value[:1:1]
		default:
			r.Header[f.name] = append(before, f.value[0])
		}
	}
}
