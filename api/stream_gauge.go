package api

import (
	"context"
	"net/http"
	"time"
)

// The kinds of streams.
const (
	kindSandbox = "sandbox"
	kindTask    = "task"
	kindSocket  = "websocket"
)

// opening takes the counting of a request over that becomes a stream: it counts when the
// stream has opened, not when it was handed on, and keeps nothing of the request.
func (a *API) opening(ctx context.Context, kind string, status int) (opened func() (ended func())) {
	r, begun := requestOf(ctx), time.Now()
	r.handed = true
	return func() func() {
		r.count(status, time.Since(begun))
		return a.deps.Meter.Stream(kind)
	}
}

// counts reports whether a request is to be counted at its end.
func (r *request) counts(status int) bool { return !r.handed || status >= http.StatusBadRequest }
