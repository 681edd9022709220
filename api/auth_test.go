package api_test

import (
	"bytes"
	"context"
	"log/slog"
	"net"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/omoi-dev/omoi/api"
	"github.com/omoi-dev/omoi/api/client"
	"github.com/omoi-dev/omoi/internal/ingest"
	"github.com/omoi-dev/omoi/internal/postgres"
	"github.com/omoi-dev/omoi/internal/task"
	"github.com/omoi-dev/omoi/internal/token"
)

// key creates an API key of an organization and returns its header.
func (w *world) key(org string, scopes ...string) string {
	w.t.Helper()
	_, secret, err := w.store.CreateKey(w.t.Context(), org, client.CreateAPIKeyRequest{Name: "test", Scopes: scopes})
	require.NoError(w.t, err)
	return "Bearer " + secret
}

func closed(tb testing.TB) *world {
	tb.Helper()
	return start(tb, func(*api.Config) {})
}

const authorization = "Authorization"

func TestServerWithAuthentication_RequiresKeys(t *testing.T) {
	t.Parallel()
	w := closed(t)
	res := w.call(http.MethodGet, "/api/v1/tasks", nil)
	require.Contains(t, res.refused(http.StatusUnauthorized, "").Detail, "OMOI_API_KEY")
	require.Contains(t, res.header.Get("WWW-Authenticate"), "Bearer")
	w.call(http.MethodPost, "/api/v1/tasks", `{"broken`).refused(http.StatusUnauthorized, "")
	for _, bad := range []string{"Bearer sk_live_wrong", "Bearer ", "Basic x", "sk_live_x"} {
		w.call(http.MethodGet, "/api/v1/tasks", nil, authorization, bad).refused(http.StatusUnauthorized, "")
	}
	good := w.key(w.org, "write")
	ok[client.Task](w.call(http.MethodPost, "/api/v1/tasks", newTask(), authorization, good), http.StatusCreated)
	_, secret, _ := strings.Cut(good, " ")
	require.Len(t,
		ok[client.Page[client.Task]](w.call(http.MethodGet, "/api/v1/tasks", nil, "X-API-Key", secret), http.StatusOK).Items,
		1)
	for _, public := range []string{"/health", "/healthz", "/readyz", "/api/v1/info", "/api/v1/sandboxes/health", "/api/v1/openapi.json"} {
		require.Equal(t, http.StatusOK, w.call(http.MethodGet, public, nil).status, public)
	}
}

func TestScopes_IncludeLowerScopes(t *testing.T) {
	t.Parallel()
	w := closed(t)
	status := func(method, path string, body any, key string) int {
		return w.call(method, path, body, authorization, key).status
	}
	none, read, write, admin := w.key(w.org), w.key(w.org, "read"), w.key(w.org, "write"), w.key(w.org, "admin")
	const keys = "/api/v1/auth/api-keys"
	require.Equal(t, []int{403, 200, 200, 200}, []int{
		status("GET", "/api/v1/tasks", nil, none), status("GET", "/api/v1/tasks", nil, read),
		status("GET", "/api/v1/tasks", nil, write), status("GET", "/api/v1/tasks", nil, admin),
	})
	require.Equal(t, []int{403, 201},
		[]int{status("POST", "/api/v1/tasks", newTask(), read), status("POST", "/api/v1/tasks", newTask(), write)})
	require.Equal(t, []int{403, 200}, []int{status("GET", keys, nil, write), status("GET", keys, nil, admin)})
}

