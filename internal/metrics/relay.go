package metrics

import "github.com/prometheus/client_golang/prometheus"

// Relay counts what package ingest hands to Temporal.
type Relay struct{ sent, failed, dropped map[string]prometheus.Counter }

func newRelay(r *prometheus.Registry) *Relay {
	return &Relay{
		sent: byWhat(counterVec(r, RelaySent)), failed: byWhat(counterVec(r, RelayFailures), "store"),
		dropped: byWhat(counterVec(r, RelayDropped)),
	}
}

func byWhat(vec *prometheus.CounterVec, more ...string) map[string]prometheus.Counter {
	found := map[string]prometheus.Counter{}
	for _, what := range append([]string{"start", "command", "admitted", "digest"}, more...) {
		found[what] = vec.WithLabelValues(what)
	}
	return found
}

// Sent counts one thing that was handed over: start, command, admitted, digest.
func (r *Relay) Sent(what string) { count(r.sent, what) }

// Failed counts a try that came to nothing; what may be store, too.
func (r *Relay) Failed(what string) { count(r.failed, what) }

// Dropped counts what was given up.
func (r *Relay) Dropped(what string) { count(r.dropped, what) }

// count ignores words that no label has.
func count(known map[string]prometheus.Counter, what string) {
	if c, ok := known[what]; ok {
		c.Inc()
	}
}
