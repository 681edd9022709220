package metrics

import (
	"github.com/prometheus/client_golang/prometheus"

	"github.com/omoi-dev/omoi/internal/task"
)

// GuardianCounts counts what the guardian thought and decided.
type GuardianCounts struct{ judged, steps *prometheus.CounterVec }

func newGuardianCounts(r *prometheus.Registry) *GuardianCounts {
	return &GuardianCounts{judged: counterVec(r, GuardianAnalyses), steps: counterVec(r, Interventions)}
}

// Judged counts a judgement.
func (g *GuardianCounts) Judged(verdict, spokenBy string) {
	g.judged.WithLabelValues(verdict, spokenBy).Inc()
}

// Intervened counts a step, also one of which nobody is told.
func (g *GuardianCounts) Intervened(level task.Level, shadow bool) {
	mode := "live"
	if shadow {
		mode = "shadow"
	}
	g.steps.WithLabelValues(string(level), mode).Inc()
}