func TestAPIKeys_ExpireAndAreRevoked(t *testing.T) {
	t.Parallel()
	w := closed(t)
	admin := w.key(w.org, "admin")
	const keys = "/api/v1/auth/api-keys"
	made := ok[client.CreatedAPIKey](w.call(http.MethodPost, keys, `{"name":"ci"}`, authorization, admin), http.StatusCreated)
	require.True(t, strings.HasPrefix(made.Secret, "sk_live_"))
	require.Equal(t, made.Secret[:16], made.Prefix)
	require.Equal(t, []string{"write"}, made.Scopes)
	ok[client.Page[client.Task]](w.call(http.MethodGet, "/api/v1/tasks", nil, authorization, "Bearer "+made.Secret),
		http.StatusOK)
	listed := w.call(http.MethodGet, keys, nil, authorization, admin)
	require.Len(t, ok[client.Page[client.APIKey]](listed, http.StatusOK).Items, 2)
	require.NotContains(t, string(listed.body), made.Secret)
	require.Zero(t, w.count(`SELECT count(*) FROM api_keys k WHERE k::text LIKE '%' || $1 || '%'`, made.Secret))
	require.Equal(t, 1, w.count(`SELECT count(*) FROM api_keys WHERE id = $1 AND last_used_at IS NOT NULL`, made.ID))
	require.Equal(t, http.StatusNoContent, w.call(http.MethodDelete, keys+"/"+made.ID, nil, authorization, admin).status)
	w.call(http.MethodGet, "/api/v1/tasks", nil, authorization, "Bearer "+made.Secret).refused(http.StatusUnauthorized, "")
	w.call(http.MethodDelete, keys+"/7", nil, authorization, admin).refused(http.StatusNotFound, "")
	w.call(http.MethodPost, keys, `{"name":"x","scopes":["root"]}`, authorization, admin).refused(422, "body.scopes[0]")
	w.call(http.MethodPost, keys, `{"name":"x","expires_at":"2001-01-01T00:00:00Z"}`, authorization, admin).
		refused(422, "body.expires_at")
	w.call(http.MethodPost, keys, `{"name":"x","expires_at":"9999-12-31T23:59:59-12:00"}`, authorization, admin).
		refused(422, "body.expires_at")
	until := time.Now().Add(time.Hour).UTC().Truncate(time.Second)
	ending := ok[client.CreatedAPIKey](w.call(http.MethodPost, keys, map[string]any{"name": "x", "expires_at": until},
		authorization, admin), http.StatusCreated)
	require.True(t, until.Equal(*ending.ExpiresAt), "it says when it ends")
	past := time.Now().Add(-time.Hour)
	_, expired, err := w.store.CreateKey(t.Context(), w.org,
		client.CreateAPIKeyRequest{Name: "old", Scopes: []string{"admin"}, ExpiresAt: &past})
	require.NoError(t, err)
	w.call(http.MethodGet, "/api/v1/tasks", nil, authorization, "Bearer "+expired).refused(http.StatusUnauthorized, "")
}

func TestOrganizations_AreIsolated(t *testing.T) {
	t.Parallel()
	w := closed(t)
	mine := w.key(w.org, "admin")
	other, err := w.store.EnsureOrganization(t.Context(), "other")
	require.NoError(t, err)
	theirs := w.key(other, "admin")
	made := ok[client.Task](w.call(http.MethodPost, "/api/v1/tasks", newTask(), authorization, mine), http.StatusCreated)
	box := w.begin(made)
	for _, path := range []string{"/tasks/" + made.ID, "/tasks/" + made.ID + "/events", "/projects/" + made.ProjectID, "/tickets/" + made.TicketID, "/sandboxes/" + box, "/sandboxes/" + box + "/events", "/sandboxes/" + box + "/task", "/sandboxes/" + box + "/messages"} {
		w.call(http.MethodGet, "/api/v1"+path, nil, authorization, theirs).refused(http.StatusNotFound, "")
		require.Equal(t, http.StatusOK, w.call(http.MethodGet, "/api/v1"+path, nil, authorization, mine).status, path)
	}
	for _, list := range []string{"/tasks", "/projects", "/tickets", "/sandboxes"} {
		require.JSONEq(t, `{"items":[],"next_cursor":null}`,
			string(w.call(http.MethodGet, "/api/v1"+list, nil, authorization, theirs).body))
	}
	w.call(http.MethodPost, "/api/v1/tasks/"+made.ID+"/cancel", nil, authorization, theirs).
		refused(http.StatusNotFound, "")
	in := newTask()
	in.DependsOn = &client.DependsOn{TaskIDs: []string{made.ID}}
	w.call(http.MethodPost, "/api/v1/tasks", in, authorization, theirs).refused(422, "body.dependencies.depends_on")
	in.DependsOn = nil
	require.NotEqual(t, made.ProjectID,
		ok[client.Task](w.call(http.MethodPost, "/api/v1/tasks", in, authorization, theirs), http.StatusCreated).ProjectID)
	w.call(http.MethodPost, wire+box+"/events", `{"event_type":"x"}`, authorization, theirs).
		refused(http.StatusNotFound, "")
	w.call(http.MethodPost, wire+"unknown/events", `{"event_type":"x"}`, authorization, mine).
		refused(http.StatusNotFound, "")
	require.Zero(t, w.count(`SELECT count(*) FROM sandboxes WHERE provider = 'bare'`))
}

