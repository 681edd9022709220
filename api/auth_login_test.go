package api_test

import (
	"maps"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"github.com/golang-jwt/jwt/v5"
	"github.com/stretchr/testify/require"

	"github.com/omoi-dev/omoi/api"
	"github.com/omoi-dev/omoi/api/client"
	"github.com/omoi-dev/omoi/internal/task"
)

const jwtSecret = "a secret that signs the logins of tests"

// login returns an Authorization header with a JWT that has these claims.
func login(t *testing.T, more map[string]any) string {
	t.Helper()
	claims := jwt.MapClaims{"sub": "ada", "type": "access", "exp": time.Now().Add(time.Hour).Unix()}
	maps.Copy(claims, more)
	text, err := jwt.NewWithClaims(jwt.SigningMethodHS256, claims).SignedString([]byte(jwtSecret))
	require.NoError(t, err)
	return "Bearer " + text
}

func TestJWT_ScopesGrantAccess(t *testing.T) {
	t.Parallel()
	w := closed(t)
	other, err := w.store.EnsureOrganization(t.Context(), "other")
	require.NoError(t, err)
	asks := func(method, path string, body any, claims map[string]any) int {
		return w.call(method, path, body, authorization, login(t, claims)).status
	}
	const tasks, keys = "/api/v1/tasks", "/api/v1/auth/api-keys"
	made := ok[client.Task](w.call(http.MethodPost, tasks, newTask(), authorization, login(t, nil)), http.StatusCreated)
	require.Equal(t, 1,
		w.count(`SELECT count(*) FROM tasks t JOIN users u ON u.id = t.user_id WHERE t.id = $1 AND u.name = 'ada'`, made.ID))
	require.Equal(t, 1, w.count(`SELECT count(*) FROM commands WHERE sender = 'user ada'`))
	require.Equal(t, http.StatusForbidden, asks(http.MethodGet, keys, nil, nil))
	require.Equal(t, http.StatusOK, asks(http.MethodGet, keys, nil, map[string]any{"scopes": []string{"admin"}}))
	require.Equal(t, http.StatusForbidden, asks(http.MethodPost, tasks, newTask(), map[string]any{"scope": "read"}))
	for _, none := range []map[string]any{{"scope": "something else"}, {"scope": ""}, {"scope": nil}, {"scopes": []string{}}} {
		require.Equal(t, http.StatusForbidden, asks(http.MethodGet, tasks, nil, none), "%v", none)
		require.Equal(t, http.StatusForbidden, asks(http.MethodPost, tasks, newTask(), none), "%v", none)
	}
	require.Equal(t, http.StatusNotFound, asks(http.MethodGet, tasks+"/"+made.ID, nil, map[string]any{"org": other}))
	require.Equal(t, http.StatusOK, asks(http.MethodGet, tasks+"/"+made.ID, nil, map[string]any{"org": w.org}))
	for name, claims := range map[string]map[string]any{
		"expired": {"exp": 1}, "of a strange organization": {"org": task.NewID()}, "of no organization": {"org": "x"},
		"to refresh": {"type": "refresh"},
	} {
		refused := w.call(http.MethodGet, tasks, nil, authorization, login(t, claims)).refused(http.StatusUnauthorized, "")
		require.Contains(t, refused.Detail, "JWT", name)
	}
}

func TestJWT_RejectedWithoutASecret(t *testing.T) {
	t.Parallel()
	handler := api.New(api.Config{}, api.Deps{Ports: api.PortsOf(nil)})
	r := httptest.NewRequestWithContext(t.Context(), http.MethodGet, "http://localhost/api/v1/tasks", http.NoBody)
	r.Header.Set(authorization, login(t, nil))
	answer := httptest.NewRecorder()
	handler.ServeHTTP(answer, r)
	require.Equal(t, http.StatusUnauthorized, answer.Code)
	require.Contains(t, answer.Body.String(), "OMOI_API_JWT_SECRET")
}

func TestWebSocket_AcceptsJWTs(t *testing.T) {
	t.Parallel()
	w := start(t, func(c *api.Config) { c.PollEvery, c.StreamBeat = 10*time.Millisecond, 10*time.Millisecond })
	good := strings.TrimPrefix(login(t, map[string]any{"scope": "read"}), "Bearer ")
	byQuery, byHeader, byFrame := w.socket(t, "?token="+good).ready(), w.socket(t, "", authorization, "Bearer "+good).ready(), w.socket(t, "")
	byFrame.say(`{"type":"auth","token":"` + good + `"}`)
	byFrame.ready()
	made := ok[client.Task](w.call(http.MethodPost, "/api/v1/tasks", newTask(), authorization, login(t, nil)),
		http.StatusCreated)
	for _, s := range []*socket{byQuery, byHeader, byFrame} {
		got := s.next()
		for ; got["event_type"] != "TASK_CREATED"; got = s.next() {
		}
		require.Equal(t, made.ID, got["entity_id"])
	}
	for _, bad := range []map[string]any{{"exp": 1}, {"scope": "none"}, {"org": task.NewID()}} {
		w.socket(t, "", authorization, login(t, bad)).closedWith(4401)
	}
	soon := map[string]any{"exp": time.Now().Add(2 * time.Second).Unix()}
	w.socket(t, "", authorization, login(t, soon)).closedWith(4401) // the socket closes when the login expires
}
