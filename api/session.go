package api

import (
	"context"
	"net/http"
	"time"

	"github.com/omoi-dev/omoi/api/client"
	"github.com/omoi-dev/omoi/internal/task"
	"github.com/omoi-dev/omoi/internal/token"
	"github.com/omoi-dev/omoi/internal/webguard"
)

const (
	sessionCookie = "omoi_session"
	sessionLasts  = 12 * time.Hour
)

// Sessions mints and reads the sessions of browsers. A session holds no right of its own: it permits what its API key
// permits, and ends with the key.
type Sessions interface {
	MintSession(keyID string, until time.Time) (secret string)
	// Session returns [task.CodeUnauthorized] for a secret that is not valid any more.
	Session(secret string) (keyID string, until time.Time, err error)
}

func (a *API) registerSession() {
	session := a.group(tagServer, "/api/v1/session")
	add(session.on(accessNone, "POST", "create-session", "Create a session"), a.createSession, details{
		more:  "Sets a cookie for the web page that permits what the key permits. It ends after 12 hours, and with the key.",
		fails: []int{http.StatusUnauthorized},
	})
	add(session.on(accessRead, "GET", "get-session", "Get the caller"), a.getSession,
		details{more: "Who sends this request, and with which scopes."})
	add(session.on(accessNone, "DELETE", "delete-session", "Delete a session"), a.deleteSession,
		details{more: "Signs out. Removes the cookie of the web page. Repeating the request changes nothing.", status: http.StatusNoContent})
}

type sessionOut struct {
	SetCookie string `header:"Set-Cookie"`
	Body      client.Session
}

// createSession refuses pages of other origins, which could sign a user in with a key of their own.
func (a *API) createSession(ctx context.Context, in *bodyIn[client.CreateSessionRequest]) (*sessionOut, error) {
	if requestOf(ctx).foreign {
		return nil, task.Errorf(task.CodeForbidden, "Session refused: the request comes from a page of another origin. Next: sign in on the server's own page").
			WithKind(task.KindOrigin)
	}
	key, err := a.deps.Identities.KeyBySecret(ctx, in.Body.Key)
	if err != nil {
		return nil, err
	}
	until := time.Now().Add(sessionLasts)
	if key.ExpiresAt != nil && key.ExpiresAt.Before(until) {
		until = *key.ExpiresAt
	}
	out := &sessionOut{SetCookie: cookie(ctx, a.deps.Sessions.MintSession(key.ID, until), until).String(), Body: sessionOf(callerWith(key))}
	out.Body.ExpiresAt = &until
	return out, nil
}

func (a *API) getSession(ctx context.Context, _ *struct{}) (*bodyOut[client.Session], error) {
	said := sessionOf(callerOf(ctx))
	said.AuthDisabled = a.cfg.Open
	return body(said, nil)
}

type signedOut struct {
	SetCookie string `header:"Set-Cookie"`
}

func (a *API) deleteSession(ctx context.Context, _ *struct{}) (*signedOut, error) {
	return &signedOut{cookie(ctx, "", time.Unix(1, 0)).String()}, nil
}

// cookie returns the cookie of a session. No script reads it, and no other site can make a browser send it.
func cookie(ctx context.Context, value string, until time.Time) *http.Cookie {
	return &http.Cookie{ //nolint:gosec // Secure would keep browsers from a server without HTTPS
		Name: sessionCookie, Value: value, Path: "/api/", Expires: until, HttpOnly: true, SameSite: http.SameSiteStrictMode,
		Secure: requestOf(ctx).secure,
	}
}

func sessionOf(who caller) client.Session {
	return client.Session{Name: who.name, User: who.userName, Scopes: scopes()[:who.scope+1], ExpiresAt: who.until}
}

func callerWith(key client.APIKey) caller {
	return caller{name: "key " + key.Name, organization: key.OrganizationID, user: key.UserID, userName: key.User, scope: scopeOf(key.Scopes)}
}

// admitSession authenticates the holder of a session.
func (a *API) admitSession(ctx context.Context, secret string) (caller, error) {
	id, until, err := a.deps.Sessions.Session(secret)
	if err != nil {
		return caller{}, err
	}
	key, err := a.deps.Identities.KeyByID(ctx, id)
	who := callerWith(key)
	who.until = &until
	return who, err
}

// sessionSecret returns the session in the cookie of a request. It ignores the cookie in a request that a page of
// another origin can have caused.
func sessionSecret(r *http.Request) string {
	c, err := r.Cookie(sessionCookie)
	if err != nil || !token.LooksSession(c.Value) || !webguard.SameOrigin(r) {
		return ""
	}
	return c.Value
}