func TestSandboxToken_GrantsItsOwnRoutesOnly(t *testing.T) {
	t.Parallel()
	w := closed(t)
	made := ok[client.Task](w.call(http.MethodPost, "/api/v1/tasks", newTask(), authorization, w.key(w.org, "write")),
		http.StatusCreated)
	box := w.begin(made)
	bearer := "Bearer " + w.ring.Mint(box)
	ok[client.ReceivedEvent](w.call(http.MethodPost, wire+box+"/events", `{"event_type":"x"}`, authorization, bearer),
		http.StatusOK)
	ok[client.SandboxTask](w.call(http.MethodGet, wire+box+"/task", nil, authorization, bearer), http.StatusOK)
	ok[[]client.LeasedMessage](w.call(http.MethodGet, wire+box+"/messages", nil, authorization, bearer), http.StatusOK)
	ok[client.TaskCompleted](w.call(http.MethodPost, wire+box+"/task-complete", map[string]any{"task_id": made.ID},
		authorization, bearer), http.StatusOK)
	ok[client.Sandbox](w.call(http.MethodGet, wire+box, nil, authorization, bearer), http.StatusOK)

	prefix := "/t/" + w.ring.Mint(box)
	ok[client.ReceivedEvent](w.call(http.MethodPost, prefix+wire+box+"/events", `{"event_type":"x"}`), http.StatusOK)
	w.call(http.MethodPost, prefix+wire+"other/events", `{"event_type":"x"}`).refused(http.StatusForbidden, "")
	w.call(http.MethodGet, prefix+"/api/v1/tasks", nil).refused(http.StatusForbidden, "")
	key := w.key(w.org, "admin")
	for _, path := range []string{"/api/v1/tasks", wire + box + "/events"} {
		w.call(http.MethodGet, "/t/"+strings.TrimPrefix(key, "Bearer ")+path, nil).refused(http.StatusUnauthorized, "")
	}
	w.call(http.MethodPost, "/t/v1.k1.wrong"+wire+box+"/events", `{"event_type":"x"}`).refused(http.StatusForbidden, "")

	w.call(http.MethodPost, wire+"other/events", `{"event_type":"x"}`, authorization, bearer).
		refused(http.StatusForbidden, "")
	w.call(http.MethodGet, "/api/v1/tasks/"+made.ID, nil, authorization, bearer).refused(http.StatusForbidden, "")
	w.call(http.MethodGet, "/api/v1/sandboxes", nil, authorization, bearer).refused(http.StatusForbidden, "")
	stranger, err := token.NewRing(token.Key{ID: "k9", Secret: []byte(strings.Repeat("x", 32))}, nil)
	require.NoError(t, err)
	w.call(http.MethodPost, wire+box+"/events", `{"event_type":"x"}`, authorization, "Bearer "+stranger.Mint(box)).
		refused(http.StatusUnauthorized, "")
}

func TestSandboxToken_ValidForAnHourAfterItsSandbox(t *testing.T) {
	t.Parallel()
	w := closed(t)
	made := ok[client.Task](w.call(http.MethodPost, "/api/v1/tasks", newTask(), authorization, w.key(w.org, "write")),
		http.StatusCreated)
	box := w.begin(made)
	bearer := "Bearer " + w.ring.Mint(box)
	w.exec(`UPDATE sandboxes SET ended_at = now(), state = 'gone', gone_at = now(), verified_at = now() WHERE id = $1`,
		box)
	ok[client.ReceivedEvent](w.call(http.MethodPost, wire+box+"/events", `{"event_type":"x"}`, authorization, bearer),
		http.StatusOK)
	require.Equal(t, 1, w.count(`SELECT count(*) FROM sandbox_events WHERE sandbox_id = $1 AND late`, box))
	w.call(http.MethodPost, wire+box+"/messages", `{"content":"x"}`, authorization, w.key(w.org, "write")).
		refused(http.StatusGone, "")
	w.exec(`UPDATE sandboxes SET gone_at = now() - interval '61 minutes', verified_at = now() - interval '61 minutes' WHERE id = $1`, box)
	w.call(http.MethodPost, wire+box+"/events", `{"event_type":"x"}`, authorization, bearer).refused(http.StatusGone, "")
}

func TestWrongToken_IsRejectedWithoutAuthentication(t *testing.T) {
	t.Parallel()
	w := open(t)
	w.call(http.MethodPost, wire+"b/events", `{"event_type":"x"}`, authorization, "Bearer "+w.ring.Mint("other")).
		refused(http.StatusForbidden, "")
	ok[client.ReceivedEvent](w.call(http.MethodPost, wire+"b/events", `{"event_type":"x"}`, authorization,
		"Bearer "+w.ring.Mint("b"), "Host", "anything"), http.StatusOK)
}

