package tracing

import (
	"context"
	"log/slog"
	"slices"
	"sync"
	"time"

	"go.opentelemetry.io/otel/attribute"
	sdk "go.opentelemetry.io/otel/sdk/trace"
)

// discreet is an exporter that takes texts out of spans, and logs what does not arrive.
type discreet struct {
	next sdk.SpanExporter
	log  *slog.Logger

	mu   sync.Mutex
	said time.Time
}

// ExportSpans implements [sdk.SpanExporter]. A collector that is down loses spans and
// nothing else, so that its errors end here.
func (d *discreet) ExportSpans(ctx context.Context, spans []sdk.ReadOnlySpan) error {
	plain := make([]sdk.ReadOnlySpan, len(spans))
	for n, s := range spans {
		plain[n] = textless{s}
	}
	if err := d.next.ExportSpans(ctx, plain); err != nil {
		d.complain(ctx, len(spans), err)
	}
	return nil
}

// complain says it once a minute.
func (d *discreet) complain(ctx context.Context, spans int, err error) {
	d.mu.Lock()
	defer d.mu.Unlock()
	if time.Since(d.said) < time.Minute {
		return
	}
	d.said = time.Now()
	d.log.WarnContext(ctx, "send traces failed, spans dropped", slog.Int("spans", spans), slog.String("error", err.Error()))
}

// Shutdown implements [sdk.SpanExporter].
func (d *discreet) Shutdown(ctx context.Context) error { return d.next.Shutdown(ctx) }

// textless is a span without what people or programs wrote: messages of errors, events that
// hold them, and what a caller says of itself.
type textless struct{ sdk.ReadOnlySpan }

// Status tells that something failed, not what was said about it.
func (s textless) Status() sdk.Status { return sdk.Status{Code: s.ReadOnlySpan.Status().Code} }

// Events are none: omoi makes none, and libraries put errors there.
func (textless) Events() []sdk.Event { return nil }

// Attributes are the known ones.
func (s textless) Attributes() []attribute.KeyValue {
	return slices.DeleteFunc(slices.Clone(s.ReadOnlySpan.Attributes()), func(a attribute.KeyValue) bool {
		return !slices.Contains(known(), string(a.Key))
	})
}

// known are the attributes that hold ids, numbers and words of ours.
func known() []string {
	return []string{
		"http.request.method", "http.route", "http.response.status_code", "http.response.body.size", "url.scheme",
		"temporalWorkflowID", "temporalRunID", "temporalActivityID", "temporalUpdateID",
	}
}
