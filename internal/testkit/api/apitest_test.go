package api_test

import (
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	apitest "github.com/omoi-dev/omoi/internal/testkit/api"
)

const (
	file    = "../../../api/openapi.json"
	problem = `{"title":"t","status":404,"detail":"d","code":"not_found"}`
	ack     = `{"acknowledged":1,"duplicates":0}`
	batch   = "/api/v1/sandboxes/b/events/batch"
	event   = `{"id":"b:1","sandbox_id":"b","attempt":0,"sequence":1,"event_type":"x","source":"agent","event_data":{},"late":false,"created_at":"2026-01-02T03:04:05Z"}`
)

const oneEvent = "/api/v1/sandboxes/b/events/b:1"

// typed is an event of a type that the document knows.
func typed(data string) string {
	return strings.NewReplacer(`"x"`, `"agent.started"`, `{}`, data).Replace(event)
}

func TestAnswersAreHeldAgainstTheDocument(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		method, path, kind, body string
		status                   int
		header                   string
		good                     bool
	}{
		"good":                     {"POST", batch, "application/json", ack, 200, "", true},
		"good below a token":       {"POST", "/t/secret" + batch, "application/json", ack, 200, "", true},
		"good below /legacy":       {"POST", "/legacy/t/secret" + batch, "application/json", ack, 200, "", true},
		"a list in legacy form":    {"GET", "/t/secret/legacy/api/v1/tasks", "application/json", "[]", 200, "", true},
		"a list in the other form": {"GET", "/api/v1/tasks", "application/json", "[]", 200, "", false},
		"undeclared status":        {"POST", batch, "application/problem+json", problem, 418, "", false},
		"undeclared type":          {"POST", batch, "text/html", ack, 200, "", false},
		"a field is missing":       {"POST", batch, "application/json", `{"acknowledged":1}`, 200, "", false},
		"a field of another kind":  {"POST", batch, "application/json", `{"acknowledged":"1","duplicates":0}`, 200, "", false},
		"an error of another form": {"POST", batch, "application/problem+json", `{"error":"no"}`, 404, "", false},
		"turned away":              {"POST", batch, "application/problem+json", problem, 503, "1", true},
		"turned away without when": {"POST", batch, "application/problem+json", problem, 503, "", false},
		"a route nobody knows":     {"GET", "/api/v1/secret", "application/json", "{}", 200, "", false},
		"no such route":            {"GET", "/api/v1/secret", "application/problem+json", problem, 404, "", true},
		"stream":                   {"GET", "/api/v1/sandboxes/b/stream", "text/event-stream", ": hello\n\nid: 1\ndata: " + event + "\n\nevent: end\ndata: {}\n\nid: 2\ndata: {\"cu", 200, "", true},
		"an unnamed property":      {"POST", batch, "application/json", `{"acknowledged":1,"duplicates":0,"more":1}`, 200, "", false},
		"an event of a known type": {"GET", oneEvent, "application/json", typed(`{"attempt":1,"unknown":[]}`), 200, "", true},
		"a field of another type":  {"GET", oneEvent, "application/json", typed(`{"attempt":"1"}`), 200, "", false},
		"an unnamed part of one":   {"GET", oneEvent, "application/json", strings.Replace(typed(`{}`), "{", `{"more":1,`, 1), 200, "", false},
		"stream of something else": {"GET", "/api/v1/sandboxes/b/stream", "text/event-stream", "id: 1\ndata: {}\n\n", 200, "", false},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
				w.Header().Set("Content-Type", c.kind)
				w.Header().Set("X-Request-ID", "r")
				if c.header != "" {
					w.Header().Set("Retry-After", c.header)
				}
				w.WriteHeader(c.status)
				_, _ = io.WriteString(w, c.body)
			}))
			defer server.Close()
			doc, err := apitest.Load(file, apitest.GoodSenders)
			require.NoError(t, err)
			through := apitest.NewTransport(doc, server.Client().Transport)
			req, err := http.NewRequestWithContext(t.Context(), c.method, server.URL+c.path, http.NoBody)
			require.NoError(t, err)
			res, err := (&http.Client{Transport: through}).Do(req)
			require.NoError(t, err)
			defer func() { _ = res.Body.Close() }()
			body, err := io.ReadAll(res.Body)
			require.NoError(t, err)
			require.Equal(t, c.body, string(body), "nothing is changed on the way")
			require.Equal(t, c.good, through.Faults() == nil, "%v", through.Faults())
			require.Equal(t, c.good, doc.Answer(res, body) == nil)
		})
	}
}