func TestServerWithoutAuthentication_RejectsWebPages(t *testing.T) {
	t.Parallel()
	w := open(t)
	host := strings.TrimPrefix(w.url, "http://")
	for _, c := range []struct {
		name, value string
		status      int
	}{
		{"Host", "evil.example", 403},
		{"Host", "127.0.0.1.evil.example:80", 403},
		{"Host", "localhost:1", 200},
		{"Host", "[::1]:7", 200},
		{"Origin", "http://evil.example", 403},
		{"Origin", "null", 403},
		{"Origin", "http://" + host, 200},
		{"Sec-Fetch-Site", "cross-site", 403},
		{"Sec-Fetch-Site", "same-site", 403},
		{"Sec-Fetch-Site", "same-origin", 200},
		{"Sec-Fetch-Site", "none", 200},
	} {
		require.Equal(t, c.status, w.call(http.MethodGet, "/api/v1/tasks", nil, c.name, c.value).status, c.name+": "+c.value)
		for _, path := range []string{"/", "/api/v1/info", "/health", "/healthz", "/readyz", "/api/v1/sandboxes/health"} {
			require.Equal(t, c.status, w.call(http.MethodGet, path, nil, c.name, c.value).status, path+" "+c.name+": "+c.value)
		}
		if c.status == http.StatusForbidden {
			w.call(http.MethodPost, "/api/v1/tasks", newTask(), c.name, c.value).refused(http.StatusForbidden, "")
			w.call(http.MethodPost, wire+"b/messages", `{"content":"x"}`, c.name, c.value).refused(http.StatusForbidden, "")
		}
	}
	require.Zero(t, w.tasks())
}

func TestResponses_HaveSecurityHeaders(t *testing.T) {
	t.Parallel()
	w := open(t)
	for _, path := range []string{"/health", "/api/v1/tasks", "/nowhere"} {
		h := w.call(http.MethodGet, path, nil).header
		require.Equal(t, []string{"nosniff", "DENY", "strict-origin-when-cross-origin"},
			[]string{h.Get("X-Content-Type-Options"), h.Get("X-Frame-Options"), h.Get("Referrer-Policy")})
		require.Contains(t, h.Get("Permissions-Policy"), "camera=()")
		require.Contains(t, h.Get("Content-Security-Policy"), "default-src 'none'")
		require.NotEmpty(t, h.Get("X-Request-ID"))
		require.Empty(t, h.Get("Access-Control-Allow-Origin"))
	}
}

func TestLogs_HoldNoToken(t *testing.T) {
	t.Parallel()
	ring, err := token.NewRing(token.Key{ID: "k1", Secret: []byte(strings.Repeat("s", 32))}, nil)
	require.NoError(t, err)
	var log bytes.Buffer
	handler := api.New(api.Config{}, api.Deps{
		Ports: api.PortsOf(nil), Tokens: ring,
		Log: slog.New(slog.NewJSONHandler(&log, &slog.HandlerOptions{Level: slog.LevelDebug})),
	})
	secret := ring.Mint("b")
	paths := []string{
		"/t/" + secret + "/api/v1/tasks", "/t/" + secret + "/nowhere", "/t/" + secret,
		"/t/" + secret + "/api/v1/sandboxes/b/events?wait=1",
		"//t/" + secret + "/x", "/x/t/" + secret + "/x", "/somewhere/else/t/" + secret, wire + secret + "/events",
		"/t/sk_live_0/x/" + secret,
	}
	for _, path := range paths {
		req := httptest.NewRequestWithContext(t.Context(), http.MethodDelete, path, nil)
		res := httptest.NewRecorder()
		handler.ServeHTTP(res, req)
		require.GreaterOrEqual(t, res.Code, 400)
		require.NotContains(t, res.Body.String(), strings.Split(secret, ".")[2][:20])
	}
	require.Equal(t, len(paths), strings.Count(log.String(), `"msg":"request"`), log.String())
	require.NotContains(t, log.String(), secret)
	require.NotContains(t, log.String(), strings.Split(secret, ".")[2])
}

func TestHandlerPanic_IsAnInternalError(t *testing.T) {
	t.Parallel()
	var log bytes.Buffer
	handler := api.New(api.Config{Open: true}, api.Deps{
		Ports: api.PortsOf(nil), Log: slog.New(slog.NewJSONHandler(&log, nil)),
	})
	req := httptest.NewRequestWithContext(t.Context(), http.MethodGet, "http://localhost/api/v1/projects", nil)
	res := httptest.NewRecorder()
	handler.ServeHTTP(res, req) // a nil store panics
	require.Equal(t, http.StatusInternalServerError, res.Code)
	require.Contains(t, res.Body.String(), "Something went wrong inside omoi")
	require.NotContains(t, res.Body.String(), "nil pointer")
	require.Contains(t, log.String(), "nil pointer")
}

