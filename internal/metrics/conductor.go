package metrics

import "github.com/prometheus/client_golang/prometheus"

// ConductorCounts counts what the conductor found.
type ConductorCounts struct{ looked, links *prometheus.CounterVec }

func newConductorCounts(r *prometheus.Registry) *ConductorCounts {
	return &ConductorCounts{looked: counterVec(r, ConductorAnalyses), links: counterVec(r, ConductorLinks)}
}

// Conducted counts a look at an organization.
func (c *ConductorCounts) Conducted(status string) { c.looked.WithLabelValues(status).Inc() }

// Linked counts a pair.
func (c *ConductorCounts) Linked(spokenBy string) { c.links.WithLabelValues(spokenBy).Inc() }
