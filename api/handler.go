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

	"github.com/gin-gonic/gin"

	"github.com/omoi-dev/omoi/api/client"
	"github.com/omoi-dev/omoi/internal/task"
	"github.com/omoi-dev/omoi/internal/token"
	"github.com/omoi-dev/omoi/internal/webguard"
)

type requestKey struct{}

// requestID returns the ID of a request in logs and errors.
func requestID(ctx context.Context) string {
	if r := requestOf(ctx); r != nil {
		return r.id
	}
	return ""
}

// ServeHTTP implements [http.Handler].
func (a *API) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	asked := &request{
		id: task.NewID(), count: a.unrouted, secure: r.TLS != nil || r.Header.Get("X-Forwarded-Proto") == "https", foreign: webguard.Foreign(r),
	}
	a.routes.ServeHTTP(w, a.cutPrefixes(r.WithContext(context.WithValue(r.Context(), requestKey{}, asked))))
}

// observe is the middleware of every request: request ID, headers, metrics and access log.
func (a *API) observe(c *gin.Context) {
	started, asked := time.Now(), requestOf(c.Request.Context())
	asked.agent = c.GetHeader("Omoi-Protocol") != ""
	if f := a.forms[formKey{c.Request.Method, c.FullPath()}]; f != nil {
		asked.count = f.count
	}
	maps.Copy(c.Writer.Header(), a.security)               // handlers replace the shared values and never modify them
	c.Writer.Header()["X-Request-Id"] = []string{asked.id} // Set would canonicalize the name on each request
	defer func() { a.finish(c, asked, started, recover()) }()
	if err := a.stranger(c.Request); err != nil {
		a.writeError(c.Writer, c.Request, err)
		c.Abort()
	}
	c.Next()
}

// security returns the headers of every response, which forbid scripts and frames.
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

// finish responds to a request that panicked, and counts and logs every request.
func (a *API) finish(c *gin.Context, asked *request, started time.Time, cause any) {
	if cause != nil {
		if err, ok := cause.(error); ok && errors.Is(err, http.ErrAbortHandler) {
			panic(cause) // net/http drops the connection
		}
		a.log.ErrorContext(c.Request.Context(), "request panicked", slog.String("request_id", asked.id),
			slog.Any("panic", cause), slog.String("stack", string(debug.Stack())))
		if !c.Writer.Written() {
			a.writeError(c.Writer, c.Request, fmt.Errorf("panic: %v", cause))
		}
	}
	if asked.counts(c.Writer.Status()) {
		asked.count(c.Writer.Status(), time.Since(started))
	}
	a.logAccess(c, asked, started)
}

// logAccess writes one line for each request.
func (a *API) logAccess(c *gin.Context, asked *request, started time.Time) {
	r := c.Request
	a.log.LogAttrs(r.Context(), slog.LevelDebug, "request", slog.String("request_id", asked.id),
		slog.String("method", r.Method), slog.String("path", token.HideIn(r.URL.Path)), slog.Int("status", c.Writer.Status()),
		slog.Int("bytes", max(c.Writer.Size(), 0)), slog.Duration("took", time.Since(started)))
}

func isIntake(path string) bool {
	return strings.HasSuffix(path, "/events") || strings.HasSuffix(path, "/events/batch")
}

// writeError writes the response to a request without a route.
func (a *API) writeError(w http.ResponseWriter, r *http.Request, err error) {
	p := a.fail(r.Context(), err, "body")
	maps.Copy(w.Header(), p.GetHeaders())
	w.Header().Set("Content-Type", problemType)
	w.WriteHeader(p.Status)
	_ = a.huma.Marshal(w, "application/json", p) // the client may have disconnected
}

// statusError is an HTTP error whose status has no code.
type statusError struct {
	status int
	err    error
}

func (e *statusError) Error() string { return e.err.Error() }
func (e *statusError) Unwrap() error { return e.err }

func httpError(status int, format string, args ...any) error {
	return &statusError{status: status, err: task.Errorf(client.CodeOf(status), format, args...).WithKind(kindOfStatus(status))}
}
