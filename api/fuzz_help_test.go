package api_test

import (
	"bytes"
	"compress/gzip"
	"io"
	"net/http"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/omoi-dev/omoi/api/client"
	apitest "github.com/omoi-dev/omoi/internal/testkit/api"
)

// openToAny starts a server without authentication, to which sandboxes send what they like.
func openToAny(tb testing.TB) *world {
	tb.Helper()
	w := open(tb)
	w.senders = apitest.AnySenders
	return w
}

// Encodings of a body.
const (
	plainBody  = iota
	packedBody // gzip
	falseBody  // not compressed, with the header of gzip
	cutBody    // gzip, cut off
	packings
)

// spelled returns a body in a form that mutation alone would rarely reach: if the high half of how is set, each byte
// stands for a word of JSON or of the protocol.
func spelled(body []byte, how byte) []byte {
	if how < 0x80 {
		return body
	}
	var out []byte
	for _, b := range body {
		out = append(out, words[int(b)%len(words)]...)
	}
	return out
}

var words = []string{
	`{`, `}`, `[`, `]`, `,`, `:`, `"`, `\\`, ` `, "\n", `"x"`, `""`, `null`, `true`, `0`, `-1`, `1.0`, `1e308`, `1e309`,
	`1E-400`, `"1e999"`,
	`"event_type":`, `"event_data":`, `"source":`, `"client_event_id":`, `"Event_Type":`, `"events":[`, `"spool_id":"s",`,
	`"first":1,`,
	`"content":`, `"message_type":`, `"agent.completed"`, `"heartbeat"`, `"agent"`, `"worker"`, `"interrupt"`,
	`"transcript_b64":`,
	`"\u0000"`, `"\\u0000"`, `"\ud800"`, `"\ud83d\ude00"`, "\xff", "\x00", "\"\u2028\"",
	`"v1.k.0123456789012345678901234567890123456789"`,
	`{"event_type":"x","event_data":{`, `}}`, `{"a":`, `"a":1,`, `{"content":"x"`, `"omoi:k"`,
	`"` + strings.Repeat("é", 101) + `"`,
	`"` + strings.Repeat("x", 20<<10) + `"`, strings.Repeat(`[`, 600), strings.Repeat(`]`, 600),
}

// post sends a body in the encoding that how selects.
func (b box) post(path string, body []byte, how byte, headers ...string) answer {
	b.t.Helper()
	switch how % packings {
	case packedBody:
		body = packed(body)
	case cutBody:
		body = packed(body)
		body = body[:len(body)*2/3]
	}
	if how%packings != plainBody {
		headers = append(headers, "Content-Encoding", "gzip")
	}
	got := b.call(http.MethodPost, wire+b.id+path, slices.Clip(append([]byte{}, body...)), headers...)
	require.Less(b.t, got.status, http.StatusInternalServerError, "%s", got.body)
	return got
}

func (b box) get(path string) answer { return b.call(http.MethodGet, wire+b.id+path, nil) }

// unpacked returns the decompressed body; sent is false if it cannot be decompressed.
func unpacked(body []byte, how byte) (said []byte, sent bool) {
	switch how % packings {
	case plainBody, packedBody:
		return body, true
	case cutBody:
		return nil, false
	}
	r, err := gzip.NewReader(bytes.NewReader(body))
	if err != nil {
		return nil, false
	}
	said, err = io.ReadAll(r)
	return said, err == nil
}

func packed(body []byte) []byte {
	var out bytes.Buffer
	z := gzip.NewWriter(&out)
	_, _ = z.Write(body) // never fails
	_ = z.Close()
	return out.Bytes()
}

// isHeader reports whether a client would send s as the value of a header.
func isHeader(s string) bool {
	return strings.TrimSpace(s) == s && !strings.ContainsFunc(s, func(r rune) bool { return r < ' ' || r >= 0x7f })
}

// refusedWithoutATrace expects an error in the right form, and nothing stored.
func (b box) refusedWithoutATrace(got answer) {
	b.t.Helper()
	require.Contains(b.t, []int{400, 408, 409, 413, 415, 422}, got.status, "%s", got.body)
	got.refused(got.status, "")
	b.holds()
	require.Zero(b.t, b.count(`SELECT count(*) FROM messages WHERE sandbox_id = $1 AND state <> 'refused'`, b.id))
}

// holds reads all events of the sandbox in each possible way, and compares.
func (b box) holds(want ...wanted) {
	b.t.Helper()
	const page = 500
	require.Equal(b.t, len(want), b.count(`SELECT count(*) FROM sandbox_events WHERE sandbox_id = $1`, b.id))
	if len(want) == 0 {
		return
	}
	integrity := ok[client.Integrity](b.get("/integrity"), http.StatusOK)
	require.EqualValues(b.t, len(want), integrity.LastSequence)
	require.Empty(b.t, integrity.Gaps)
	listed := ok[client.SandboxEvents](b.get("/events?limit=500"), http.StatusOK)
	require.EqualValues(b.t, len(want), listed.TotalCount)
	for n, e := range listed.Events[:min(len(want), page)] {
		said := want[len(want)-1-n]
		require.Equal(b.t, said.Type, e.EventType)
		require.Equal(b.t, said.Source, e.Source)
		whole := ok[client.Event](b.get("/events/"+e.ID), http.StatusOK)
		b.same(said, string(whole.Data))
	}
}

// same compares by meaning, since both texts pass through the database. Transcripts are stored elsewhere.
func (b box) same(said wanted, stored string) {
	b.t.Helper()
	var same bool
	err := b.pool.QueryRow(b.t.Context(), `SELECT $1::text::jsonb - 'transcript_b64' = $2::text::jsonb - 'transcript_b64'`,
		said.Data, stored).Scan(&same)
	require.NoError(b.t, err)
	require.True(b.t, same, "said %s\nstored %s", said.Data, stored)
}

// stranger posts an event to its own sandbox meanwhile; the function that it returns waits for the response.
func (w *world) stranger(t *testing.T) func() {
	t.Helper()
	answered := make(chan int, 1)
	go func() {
		res, err := http.Post(w.url+wire+"stranger/events", "application/json",
			strings.NewReader(`{"event_type":"heartbeat"}`))
		if err != nil {
			answered <- 0
			return
		}
		_ = res.Body.Close()
		answered <- res.StatusCode
	}()
	return func() { require.Equal(t, http.StatusOK, <-answered, "a stranger suffers") }
}
