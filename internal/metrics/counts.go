package metrics

import (
	"net/http"
	"strconv"
	"sync"
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/omoi-dev/omoi/internal/guardian"
	"github.com/omoi-dev/omoi/internal/postgres"
	"github.com/omoi-dev/omoi/internal/task"
)

// counts are the metrics that move as something happens, by name.
type counts struct {
	counters   map[string]*prometheus.CounterVec
	histograms map[string]*prometheus.HistogramVec
	streams    *prometheus.GaugeVec
}

func newCounts(r *prometheus.Registry) counts {
	c := counts{counters: map[string]*prometheus.CounterVec{}, histograms: map[string]*prometheus.HistogramVec{}, streams: gaugeVec(r, StreamsOpen)}
	for _, name := range []string{
		GitHubWebhooks, EventsStored, EventsDeduplicated, EventBatches, EventsRejected, CheckpointsStored, CheckpointPackBytes, CheckpointFailures, CheckpointScanned, RelaySent, RelayFailures, RelayDropped, TaskCompletions, AttemptsStarted,
		AttemptsEnded, ActivitiesCut, GuardianAnalyses, Interventions, ConductorAnalyses, ConductorLinks,
	} {
		m := find(name)
		c.counters[name] = prometheus.NewCounterVec(prometheus.CounterOpts{Name: m.Name, Help: m.Help}, m.Labels)
		r.MustRegister(c.counters[name])
	}
	sizes := append(prometheus.ExponentialBuckets(1, 2, 10), 4096) //nolint:mnd // 1 to 512, and the longest queue
	for name, buckets := range map[string][]float64{HTTPRequests: durations(), EventBatchSize: sizes, EventCommits: durations(), IngestWait: durations()} {
		m := find(name)
		c.histograms[name] = prometheus.NewHistogramVec(prometheus.HistogramOpts{Name: m.Name, Help: m.Help, Buckets: buckets}, m.Labels)
		r.MustRegister(c.histograms[name])
	}
	c.begin()
	return c
}

// begin shows what has not happened yet as 0, since a rate needs a beginning.
func (c counts) begin() {
	for _, name := range []string{EventsStored, EventsDeduplicated, EventBatches, CheckpointsStored, CheckpointPackBytes, CheckpointScanned} {
		c.add(name, 0)
	}
	for _, name := range []string{EventBatchSize, EventCommits, IngestWait} {
		c.histograms[name].WithLabelValues()
	}
	for _, reason := range postgres.CheckpointFailures() {
		c.add(CheckpointFailures, 0, reason)
	}
	for _, reason := range []string{"queue", "store"} {
		c.add(EventsRejected, 0, reason)
	}
	for _, what := range []string{"start", "command", "admitted", "digest"} {
		c.add(RelaySent, 0, what)
		c.add(RelayFailures, 0, what)
		c.add(RelayDropped, 0, what)
	}
	c.add(RelayFailures, 0, "store")
	for _, status := range []task.Status{task.StatusCompleted, task.StatusCancelled} {
		c.add(TaskCompletions, 0, string(status), "")
	}
	for _, kind := range []string{"sandbox", "task", "tasks", "websocket"} {
		c.streams.WithLabelValues(kind)
	}
}

func (c counts) add(name string, n int, labels ...string) {
	c.counters[name].WithLabelValues(labels...).Add(float64(n))
}

// Route returns the function that counts the requests of one route, given as its pattern. Each class of
// status is looked up once, at its first request: a series for all that never happens would
// be thousands.
func (c counts) Route(method, pattern string) func(status int, took time.Duration) {
	const classes = 5
	var found [classes]func() prometheus.Observer
	for n := range found {
		found[n] = sync.OnceValue(func() prometheus.Observer {
			return c.histograms[HTTPRequests].WithLabelValues(method, pattern, strconv.Itoa(n+1)+"xx")
		})
	}
	return func(status int, took time.Duration) {
		class := status / 100 //nolint:mnd // 2xx
		if class < 1 || class > classes {
			class = http.StatusInternalServerError / 100 //nolint:mnd // an answer without a status
		}
		found[class-1]().Observe(took.Seconds())
	}
}

