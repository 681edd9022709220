package api

import (
	"net/http"

	"github.com/coder/websocket"
	"github.com/gin-gonic/gin"

	"github.com/omoi-dev/omoi/internal/task"
)

// upgrade upgrades a request to a WebSocket, or responds with an error.
func (a *API) upgrade(w gin.ResponseWriter, r *http.Request) (*websocket.Conn, bool) {
	if err := a.noPage(r); err != nil {
		a.writeError(w, r, err)
		return nil, false
	}
	said := &unsaid{ResponseWriter: w}
	conn, err := websocket.Accept(said, r, nil) // rejects an Origin other than the requested host
	if said.refused != 0 {
		a.writeError(w, r, notUpgraded(said.refused, err))
	}
	return conn, err == nil
}

func notUpgraded(status int, cause error) error {
	switch {
	case status == http.StatusForbidden:
		return task.Errorf(task.CodeForbidden, "Origin rejected: the WebSocket accepts no requests from web pages of other sites.").WithKind(task.KindOrigin).WithCause(cause)
	case status == http.StatusUpgradeRequired:
		return &statusError{status, task.Invalid("",
			"This route is a WebSocket. Next: connect with ws:// or wss://, or use GET /api/v1/tasks/{id}/stream").WithCause(cause)}
	case status < http.StatusInternalServerError:
		return &statusError{status, task.Invalid("",
			"Invalid WebSocket handshake: expected the headers of protocol version 13.").WithCause(cause)}
	}
	return cause
}

// unsaid discards the library's response to a request that it rejects, so that all errors have one form.
type unsaid struct {
	gin.ResponseWriter

	refused int // the status; 0: not rejected
}

func (u *unsaid) WriteHeader(status int) {
	if status >= http.StatusBadRequest {
		u.refused = status
		return
	}
	u.ResponseWriter.WriteHeader(status)
}

func (u *unsaid) Write(text []byte) (int, error) {
	if u.refused != 0 {
		return len(text), nil
	}
	return u.ResponseWriter.Write(text)
}
