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

// Meter counts the work of the API.
type Meter interface {
	// Route returns the counter of a route's requests. New calls Route once for every route; requests without a route
	// have the pattern "none".
	Route(method, pattern string) func(status int, took time.Duration)
	// Stream is called when a stream has opened: sandbox, task, tasks or websocket. The caller calls ended once when the
	// stream ends.
	Stream(kind string) (ended func())
	// Webhook counts a webhook event of GitHub.
	Webhook(event, outcome string)
}

// noMeter is the Meter of a server without metrics.
type noMeter struct{}

func (noMeter) Route(string, string) func(int, time.Duration) { return func(int, time.Duration) {} }
func (noMeter) Stream(string) func()                          { return func() {} }
func (noMeter) Webhook(string, string)                        {}

// request is the state of a running request.
type request struct {
	id      string
	count   func(status int, took time.Duration) // of its route
	agent   bool                                 // sent by omoi-agent
	secure  bool                                 // sent by HTTPS
	foreign bool                                 // sent by a web page of another origin

	handed bool // the request has become a stream, which is counted when it opens
}

func requestOf(ctx context.Context) *request {
	r, _ := ctx.Value(requestKey{}).(*request)
	return r
}

// traced returns a middleware that creates a span for every request of a user or program. Posts of agents are counted
// but not traced, since there are too many of them.
func traced(tracer trace.TracerProvider) gin.HandlerFunc {
	return otelgin.Middleware("omoi", otelgin.WithTracerProvider(tracer), otelgin.WithMeterProvider(noop.NewMeterProvider()),
		otelgin.WithPropagators(propagation.TraceContext{}), otelgin.WithFilter(worthTracing))
}

func worthTracing(r *http.Request) bool {
	return strings.HasPrefix(strings.TrimPrefix(r.URL.Path, legacyPrefix), "/api/") && (r.Method == http.MethodGet || !isIntake(r.URL.Path))
}

// traceparent returns the span of a request in the form of a traceparent header, for the workflow that the request
// starts; empty if the request is not sampled.
func traceparent(ctx context.Context) string {
	if !trace.SpanContextFromContext(ctx).IsSampled() {
		return ""
	}
	carrier := propagation.MapCarrier{}
	propagation.TraceContext{}.Inject(ctx, carrier)
	return carrier.Get("traceparent")
}

// registerMetrics registers the metrics route. The metrics cover the whole installation, so a key needs the scope
// admin.
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

// Kinds of streams.
const (
	kindSandbox = "sandbox"
	kindTask    = "task"
	kindTasks   = "tasks"
	kindSocket  = "websocket"
)

// opening returns a function that counts a request when its stream has opened, instead of when the request was handed
// over. The function holds no reference to the request.
func (a *API) opening(ctx context.Context, kind string, status int) (opened func() (ended func())) {
	r, begun := requestOf(ctx), time.Now()
	r.handed = true
	return func() func() {
		r.count(status, time.Since(begun))
		return a.deps.Meter.Stream(kind)
	}
}

// counts reports whether a request is counted at its end.
func (r *request) counts(status int) bool { return !r.handed || status >= http.StatusBadRequest }
