package api

import (
	"context"
	"net/http"
	"strings"
	"time"

	"github.com/danielgtaylor/huma/v2"
	"github.com/danielgtaylor/huma/v2/adapters/humagin"
	"github.com/gin-gonic/gin"
	"go.opentelemetry.io/contrib/instrumentation/github.com/gin-gonic/gin/otelgin"
	"go.opentelemetry.io/otel/metric/noop"
	"go.opentelemetry.io/otel/propagation"
	"go.opentelemetry.io/otel/trace"

	"github.com/omoi-dev/omoi/internal/task"
)

// Meter counts what the API does.
type Meter interface {
	// Route is asked once for every route, before anything is served, for what counts its
	// requests; the pattern of requests without a route is "none".
	Route(method, pattern string) func(status int, took time.Duration)
	// Stream is called when a stream has opened: sandbox, task or websocket. It returns what
	// is called once when that ends.
	Stream(kind string) (ended func())
	// Webhook counts one of GitHub.
	Webhook(event, outcome string)
}

// noMeter is for servers that nobody watches.
type noMeter struct{}

func (noMeter) Route(string, string) func(int, time.Duration) { return func(int, time.Duration) {} }
func (noMeter) Stream(string) func()                          { return func() {} }
func (noMeter) Webhook(string, string)                        {}

// request is what is known of a request under way.
type request struct {
	id    string
	count func(status int, took time.Duration) // of its route
	agent bool                                 // omoi-agent sent it

	handed bool // it has become a stream, which is counted as it opens
}

func requestOf(ctx context.Context) *request {
	r, _ := ctx.Value(requestKey{}).(*request)
	return r
}

// traced makes a span of every request that a person or a program of theirs makes. Agents'
// posts are counted, not traced: there are too many of them.
func traced(tracer trace.TracerProvider) gin.HandlerFunc {
	return otelgin.Middleware("omoi", otelgin.WithTracerProvider(tracer), otelgin.WithMeterProvider(noop.NewMeterProvider()),
		otelgin.WithPropagators(propagation.TraceContext{}), otelgin.WithFilter(worthTracing))
}

func worthTracing(r *http.Request) bool {
	return strings.HasPrefix(r.URL.Path, "/api/") && (r.Method == http.MethodGet || !isIntake(r.URL.Path))
}

// traceparent names the span of a request for the workflow that it makes; empty if it is
// not traced.
func traceparent(ctx context.Context) string {
	if !trace.SpanContextFromContext(ctx).IsSampled() {
		return ""
	}
	carrier := propagation.MapCarrier{}
	propagation.TraceContext{}.Inject(ctx, carrier)
	return carrier.Get("traceparent")
}

// registerMetrics adds the route that shows what is counted. The numbers are of the whole
// installation, so that a key needs the scope admin.
func (a *API) registerMetrics() {
	server := a.group(tagServer, "")
	add(server.on(accessAdmin, "GET /metrics", "metrics", "Get Prometheus metrics"), a.showMetrics,
		details{
			more: "Metrics of the whole installation in the text format of Prometheus. 404 if metrics are disabled.",
			text: "text/plain", fails: []int{http.StatusNotFound},
		})
}

func (a *API) showMetrics(context.Context, *struct{}) (*huma.StreamResponse, error) {
	if a.deps.Metrics == nil {
		return nil, task.Errorf(task.CodeNotFound, "This server has no metrics.")
	}
	return &huma.StreamResponse{Body: func(ctx huma.Context) {
		c := humagin.Unwrap(ctx)
		a.deps.Metrics.ServeHTTP(c.Writer, c.Request)
	}}, nil
}

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
