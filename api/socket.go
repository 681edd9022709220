package api

import (
	"net"
	"net/http"
	"strings"

	"github.com/omoi-dev/omoi/internal/task"
	"github.com/omoi-dev/omoi/internal/token"
)

// socketRoutes are the routes that a server without authentication serves on its Unix socket, for a sandbox token. The
// routes then check which sandbox the token belongs to.
const socketRoutes = "/api/v1/sandboxes/"

// stranger rejects requests that a sandbox may not send. The Unix socket of a server without authentication is mounted
// in every sandbox without network, so without this check agents could control the server.
func (a *API) stranger(r *http.Request) error {
	if !a.cfg.Open || !bySocket(r) || r.URL.Path == "/health" || r.URL.Path == "/healthz" {
		return nil
	}
	if !token.Looks(credentialOf(r)) {
		return task.Errorf(task.CodeUnauthorized,
			"Missing sandbox token: with authentication disabled, the server's Unix socket accepts sandbox tokens only. "+
				"Next: use the server's loopback address")
	}
	if !strings.HasPrefix(r.URL.Path, socketRoutes) {
		return task.Errorf(task.CodeForbidden, "A sandbox token gives access to the routes of its own sandbox only.").WithKind(task.KindOtherSandbox)
	}
	return nil
}

func bySocket(r *http.Request) bool {
	addr, _ := r.Context().Value(http.LocalAddrContextKey).(net.Addr)
	_, is := addr.(*net.UnixAddr)
	return is
}