// Stream counts one that has opened; ended is called once at its end.
func (c counts) Stream(kind string) (ended func()) {
	gauge := c.streams.WithLabelValues(kind)
	gauge.Inc()
	return gauge.Dec
}

// Webhook counts one by its event and what became of it.
func (c counts) Webhook(event, outcome string) { c.add(GitHubWebhooks, 1, event, outcome) }

// Committed counts one transaction of ingest.
func (c counts) Committed(requests, stored, duplicates int, took time.Duration) {
	c.add(EventBatches, 1)
	c.histograms[EventBatchSize].WithLabelValues().Observe(float64(requests))
	c.histograms[EventCommits].WithLabelValues().Observe(took.Seconds())
	c.add(EventsStored, stored)
	c.add(EventsDeduplicated, duplicates)
}

// Waited counts how long one request waited for its commit.
func (c counts) Waited(d time.Duration) {
	c.histograms[IngestWait].WithLabelValues().Observe(d.Seconds())
}

// TurnedAway counts a request that found the queue full, or the server stopping.
func (c counts) TurnedAway() { c.add(EventsRejected, 1, "queue") }

// Lost counts requests whose transaction failed.
func (c counts) Lost(requests int) { c.add(EventsRejected, requests, "store") }

// CheckpointStored counts a checkpoint by its pack and by the changes that only a scan found.
func (c counts) CheckpointStored(packBytes, foundByScan int64) {
	c.add(CheckpointsStored, 1)
	c.add(CheckpointPackBytes, int(packBytes))
	c.add(CheckpointScanned, int(foundByScan))
}

// CheckpointFailed counts a failure with a checkpoint.
func (c counts) CheckpointFailed(reason string) { c.add(CheckpointFailures, 1, reason) }

// Sent counts one message of the relay: start, command, admitted, digest.
func (c counts) Sent(what string) { c.add(RelaySent, 1, what) }

// Failed counts a failed try of the relay; what may be store, too.
func (c counts) Failed(what string) { c.add(RelayFailures, 1, what) }

// Dropped counts what the relay gave up.
func (c counts) Dropped(what string) { c.add(RelayDropped, 1, what) }

// TaskEnded counts the end of a task; class is empty but for a failed one.
func (c counts) TaskEnded(outcome task.Status, class task.FailureClass) {
	if outcome != task.StatusFailed {
		class = task.ClassNone
	}
	c.add(TaskCompletions, 1, string(outcome), string(class))
}

// AttemptBegun counts the begin of an attempt.
func (c counts) AttemptBegun(kind string) { c.add(AttemptsStarted, 1, kind) }

// AttemptEnded counts the end of an attempt.
func (c counts) AttemptEnded(outcome string, class task.FailureClass) {
	c.add(AttemptsEnded, 1, outcome, string(class))
}

// ActivityCutOff counts an activity that was cancelled because Temporal did not answer its heartbeat, or had timed the activity out.
func (c counts) ActivityCutOff(activity string) { c.add(ActivitiesCut, 1, activity) }

// Judged counts an analysis of the guardian.
func (c counts) Judged(verdict, spokenBy string) { c.add(GuardianAnalyses, 1, verdict, spokenBy) }

// Intervened counts a step of the guardian, also one of which nobody is told.
func (c counts) Intervened(level guardian.Level, shadow bool) {
	mode := "live"
	if shadow {
		mode = "shadow"
	}
	c.add(Interventions, 1, string(level), mode)
}

// Conducted counts an analysis of an organization.
func (c counts) Conducted(status string) { c.add(ConductorAnalyses, 1, status) }

// Linked counts a pair of similar tasks.
func (c counts) Linked(source string) { c.add(ConductorLinks, 1, source) }
