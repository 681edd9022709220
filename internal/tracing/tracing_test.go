package tracing_test

import (
	"bytes"
	"context"
	"errors"
	"io"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"testing"

	"github.com/stretchr/testify/require"
	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/codes"
	"go.opentelemetry.io/otel/trace"
	collector "go.opentelemetry.io/proto/otlp/collector/trace/v1"
	tracev1 "go.opentelemetry.io/proto/otlp/trace/v1"
	"go.uber.org/goleak"
	"google.golang.org/protobuf/proto"

	"github.com/omoi-dev/omoi/internal/tracing"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

func TestOffWithoutAnEndpoint(t *testing.T) {
	t.Parallel()
	off, err := tracing.Open(t.Context(), tracing.Config{}, nil)
	require.NoError(t, err)
	require.Nil(t, off)
	require.Nil(t, off.Provider())
	require.Nil(t, off.Interceptors())
	require.NoError(t, off.Close(t.Context()))
}

func TestResumeGoesOnWithTheTrace(t *testing.T) {
	t.Parallel()
	const parent = "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01"
	found := trace.SpanContextFromContext(tracing.Resume(t.Context(), parent))
	require.Equal(t, "0af7651916cd43dd8448eb211c80319c", found.TraceID().String())
	require.True(t, found.IsSampled())
	for _, none := range []string{"", "nonsense", "00-" + "00000000000000000000000000000000" + "-b7ad6b7169203331-01"} {
		require.False(t, trace.SpanContextFromContext(tracing.Resume(t.Context(), none)).IsValid(), none)
	}
}

// What a library notes about an error, or a caller says of itself, does not leave.
func TestSpansLoseTheirTexts(t *testing.T) {
	t.Parallel()
	var got []*tracev1.Span
	var raw []byte
	server := httptest.NewServer(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) {
		var in collector.ExportTraceServiceRequest
		raw, _ = io.ReadAll(r.Body)
		if proto.Unmarshal(raw, &in) == nil && r.URL.Path == "/v1/traces" {
			got = in.GetResourceSpans()[0].GetScopeSpans()[0].GetSpans()
		}
	}))
	defer server.Close()
	on, err := tracing.Open(t.Context(), tracing.Config{Endpoint: server.URL + "/", Sample: 1}, slog.New(slog.DiscardHandler))
	require.NoError(t, err)
	_, span := on.Provider().Tracer("test").Start(t.Context(), "a step")
	span.SetAttributes(attribute.String("http.route", "/a/{id}"), attribute.String("user_agent.original", "planted-1"))
	span.RecordError(errors.New("planted-2"))
	span.SetStatus(codes.Error, "planted-3")
	span.End()
	require.NoError(t, on.Close(t.Context()))
	http.DefaultClient.CloseIdleConnections()
	require.Len(t, got, 1)
	require.Equal(t, tracev1.Status_STATUS_CODE_ERROR, got[0].GetStatus().GetCode())
	require.Len(t, got[0].GetAttributes(), 1)
	require.Contains(t, string(raw), "/a/{id}")
	require.NotContains(t, string(raw), "planted")
}

// A collector that refuses costs its spans, and a line in the log.
func TestACollectorThatRefusesIsNoError(t *testing.T) {
	t.Parallel()
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(http.StatusBadRequest) }))
	defer server.Close()
	var log bytes.Buffer
	on, err := tracing.Open(context.Background(), tracing.Config{Endpoint: server.URL, Sample: 1}, slog.New(slog.NewJSONHandler(&log, nil)))
	require.NoError(t, err)
	_, span := on.Provider().Tracer("test").Start(t.Context(), "a step")
	span.End()
	require.NoError(t, on.Close(t.Context()))
	require.Contains(t, log.String(), "send traces failed")
}
