package metrics

import "github.com/prometheus/client_golang/prometheus"

// Hooks counts webhooks.
type Hooks struct{ taken *prometheus.CounterVec }

func newHooks(r *prometheus.Registry) *Hooks { return &Hooks{taken: counterVec(r, GitHubWebhooks)} }

// Webhook counts one by its event and what became of it.
func (h *Hooks) Webhook(event, outcome string) { h.taken.WithLabelValues(event, outcome).Inc() }
