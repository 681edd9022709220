package metrics

import (
	"time"

	"github.com/prometheus/client_golang/prometheus"
)

// Intake counts what package ingest takes in.
type Intake struct {
	registry          *prometheus.Registry
	stored, duplicate prometheus.Counter
	batches           prometheus.Counter
	size, took, wait  prometheus.Observer
	turnedAway, lost  prometheus.Counter
}

func newIntake(r *prometheus.Registry) *Intake {
	const most = 4096
	sizes := prometheus.ExponentialBuckets(1, 2, 10) //nolint:mnd // 1 to 512
	refused := counterVec(r, EventsRejected)
	return &Intake{
		registry: r,
		stored:   counterVec(r, EventsStored).WithLabelValues(), duplicate: counterVec(r, EventsDeduplicated).WithLabelValues(),
		batches:    counterVec(r, EventBatches).WithLabelValues(),
		size:       histogramVec(r, EventBatchSize, append(sizes, most)).WithLabelValues(),
		took:       histogramVec(r, EventCommits, durations()).WithLabelValues(),
		wait:       histogramVec(r, IngestWait, durations()).WithLabelValues(),
		turnedAway: refused.WithLabelValues("queue"), lost: refused.WithLabelValues("store"),
	}
}

// Committed counts one transaction.
func (i *Intake) Committed(requests, stored, duplicates int, took time.Duration) {
	i.batches.Inc()
	i.size.Observe(float64(requests))
	i.took.Observe(took.Seconds())
	i.stored.Add(float64(stored))
	if duplicates > 0 {
		i.duplicate.Add(float64(duplicates))
	}
}

// Waited counts how long one request waited for its commit.
func (i *Intake) Waited(d time.Duration) { i.wait.Observe(d.Seconds()) }

// TurnedAway counts a request that found the queue full, or the server stopping.
func (i *Intake) TurnedAway() { i.turnedAway.Inc() }

// Lost counts requests whose transaction failed.
func (i *Intake) Lost(requests int) { i.lost.Add(float64(requests)) }

// Queue shows what waits; length is asked at every scrape. It is called once.
func (i *Intake) Queue(length func() int) {
	m := find(IngestQueue)
	i.registry.MustRegister(prometheus.NewGaugeFunc(prometheus.GaugeOpts{Name: m.Name, Help: m.Help},
		func() float64 { return float64(length()) }))
}
