package api_test

import (
	"bytes"
	"net/http"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/omoi-dev/omoi/api/client"
)

func TestGzip_TrailingBytesAreRejected(t *testing.T) {
	t.Parallel()
	w := open(t)
	whole := packed([]byte(`{"event_type":"x","event_data":{}}`))
	for _, rest := range []string{"x", "\n", "more than ten bytes of it", "\x00\x00\x00\x00"} {
		body := append(bytes.Clone(whole), rest...)
		said := w.call(http.MethodPost, wire+"b/events", body, "Content-Encoding", "gzip").refused(http.StatusBadRequest, "")
		require.Regexp(t, "bytes follow its gzip data|not valid gzip", said.Detail)
	}
	for _, torn := range [][]byte{whole[:len(whole)-3], append(bytes.Clone(whole), whole[:5]...)} {
		said := w.call(http.MethodPost, wire+"b/events", torn, "Content-Encoding", "gzip")
		require.Contains(t, said.refused(http.StatusBadRequest, "").Detail, "ends early")
	}
	two := append(packed([]byte(`{"event_type":`)), packed([]byte(`"x"}`))...)
	ok[client.ReceivedEvent](w.call(http.MethodPost, wire+"b/events", two, "Content-Encoding", "gzip"), http.StatusOK)
}

func TestBody_ErrorNamesFieldAndType(t *testing.T) {
	t.Parallel()
	w := open(t)
	for body, want := range map[string]string{
		`{"spool_id":"s","first":1.5,"events":[]}`:                 "The field first must be a whole number, not 1.5.",
		`{"spool_id":"s","first":1e30,"events":[]}`:                "The field first must be a whole number, not 1e30.",
		`{"spool_id":"s","first":"1","events":[]}`:                 "The field first must be a whole number, not a string.",
		`{"spool_id":7,"first":1,"events":[]}`:                     "The field spool_id must be a string, not a number.",
		`{"spool_id":"s","first":1,"events":{}}`:                   "The field events must be a list, not an object.",
		`{"spool_id":"s","first":1,"events":[{"event_type":[1]}]}`: "must be a string, not a list.",
		`[]`: "The field body must be an object, not a list.",
	} {
		require.Contains(t,
			w.call(http.MethodPost, wire+"b/events/batch", body).refused(http.StatusUnprocessableEntity, "").Detail, want)
	}
}

func TestBody_ErrorNamesUnknownFieldUnchanged(t *testing.T) {
	t.Parallel()
	w := open(t)
	const event = `{"event_type":"x"}`
	for _, key := range []string{strings.Repeat("k", 201), "omoi:mine"} {
		said := w.call(http.MethodPost, wire+"b/events", event, "Idempotency-Key",
			key).refused(http.StatusUnprocessableEntity, "header.Idempotency-Key")
		require.Contains(t, said.Detail, "The header Idempotency-Key must")
		said = w.call(http.MethodPost, wire+"b/events", `{"event_type":"x","client_event_id":"`+key+`"}`, "Idempotency-Key",
			"good").refused(http.StatusUnprocessableEntity, "body.client_event_id")
		require.Contains(t, said.Detail, "The field client_event_id must")
	}
	w.call(http.MethodPost, wire+"b/events", `{"event_type":"x","source":"nobody"}`, "Idempotency-Key", "good").
		refused(http.StatusUnprocessableEntity, "body.source")
}
