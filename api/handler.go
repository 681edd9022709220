package api

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"maps"
	"net/http"
	"runtime/debug"
	"strings"
	"time"

	"github.com/omoi-dev/omoi/internal/client"
	"github.com/omoi-dev/omoi/internal/task"
	"github.com/omoi-dev/omoi/internal/token"
)

type requestKey struct{}

// requestID names a request in logs and errors.
func requestID(ctx context.Context) string {
	if r := requestOf(ctx); r != nil {
		return r.id
	}
	return ""
}

// ServeHTTP implements [http.Handler]: what is done to every request, then the routes.
func (a *API) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	started := time.Now()
	id := task.NewID()
	r = cutPrefix(r.WithContext(context.WithValue(r.Context(), requestKey{}, &request{id: id})))
	maps.Copy(w.Header(), a.security)         // the values are shared: whoever wants others sets them anew
	w.Header()["X-Request-Id"] = []string{id} // Set would write the name anew each time
	rec := &recorder{ResponseWriter: w}
	defer a.finish(rec, r, started)
	if err := a.stranger(r); err != nil {
		a.writeError(rec, r, err)
		return
	}
	a.routes.ServeHTTP(rec, r)
}

// security are the headers of every answer. Scripts and frames have no business here.
func security() http.Header {
	h := http.Header{}
	h.Set("X-Content-Type-Options", "nosniff")
	h.Set("X-Frame-Options", "DENY")
	h.Set("Referrer-Policy", "strict-origin-when-cross-origin")
	h.Set("Permissions-Policy", "geolocation=(), microphone=(), camera=()")
	h.Set("Content-Security-Policy", "default-src 'none'; frame-ancestors 'none'")
	h.Set("Cache-Control", "no-store")
	return h
}

// finish recovers from a panic of the request and logs it.
func (a *API) finish(rec *recorder, r *http.Request, started time.Time) {
	if cause := recover(); cause != nil {
		if err, ok := cause.(error); ok && errors.Is(err, http.ErrAbortHandler) {
			panic(cause) // the server's own way to drop a connection
		}
		a.log.ErrorContext(r.Context(), "request panicked", slog.String("request_id", requestID(r.Context())),
			slog.Any("panic", cause), slog.String("stack", string(debug.Stack())))
		if rec.status == 0 {
			a.writeError(rec, r, fmt.Errorf("panic: %v", cause))
		}
	}
	a.countRequest(rec, r, started)
	a.logAccess(rec, r, started)
}

func (a *API) countRequest(rec *recorder, r *http.Request, started time.Time) {
	count, found := a.unrouted, requestOf(r.Context())
	if found != nil && !found.counts(rec.status) {
		return
	}
	if found != nil && found.count != nil {
		count = found.count
	}
	count(rec.status, time.Since(started))
}

// logAccess writes one line a request. The hot routes of sandboxes are logged only if
// they fail, or at level debug.
func (a *API) logAccess(rec *recorder, r *http.Request, started time.Time) {
	level := slog.LevelInfo
	if rec.status == statusGone || rec.status < http.StatusBadRequest && (r.Method == http.MethodGet || isIntake(r.URL.Path)) {
		level = slog.LevelDebug
	}
	if !a.log.Enabled(r.Context(), level) {
		return
	}
	a.log.LogAttrs(r.Context(), level, "request", slog.String("request_id", requestID(r.Context())),
		slog.String("method", r.Method), slog.String("path", token.HideIn(r.URL.Path)), slog.Int("status", rec.status),
		slog.Int64("bytes", rec.bytes), slog.Duration("took", time.Since(started)))
}

func isIntake(path string) bool {
	return strings.HasSuffix(path, "/events") || strings.HasSuffix(path, "/events/batch")
}

// writeError answers outside of any route.
func (a *API) writeError(w http.ResponseWriter, r *http.Request, err error) {
	p := a.fail(r.Context(), err, "body")
	maps.Copy(w.Header(), p.GetHeaders())
	w.Header().Set("Content-Type", problemType)
	w.WriteHeader(p.Status)
	_ = a.huma.Marshal(w, "application/json", p) // a caller that left is nobody's fault
}

// statusError is an error of HTTP itself, with a status that the table of codes answers otherwise.
type statusError struct {
	status int
	err    error
}

func (e *statusError) Error() string { return e.err.Error() }
func (e *statusError) Unwrap() error { return e.err }

func httpError(status int, format string, args ...any) error {
	return &statusError{status: status, err: task.Errorf(client.CodeOf(status), format, args...)}
}

// recorder remembers what was answered.
type recorder struct {
	http.ResponseWriter
	status int
	bytes  int64
}

// WriteHeader implements [http.ResponseWriter].
func (r *recorder) WriteHeader(status int) {
	if r.status == 0 {
		r.status = status
	}
	r.ResponseWriter.WriteHeader(status)
}

// Write implements [http.ResponseWriter].
func (r *recorder) Write(b []byte) (int, error) {
	if r.status == 0 {
		r.status = http.StatusOK
	}
	n, err := r.ResponseWriter.Write(b)
	r.bytes += int64(n)
	return n, err
}

// Unwrap lets [http.ResponseController] find the connection.
func (r *recorder) Unwrap() http.ResponseWriter { return r.ResponseWriter }
