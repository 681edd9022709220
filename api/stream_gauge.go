package api

import (
	"context"
	"net/http"
	"time"
)

// Gauge is told how many streams are open.
type Gauge interface {
	// Stream is called when a stream has opened: sandbox, task or websocket. It answers what
	// is called once when that ends.
	Stream(kind string) (ended func())
}

// noGauge is for servers that nobody watches.
type noGauge struct{}

// Stream implements [Gauge].
func (noGauge) Stream(string) func() { return func() {} }

// The kinds of streams.
const (
	kindSandbox = "sandbox"
	kindTask    = "task"
	kindSocket  = "websocket"
)

// opening takes the counting of a request over that becomes a stream: it counts when the
// stream has opened, not when it was handed on, and keeps nothing of the request.
func (a *API) opening(ctx context.Context, kind string, status int) (opened func() (ended func())) {
	count, begun := a.unrouted, time.Now()
	if r := requestOf(ctx); r != nil {
		r.handed = true
		if r.count != nil {
			count = r.count
		}
	}
	return func() func() {
		count(status, time.Since(begun))
		return a.deps.Gauge.Stream(kind)
	}
}

// counts reports whether a request is to be counted at its end.
func (r *request) counts(status int) bool { return !r.handed || status >= http.StatusBadRequest }
