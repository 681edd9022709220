package metrics

import (
	"context"
	"fmt"
	"log/slog"
	"net/http"
	"slices"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/collectors"
	"github.com/prometheus/client_golang/prometheus/promhttp"
	exporter "go.opentelemetry.io/otel/exporters/prometheus"
	"go.opentelemetry.io/otel/sdk/metric"
	"go.temporal.io/sdk/client"
	"go.temporal.io/sdk/contrib/opentelemetry"
)

// Metrics is everything that one process counts. It is safe for concurrent use.
type Metrics struct {
	counts

	registry *prometheus.Registry
	sdk      client.MetricsHandler
	provider *metric.MeterProvider
	log      *slog.Logger
}

// New makes the metrics of a process, all at zero. version is that of the binary.
func New(version string, log *slog.Logger) (*Metrics, error) {
	r := prometheus.NewRegistry()
	r.MustRegister(collectors.NewGoCollector(), collectors.NewProcessCollector(collectors.ProcessCollectorOpts{}))
	m := &Metrics{counts: newCounts(r), registry: r, log: log}
	gaugeVec(r, BuildInfo).WithLabelValues(version).Set(1)
	return m, m.openSDK()
}

// openSDK lets the Temporal SDK count into the same registry.
func (m *Metrics) openSDK() error {
	reader, err := exporter.New(exporter.WithRegisterer(m.registry), exporter.WithoutScopeInfo(), exporter.WithoutTargetInfo())
	if err != nil {
		return fmt.Errorf("create metrics of the Temporal SDK: %w", err)
	}
	seconds := metric.NewView(metric.Instrument{Kind: metric.InstrumentKindHistogram},
		metric.Stream{Aggregation: metric.AggregationExplicitBucketHistogram{Boundaries: durations()}})
	m.provider = metric.NewMeterProvider(metric.WithReader(reader), metric.WithView(seconds))
	m.sdk = opentelemetry.NewMetricsHandler(opentelemetry.MetricsHandlerOptions{
		Meter: m.provider.Meter("temporal-sdk-go"), UseMonotonicCounters: true,
		OnError: func(err error) { m.log.Warn("register temporal sdk metric failed", slog.String("error", err.Error())) },
	})
	return nil
}

// Queue shows how many requests wait for ingest; length is asked at every scrape. It is called once.
func (m *Metrics) Queue(length func() int) {
	of := find(IngestQueue)
	m.registry.MustRegister(prometheus.NewGaugeFunc(prometheus.GaugeOpts{Name: of.Name, Help: of.Help}, func() float64 { return float64(length()) }))
}

// SDK is what a client of Temporal counts with; its workers do as well.
func (m *Metrics) SDK() client.MetricsHandler { return m.sdk }

// Handler shows all of it in the form of Prometheus.
func (m *Metrics) Handler() http.Handler {
	return promhttp.HandlerFor(m.registry, promhttp.HandlerOpts{
		ErrorLog: slog.NewLogLogger(m.log.Handler(), slog.LevelWarn), ErrorHandling: promhttp.ContinueOnError,
	})
}

// Close ends the SDK's part; what was counted can still be shown.
func (m *Metrics) Close(ctx context.Context) error { return m.provider.Shutdown(ctx) }

// durations are the bounds of buckets from half a millisecond to a minute, in seconds.
func durations() []float64 {
	return []float64{.0005, .001, .0025, .005, .01, .025, .05, .1, .25, .5, 1, 2.5, 5, 10, 30, 60}
}

// find describes a metric; every name in this package is in the catalogue.
func find(name string) Metric {
	return catalogue[slices.IndexFunc(catalogue, func(m Metric) bool { return m.Name == name })]
}

func gaugeVec(r *prometheus.Registry, name string) *prometheus.GaugeVec {
	m := find(name)
	vec := prometheus.NewGaugeVec(prometheus.GaugeOpts{Name: m.Name, Help: m.Help}, m.Labels)
	r.MustRegister(vec)
	return vec
}

func desc(name string) *prometheus.Desc {
	m := find(name)
	return prometheus.NewDesc(m.Name, m.Help, m.Labels, nil)
}
