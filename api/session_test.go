package api_test

import (
	"io"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/omoi-dev/omoi/api"
	"github.com/omoi-dev/omoi/api/client"
	"github.com/omoi-dev/omoi/internal/task"
)

const session = "/api/v1/session"

// signIn creates a key with scopes, and returns its ID and the header Cookie of a session.
func (w *world) signIn(scopes ...string) (keyID, cookie string) {
	w.t.Helper()
	key, secret, err := w.store.CreateKey(w.t.Context(), w.org, client.CreateAPIKeyRequest{Name: "browser", Scopes: scopes})
	require.NoError(w.t, err)
	got := w.call(http.MethodPost, session, client.CreateSessionRequest{Key: secret})
	said := ok[client.Session](got, http.StatusOK)
	require.Equal(w.t, "key browser", said.Name)
	require.WithinDuration(w.t, time.Now().Add(12*time.Hour), *said.ExpiresAt, time.Minute)
	require.NotContains(w.t, got.header.Get("Set-Cookie"), secret)
	cookie, attributes, _ := strings.Cut(got.header.Get("Set-Cookie"), ";")
	for _, attribute := range []string{"HttpOnly", "SameSite=Strict", "Path=/api/"} {
		require.Contains(w.t, attributes, attribute)
	}
	require.NotContains(w.t, attributes, "Secure")
	return key.ID, cookie
}

func TestSession_PermitsWhatItsKeyPermitsUntilTheKeyEnds(t *testing.T) {
	t.Parallel()
	w := closed(t)
	w.call(http.MethodPost, session, client.CreateSessionRequest{Key: "wrong"}).refused(http.StatusUnauthorized, "")
	w.call(http.MethodGet, session, nil).refused(http.StatusUnauthorized, "")
	id, cookie := w.signIn("read")
	page := []string{"Cookie", cookie, "Sec-Fetch-Site", "same-origin"}
	require.Equal(t, []string{"read"}, ok[client.Session](w.call(http.MethodGet, session, nil, page...), http.StatusOK).Scopes)
	require.Equal(t, http.StatusOK, w.call(http.MethodGet, "/api/v1/tasks", nil, page...).status)
	w.call(http.MethodPost, "/api/v1/tasks", newTask(), page...).refused(http.StatusForbidden, "")
	w.exec(`UPDATE api_keys SET last_used_at = now() - interval '1 day' WHERE id = $1`, id)
	ok[client.Session](w.call(http.MethodGet, session, nil, page...), http.StatusOK)
	require.Equal(t, 1, w.count(`SELECT count(*) FROM api_keys WHERE id = $1 AND last_used_at > now() - interval '1 hour'`, id), "the session uses the key")
	secure := w.call(http.MethodDelete, session, nil, "X-Forwarded-Proto", "https").header.Get("Set-Cookie")
	require.Contains(t, secure, "Secure")
	require.Contains(t, secure, "Expires=Thu, 01 Jan 1970")
	require.NoError(t, w.store.RevokeKey(t.Context(), w.org, id))
	w.call(http.MethodGet, "/api/v1/tasks", nil, page...).refused(http.StatusUnauthorized, "")
}

func TestSession_IsIgnoredInRequestsOfOtherSites(t *testing.T) {
	t.Parallel()
	w := closed(t)
	_, cookie := w.signIn("write")
	host := strings.TrimPrefix(w.url, "http://")
	for _, c := range []struct {
		method, name, value string
		status              int
	}{
		{http.MethodGet, "Sec-Fetch-Site", "same-origin", http.StatusOK},
		{http.MethodGet, "Sec-Fetch-Site", "cross-site", http.StatusUnauthorized},
		{http.MethodGet, "Sec-Fetch-Site", "same-site", http.StatusUnauthorized},
		{http.MethodGet, "Origin", "http://evil.example", http.StatusUnauthorized},
		{http.MethodGet, "Accept", "*/*", http.StatusOK},
		{http.MethodPost, "Origin", "http://" + host, http.StatusCreated},
		{http.MethodPost, "Origin", "http://evil.example", http.StatusUnauthorized},
		{http.MethodPost, "Origin", "null", http.StatusUnauthorized},
		{http.MethodPost, "Accept", "*/*", http.StatusUnauthorized},
		{http.MethodPost, "Sec-Fetch-Site", "same-site", http.StatusUnauthorized},
	} {
		var content any
		if c.method == http.MethodPost {
			content = newTask()
		}
		require.Equal(t, c.status, w.call(c.method, "/api/v1/tasks", content, "Cookie", cookie, c.name, c.value).status, "%v", c)
	}
}

// TestSession_BehindAProxyThatChangesTheHost sends what a browser sends with a form of a page.
func TestSession_BehindAProxyThatChangesTheHost(t *testing.T) {
	t.Parallel()
	w := closed(t)
	_, cookie := w.signIn("write")
	post := func(site string) answer {
		return w.call(http.MethodPost, "/api/v1/tasks", newTask(), "Cookie", cookie, "Sec-Fetch-Site", site, "Origin", "https://omoi.example")
	}
	require.Equal(t, http.StatusCreated, post("same-origin").status)
	post("same-site").refused(http.StatusUnauthorized, "")
}

func TestSession_IsNotCreatedForAPageOfAnotherOrigin(t *testing.T) {
	t.Parallel()
	w := closed(t)
	_, secret, err := w.store.CreateKey(t.Context(), w.org, client.CreateAPIKeyRequest{Name: "own", Scopes: []string{"write"}})
	require.NoError(t, err)
	for _, header := range [][]string{{"Sec-Fetch-Site", "same-site"}, {"Sec-Fetch-Site", "cross-site"}, {"Origin", "http://127.0.0.1:1"}, {"Origin", "null"}} {
		p := w.call(http.MethodPost, session, client.CreateSessionRequest{Key: secret}, header...).refused(http.StatusForbidden, "")
		require.Equal(t, task.KindOrigin, p.Code)
	}
	got := w.call(http.MethodPost, session, client.CreateSessionRequest{Key: secret}, "Sec-Fetch-Site", "same-origin", "Origin", "https://omoi.example")
	ok[client.Session](got, http.StatusOK)
}

func TestSession_StreamEndsWithTheKey(t *testing.T) {
	t.Parallel()
	w := start(t, func(c *api.Config) { c.StreamBeat = 20 * time.Millisecond })
	id, cookie := w.signIn("write")
	made := ok[client.Task](w.call(http.MethodPost, "/api/v1/tasks", newTask(), "Cookie", cookie, "Sec-Fetch-Site", "same-origin"), http.StatusCreated)
	req, err := http.NewRequestWithContext(t.Context(), http.MethodGet, w.url+"/api/v1/tasks/"+made.ID+"/stream", http.NoBody)
	require.NoError(t, err)
	req.Header.Set("Cookie", cookie)
	res, err := http.DefaultClient.Do(req)
	require.NoError(t, err)
	defer func() { _ = res.Body.Close() }()
	require.Equal(t, http.StatusOK, res.StatusCode)
	require.NoError(t, w.store.RevokeKey(t.Context(), w.org, id))
	_, err = io.ReadAll(res.Body) // returns once the server has ended the stream
	require.NoError(t, err)
}
