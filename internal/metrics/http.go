package metrics

import (
	"net/http"
	"strconv"
	"sync"
	"time"

	"github.com/prometheus/client_golang/prometheus"
)

// HTTP counts requests.
type HTTP struct{ took *prometheus.HistogramVec }

func newHTTP(r *prometheus.Registry) *HTTP {
	return &HTTP{took: histogramVec(r, HTTPRequests, durations())}
}

// Route answers what counts the requests of one route, given as its pattern. Each class of
// status is looked up once, at its first request: a series for all that never happens would
// be thousands.
func (h *HTTP) Route(method, pattern string) func(status int, took time.Duration) {
	const classes = 5
	var found [classes]func() prometheus.Observer
	for n := range found {
		found[n] = sync.OnceValue(func() prometheus.Observer {
			return h.took.WithLabelValues(method, pattern, strconv.Itoa(n+1)+"xx")
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
