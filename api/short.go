package api

import (
	"bytes"
	"compress/gzip"
	"encoding/json"
	"errors"
	"io"
	"strconv"
	"strings"
	"unicode/utf8"

	"github.com/danielgtaylor/huma/v2"
	"github.com/danielgtaylor/huma/v2/adapters/humagin"
	"github.com/gin-gonic/gin"
	"github.com/go-json-experiment/json/jsontext"

	"github.com/omoi-dev/omoi/api/client"
	"github.com/omoi-dev/omoi/internal/ingest"
)

// shortText is the maximum number of bytes of a text in a short event.
const shortText = 2 << 10

// shortEvent returns an event with its texts cut.
func shortEvent(e ingest.StoredEvent) client.ShortEvent {
	out := client.ShortEvent{Event: e}
	if len(e.Data) > shortText {
		if data, cut, err := shorten(e.Data); err == nil {
			out.Data, out.Truncated = data, cut
		}
	}
	return out
}

// shorten cuts each long text of a JSON value, at any depth.
func shorten(data json.RawMessage) (json.RawMessage, []client.TruncatedText, error) {
	var out bytes.Buffer
	var cut []client.TruncatedText
	lax := []jsontext.Options{jsontext.AllowDuplicateNames(true), jsontext.AllowInvalidUTF8(true)}
	from, to := jsontext.NewDecoder(bytes.NewReader(data), lax...), jsontext.NewEncoder(&out, lax...)
	for {
		token, err := from.ReadToken()
		switch {
		case errors.Is(err, io.EOF):
			return bytes.TrimSpace(out.Bytes()), cut, nil
		case err != nil:
			return nil, nil, err
		case token.Kind() == '"' && len(token.String()) > shortText && !isName(from):
			text := token.String()
			cut = append(cut, client.TruncatedText{Part: string(from.StackPointer()), Bytes: len(text)})
			first, _ := runesOf(text, 0, shortText)
			token = jsontext.String(first)
		}
		if err := to.WriteToken(token); err != nil {
			return nil, nil, err
		}
	}
}

// isName reports whether the last token is the name of a field.
func isName(d *jsontext.Decoder) bool {
	kind, n := d.StackIndex(d.StackDepth())
	return kind == '{' && n%2 == 1
}

// runesOf returns at most limit bytes of a text from an offset, without parts of characters, and where they begin.
func runesOf(text string, offset, limit int) (piece string, begin int) {
	begin = min(offset, len(text))
	for begin < len(text) && !utf8.RuneStart(text[begin]) {
		begin++
	}
	end := min(begin+limit, len(text))
	for end < len(text) && end > begin && !utf8.RuneStart(text[end]) {
		end--
	}
	return text[begin:end], begin
}

// partOf returns a part of event data as text: a JSON string itself, any other value as JSON.
func partOf(data json.RawMessage, pointer string) (text string, found bool) {
	for name := range jsontext.Pointer(pointer).Tokens() {
		var object map[string]json.RawMessage
		var list []json.RawMessage
		switch n, err := strconv.Atoi(name); {
		case json.Unmarshal(data, &object) == nil && object[name] != nil:
			data = object[name]
		case err == nil && n >= 0 && json.Unmarshal(data, &list) == nil && n < len(list):
			data = list[n]
		default:
			return "", false
		}
	}
	if json.Unmarshal(data, &text) == nil {
		return text, true
	}
	return string(data), true
}

// packed is the middleware that compresses long responses for clients that accept gzip.
func packed(ctx huma.Context, next func(huma.Context)) {
	c := humagin.Unwrap(ctx)
	if !strings.Contains(c.GetHeader("Accept-Encoding"), "gzip") {
		next(ctx)
		return
	}
	w := &packedWriter{ResponseWriter: c.Writer}
	c.Writer = w
	defer func() { c.Writer = w.ResponseWriter }() // for the answer to a panic
	next(ctx)
	if w.gz != nil {
		_ = w.gz.Close() // the reader may have disconnected
	}
}

type packedWriter struct {
	gin.ResponseWriter

	gz *gzip.Writer
}

// Write implements [io.Writer].
func (w *packedWriter) Write(p []byte) (int, error) {
	if w.gz == nil {
		w.Header().Set("Content-Encoding", "gzip")
		w.gz = gzip.NewWriter(w.ResponseWriter)
	}
	return w.gz.Write(p)
}

// WriteString implements [io.StringWriter].
func (w *packedWriter) WriteString(s string) (int, error) { return w.Write([]byte(s)) }

// kept returns the cache headers of a response with history, which never changes.
func (h *HistoryHeaders) kept(content any, complete bool) error {
	h.Vary = "Accept-Encoding, Authorization, X-Api-Key, Cookie"
	h.CacheControl = "private, no-cache"
	if complete {
		h.CacheControl = "private, max-age=86400, immutable" // retention counts in days
	}
	sum, err := hashOf(content)
	h.ETag = `W/"` + cursorOf(string(sum)) + `"`
	return err
}

// HistoryHeaders are the headers of a response that clients may keep.
type HistoryHeaders struct {
	ETag         string `header:"ETag"` //nolint:tagliatelle // the name of HTTP
	CacheControl string `header:"Cache-Control"`
	Vary         string `header:"Vary"`
}
