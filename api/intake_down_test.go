package api_test

import (
	"bytes"
	"context"
	"io"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"os"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/omoi-dev/omoi/api"
	"github.com/omoi-dev/omoi/internal/ingest"
	"github.com/omoi-dev/omoi/internal/task"
)

// down is an intake whose queue is full or whose store is unavailable.
type down struct{ err error }

func (d down) Single(context.Context, string, ingest.Event, bool) (ingest.Receipt, error) {
	return ingest.Receipt{}, d.err
}

func (d down) Batch(context.Context, string, string, int64, []ingest.Event) (ingest.BatchReceipt, error) {
	return ingest.BatchReceipt{Acknowledged: 7}, d.err
}

func TestPostEvent_NoAckWhileTheDatabaseIsDown(t *testing.T) {
	t.Parallel()
	var log bytes.Buffer
	handler := api.New(api.Config{Open: true}, api.Deps{
		Ports: api.PortsOf(nil), Log: slog.New(slog.NewJSONHandler(&log, nil)), Intake: down{task.Errorf(task.CodeUnavailable, "The database is away.")},
	})
	for path, body := range map[string]string{"b/events": `{"event_type":"x"}`, "b/events/batch": `{"spool_id":"s","first":1,"events":[]}`} {
		req := httptest.NewRequest(http.MethodPost, "http://127.0.0.1"+wire+path, strings.NewReader(body))
		rec := httptest.NewRecorder()
		handler.ServeHTTP(rec, req)
		require.Equal(t, http.StatusServiceUnavailable, rec.Code, "%s", rec.Body)
		require.NotEmpty(t, rec.Header().Get("Retry-After"))
		require.NotContains(t, rec.Body.String(), "acknowledged")
	}
	require.Equal(t, 2, strings.Count(log.String(), `"level":"WARN","msg":"request failed"`), "%s", &log)
	require.NotContains(t, log.String(), `"level":"ERROR"`)
}

// cut is a body whose sender is slow or has disconnected.
type cut struct{ err error }

func (c cut) Read([]byte) (int, error) { return 0, c.err }

func TestPostEvent_CutOffBodySaysWhy(t *testing.T) {
	t.Parallel()
	ended, end := context.WithCancel(t.Context())
	end() // as net/http does after the sender has closed its side
	handler := api.New(api.Config{Open: true}, api.Deps{Ports: api.PortsOf(nil), Intake: down{}})
	for why, err := range map[string]error{"in time": os.ErrDeadlineExceeded, "was complete": io.ErrUnexpectedEOF} {
		for _, encoding := range []string{"", "gzip"} {
			rec := httptest.NewRecorder()
			req := httptest.NewRequestWithContext(ended, http.MethodPost, "http://127.0.0.1"+wire+"b/events", cut{err})
			req.Header.Set("Content-Encoding", encoding)
			handler.ServeHTTP(rec, req)
			require.Equal(t, http.StatusRequestTimeout, rec.Code, "%s", rec.Body)
			require.Contains(t, rec.Body.String(), why)
		}
	}
}
