package api

import (
	"net"
	"net/http"
	"strings"

	"github.com/omoi-dev/omoi/internal/task"
	"github.com/omoi-dev/omoi/internal/token"
)

// socketRoutes are what an open server serves over its Unix socket to whoever shows a sandbox
// token; the routes then ask whose it is.
const socketRoutes = "/api/v1/sandboxes/"

// stranger refuses what a sandbox has no business with. The socket of an open server stands in
// every sandbox without network, and no login must not mean that agents rule the server.
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
