package api_test

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/omoi-dev/omoi/api"
	"github.com/omoi-dev/omoi/internal/ingest"
	"github.com/omoi-dev/omoi/internal/token"
)

// taken is an intake that stores nothing.
type taken struct{}

func (taken) Single(context.Context, string, ingest.Event, bool) (ingest.Receipt, error) {
	return ingest.Receipt{EventID: "bench:1", Sequence: 1}, nil
}

func (taken) Batch(context.Context, string, string, int64, []ingest.Event) (ingest.BatchReceipt, error) {
	return ingest.BatchReceipt{Acknowledged: 50}, nil
}

// deaf is a connection that nobody reads.
type deaf struct{ header http.Header }

func (d deaf) Header() http.Header         { return d.header }
func (d deaf) Write(b []byte) (int, error) { return len(b), nil }
func (d deaf) WriteHeader(int)             {}

// reports starts a server with tokens, logs and metrics, and returns a function that handles one new request.
func reports(tb testing.TB, path, body string) func() {
	tb.Helper()
	ring, err := token.NewRing(token.Key{ID: "k1", Secret: []byte(strings.Repeat("s", 32))}, nil)
	require.NoError(tb, err)
	handler := api.New(api.Config{}, api.Deps{
		Ports: api.PortsOf(nil), Intake: taken{}, Tokens: ring, Log: slog.New(slog.DiscardHandler), Meter: seconds{},
	})
	req := httptest.NewRequest(http.MethodPost, "http://127.0.0.1"+path, nil)
	req.Header.Set("Authorization", "Bearer "+ring.Mint("bench"))
	req.Header.Set("Content-Type", "application/json")
	content := bytes.NewReader([]byte(body))
	return func() {
		content.Reset([]byte(body))
		req.Body, req.ContentLength = io.NopCloser(content), int64(len(body))
		handler.ServeHTTP(deaf{http.Header{}}, req)
	}
}

type seconds struct{}

func (seconds) Route(string, string) func(int, time.Duration) { return func(int, time.Duration) {} }

func (seconds) Stream(string) func() { return func() {} }

func (seconds) Webhook(string, string) {}

func usual() string {
	return `{"event_type":"agent.tool_use","event_data":{"turn": 12, "tool": "Bash", "tool_use_id": "toolu_0123456789", "input": {"command": "` + strings.Repeat("x", 220) + `"}}}`
}

func fifty() string {
	return fmt.Sprintf(`{"spool_id":"s","first":1,"events":[%s]}`, strings.Repeat(usual()+",", 49)+usual())
}

// The cost of an event beside its commit bounds the events per second of a server.
func TestPostEvent_AllocatesLittle(t *testing.T) { //nolint:paralleltest // allocations of others would count
	if testing.Short() {
		t.Skip("SKIPPED with -short: the race detector empties pools at random")
	}
	const single, perEvent = 30.0, 1.5
	require.LessOrEqual(t, testing.AllocsPerRun(100, reports(t, wire+"bench/events", usual())), single)
	require.LessOrEqual(t, testing.AllocsPerRun(100, reports(t, wire+"bench/events/batch", fifty())), single+50*perEvent)
}

func BenchmarkReport(b *testing.B) {
	for name, one := range map[string]func(){
		"single": reports(b, wire+"bench/events", usual()), "batch": reports(b, wire+"bench/events/batch", fifty()),
	} {
		b.Run(name, func(b *testing.B) {
			b.ReportAllocs()
			for b.Loop() {
				one()
			}
		})
	}
}
