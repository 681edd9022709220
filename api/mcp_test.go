package api_test

import (
	"net/http"
	"strings"
	"testing"

	"github.com/modelcontextprotocol/go-sdk/mcp"
	"github.com/stretchr/testify/require"

	"github.com/omoi-dev/omoi/api"
	"github.com/omoi-dev/omoi/internal/live"
	"github.com/omoi-dev/omoi/internal/mcpserver"
	pgtest "github.com/omoi-dev/omoi/internal/testkit/postgres"
)

// servesMCP starts a server with the route /mcp.
func servesMCP(t *testing.T, change func(*api.Config)) *world {
	t.Helper()
	var w *world
	w = startWith(t, pgtest.New(t), live.New(), change, func(d *api.Deps) {
		d.MCP = mcpserver.Handler(way(func(r *http.Request) (*http.Response, error) {
			r.URL.Host = strings.TrimPrefix(w.url, "http://")
			return http.DefaultTransport.RoundTrip(r)
		}), "test")
	})
	return w
}

type way func(*http.Request) (*http.Response, error)

func (f way) RoundTrip(r *http.Request) (*http.Response, error) { return f(r) }

// withHeader sends each request with a header.
type withHeader struct{ name, value string }

func (h withHeader) RoundTrip(r *http.Request) (*http.Response, error) {
	r = r.Clone(r.Context())
	r.Header.Set(h.name, h.value)
	return http.DefaultTransport.RoundTrip(r)
}

func (w *world) mcp(name, value string) (*mcp.ClientSession, error) {
	session, err := mcp.NewClient(&mcp.Implementation{Name: "test", Version: "1"}, nil).Connect(w.t.Context(), &mcp.StreamableClientTransport{
		Endpoint: w.url + "/mcp", HTTPClient: &http.Client{Transport: withHeader{name, value}}, DisableStandaloneSSE: true, MaxRetries: -1,
	}, nil)
	if err == nil {
		w.t.Cleanup(func() { _ = session.Close() })
	}
	return session, err
}

// runs calls run_task, and reports whether it succeeded.
func (w *world) runs(session *mcp.ClientSession) bool {
	w.t.Helper()
	got, err := session.CallTool(w.t.Context(), &mcp.CallToolParams{Name: "run_task", Arguments: map[string]any{
		"text": "Say hello", "repo": goodRepo, "agent": "external",
	}})
	require.NoError(w.t, err)
	return !got.IsError
}

func TestMCP_ToolsHaveTheScopeOfTheKey(t *testing.T) {
	t.Parallel()
	w := servesMCP(t, func(*api.Config) {})
	other, err := w.store.EnsureOrganization(t.Context(), "other")
	require.NoError(t, err)
	for _, bad := range []string{"", "Bearer sk_live_wrong"} {
		_, err := w.mcp(authorization, bad)
		require.Error(t, err, bad)
	}
	reader, err := w.mcp(authorization, w.key(w.org, "read"))
	require.NoError(t, err)
	require.False(t, w.runs(reader), "a key that only reads")
	require.Zero(t, w.count(`SELECT count(*) FROM tasks`))
	writer, err := w.mcp("X-Api-Key", w.key(w.org, "write")[len("Bearer "):])
	require.NoError(t, err)
	require.True(t, w.runs(writer))
	stranger, err := w.mcp(authorization, w.key(other, "admin"))
	require.NoError(t, err)
	for session, tasks := range map[*mcp.ClientSession]float64{reader: 1, stranger: 0} {
		got, err := session.CallTool(t.Context(), &mcp.CallToolParams{Name: "list_tasks"})
		require.NoError(t, err)
		require.Len(t, got.StructuredContent.(map[string]any)["tasks"], int(tasks))
	}
}

func TestMCP_RefusesSandboxes(t *testing.T) {
	t.Parallel()
	w := servesMCP(t, func(c *api.Config) { c.Open = true })
	_, err := w.mcp(authorization, "Bearer "+w.ring.Mint(w.begin(w.task(newTask()))))
	require.Error(t, err, "a token of a sandbox opens the routes of its own sandbox only")
}

func TestMCP_WithoutAuthenticationRejectsWebPages(t *testing.T) {
	t.Parallel()
	w := servesMCP(t, func(c *api.Config) { c.Open = true })
	session, err := w.mcp("Accept-Language", "en")
	require.NoError(t, err)
	require.True(t, w.runs(session))
	const list = `{"jsonrpc":"2.0","id":1,"method":"tools/list"}`
	for name, value := range map[string]string{"Origin": "https://example.org", "Sec-Fetch-Site": "cross-site", "Host": "example.org"} {
		w.call(http.MethodPost, "/mcp", list, name, value, "Accept", "application/json, text/event-stream").refused(http.StatusForbidden, "")
	}
	w.call(http.MethodGet, "/mcp", nil).refused(http.StatusMethodNotAllowed, "")
}
