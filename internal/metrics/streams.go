package metrics

import "github.com/prometheus/client_golang/prometheus"

// Streams shows how many streams are open.
type Streams struct{ open *prometheus.GaugeVec }

func newStreams(r *prometheus.Registry) *Streams {
	s := &Streams{open: gaugeVec(r, StreamsOpen)}
	for _, kind := range []string{"sandbox", "task", "websocket"} {
		s.open.WithLabelValues(kind) // shown as none before the first
	}
	return s
}

// Stream counts one that has opened; ended is called once at its end.
func (s *Streams) Stream(kind string) (ended func()) {
	gauge := s.open.WithLabelValues(kind)
	gauge.Inc()
	return gauge.Dec
}
