package tracing

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"strings"

	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/exporters/otlp/otlptrace/otlptracehttp"
	"go.opentelemetry.io/otel/propagation"
	"go.opentelemetry.io/otel/sdk/resource"
	sdk "go.opentelemetry.io/otel/sdk/trace"
	"go.opentelemetry.io/otel/trace"
	"go.temporal.io/sdk/contrib/opentelemetry"
	"go.temporal.io/sdk/interceptor"
)

// Config says where traces go. Endpoint is needed; see [Open].
type Config struct {
	Endpoint string            // base URL of the collector, as http://127.0.0.1:4318; /v1/traces is added
	Headers  map[string]string // sent with every export
	Sample   float64           // share of new traces that are kept, 0 to 1
	Version  string
}

// Tracing makes spans and sends them. A nil Tracing is off: its methods do nothing.
type Tracing struct {
	provider    *sdk.TracerProvider
	interceptor interceptor.Interceptor
}

// Open makes tracing; it does not wait for the collector. Without an endpoint it answers
// nil, which is off.
func Open(ctx context.Context, cfg Config, log *slog.Logger) (*Tracing, error) {
	if cfg.Endpoint == "" {
		return nil, nil //nolint:nilnil // nil is off, and says so
	}
	exporter, err := otlptracehttp.New(ctx,
		otlptracehttp.WithEndpointURL(strings.TrimSuffix(cfg.Endpoint, "/")+"/v1/traces"), otlptracehttp.WithHeaders(cfg.Headers))
	if err != nil {
		return nil, fmt.Errorf("create trace exporter: %w", err)
	}
	t := &Tracing{provider: sdk.NewTracerProvider(
		sdk.WithBatcher(&discreet{next: exporter, log: log}),
		sdk.WithSampler(sdk.ParentBased(sdk.TraceIDRatioBased(cfg.Sample))),
		sdk.WithResource(resource.NewSchemaless(
			attribute.String("service.name", "omoi"), attribute.String("service.version", cfg.Version))),
	)}
	// Signals are not traced: their spans would outnumber all others. Their header would be
	// the only trace of a digest's way.
	t.interceptor, err = opentelemetry.NewTracingInterceptor(opentelemetry.TracerOptions{
		Tracer: t.provider.Tracer("omoi/temporal"), TextMapPropagator: propagation.TraceContext{}, DisableBaggage: true,
		DisableSignalTracing: true, DisableQueryTracing: true, AllowInvalidParentSpans: true,
	})
	if err != nil {
		return nil, errors.Join(fmt.Errorf("create trace interceptor: %w", err), t.Close(ctx))
	}
	return t, nil
}

// Provider makes spans for the API; nil if tracing is off.
func (t *Tracing) Provider() trace.TracerProvider {
	if t == nil {
		return nil
	}
	return t.provider
}

// Interceptors are for the client of Temporal; its workers take them over by themselves.
func (t *Tracing) Interceptors() []interceptor.ClientInterceptor {
	if t == nil {
		return nil
	}
	return []interceptor.ClientInterceptor{t.interceptor}
}

// Close sends what is left and stops; ctx bounds it.
func (t *Tracing) Close(ctx context.Context) error {
	if t == nil {
		return nil
	}
	if err := t.provider.Shutdown(ctx); err != nil {
		return fmt.Errorf("send the last traces: %w", err)
	}
	return nil
}

// Resume goes on with the trace that a traceparent names; one that names none changes nothing.
func Resume(ctx context.Context, traceparent string) context.Context {
	if traceparent == "" {
		return ctx
	}
	return propagation.TraceContext{}.Extract(ctx, propagation.MapCarrier{"traceparent": traceparent})
}