// listen listens on a free port of an address.
func listen(t *testing.T, addr string) net.Listener {
	t.Helper()
	l, err := (&net.ListenConfig{}).Listen(t.Context(), "tcp", addr)
	require.NoError(t, err)
	return l
}

func TestServerWithoutAuthentication_ListensOnLoopbackOnly(t *testing.T) {
	t.Parallel()
	handler := api.New(api.Config{Open: true}, api.Deps{Ports: api.PortsOf(nil)})
	err := api.Serve(t.Context(), handler, []net.Listener{listen(t, "127.0.0.1:0"), listen(t, "0.0.0.0:0")}, time.Second)
	require.Equal(t, task.CodeInvalid, task.CodeOf(err))
}

func TestServerStop_EndsLongPolls(t *testing.T) {
	t.Parallel()
	w := start(t, patient)
	asked, ports := make(chan struct{}, 1), api.PortsOf(w.store)
	ports.EventLog = watched{w.store, asked}
	handler := api.New(api.Config{Open: true, Organization: w.org, MaxWait: time.Minute, PollEvery: time.Minute},
		api.Deps{Ports: ports, Bus: w.bus, Tokens: w.ring})
	l := listen(t, "127.0.0.1:0")
	ctx, stop := context.WithCancel(t.Context())
	done := make(chan error, 1)
	go func() { done <- api.Serve(ctx, handler, []net.Listener{l}, time.Minute) }()
	made := w.task(newTask())
	polled := make(chan error, 1)
	go func() {
		_, err := client.New("http://"+l.Addr().String(), "").Events(context.WithoutCancel(ctx), made.ID, "", time.Minute)
		polled <- err
	}()
	<-asked
	stop()
	require.NoError(t, <-polled, "it is answered with what there is")
	require.NoError(t, <-done)
}

// watched signals when events are read.
type watched struct {
	*postgres.Store
	asked chan struct{}
}

// TaskEventsAfter implements api.EventLog.
func (s watched) TaskEventsAfter(
	ctx context.Context, id string, after ingest.Cursor, limit int,
) (ingest.TaskPage, error) {
	select {
	case s.asked <- struct{}{}:
	default:
	}
	return s.Store.TaskEventsAfter(ctx, id, after, limit)
}

func TestEnsureKey_StoresTheKeyOnce(t *testing.T) {
	t.Parallel()
	w := closed(t)
	const secret = "sk_live_0123456789abcdef"
	for range 2 {
		require.NoError(t, w.store.EnsureKey(t.Context(), w.org, "first", secret))
	}
	keys := ok[client.Page[client.APIKey]](w.call(http.MethodGet, "/api/v1/auth/api-keys", nil, authorization,
		"Bearer "+secret), http.StatusOK)
	require.Len(t, keys.Items, 1)
	require.NoError(t, w.store.RevokeKey(t.Context(), w.org, keys.Items[0].ID))
	require.NoError(t, w.store.EnsureKey(t.Context(), w.org, "first", secret))
	w.call(http.MethodGet, "/api/v1/tasks", nil, authorization, "Bearer "+secret).refused(http.StatusUnauthorized, "")
}

func TestDisconnectedCaller_IsNoServerError(t *testing.T) {
	t.Parallel()
	var log bytes.Buffer
	handler := api.New(api.Config{Open: true}, api.Deps{
		Ports: api.PortsOf(nil), Log: slog.New(slog.NewJSONHandler(&log, nil)),
	})
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	r := httptest.NewRequestWithContext(ctx, http.MethodGet, "http://localhost/api/v1/tasks?status=nope", http.NoBody)
	w := httptest.NewRecorder()
	handler.ServeHTTP(w, r)
	require.Equal(t, 499, w.Code)
	require.Empty(t, log.String())
}

func TestRootPage_LinksTheAPI(t *testing.T) {
	t.Parallel()
	handler := api.New(api.Config{Open: true}, api.Deps{Ports: api.PortsOf(nil)})
	w := httptest.NewRecorder()
	handler.ServeHTTP(w, httptest.NewRequestWithContext(t.Context(), http.MethodGet, "http://localhost/", http.NoBody))
	require.Equal(t, http.StatusOK, w.Code)
	require.Contains(t, w.Body.String(), "/api/v1/openapi.json")
	w = httptest.NewRecorder()
	handler.ServeHTTP(w,
		httptest.NewRequestWithContext(t.Context(), http.MethodGet, "http://localhost/api/v1/openapi.json", http.NoBody))
	require.Equal(t, http.StatusOK, w.Code)
}
