package api_test

import (
	"net/http"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/omoi-dev/omoi/api/client"
)

// Numbers that no float64 holds are sent unchanged, and so is a field with the name of a field of omoi.
func TestWebSocket_KeepsEventFieldsUnchanged(t *testing.T) {
	t.Parallel()
	w := start(t, quick)
	s := w.socket(t, "").ready()
	ok[client.ReceivedEvent](w.call(http.MethodPost, wire+"b/events", `{"event_type":"x","event_data":
		{"id":9007199254740993,"sum":123456789012345678901234567890,"omitted":"mine","long":"`+strings.Repeat("y", 20<<10)+`"}}`), http.StatusOK)
	_, text, err := s.conn.Read(s.ctx)
	require.NoError(t, err)
	for _, says := range []string{`"id":9007199254740993`, `"sum":123456789012345678901234567890`, `"omitted":"mine"`} {
		require.Contains(t, string(text), says)
	}
	require.Less(t, len(text), 20<<10, "the large field is left out")
}
