package metrics

import (
	"net/http"
	"strconv"
	"time"

	"github.com/prometheus/client_golang/prometheus"
)

// HTTP counts requests.
type HTTP struct{ took *prometheus.HistogramVec }

func newHTTP(r *prometheus.Registry) *HTTP {
	return &HTTP{took: histogramVec(r, HTTPRequests, durations())}
}

// Route answers what counts the requests of one route, given as its pattern. It looks
// everything up now, so that counting does not.
func (h *HTTP) Route(method, pattern string) func(status int, took time.Duration) {
	const classes = 5
	var found [classes]prometheus.Observer
	for n := range found {
		found[n] = h.took.WithLabelValues(method, pattern, strconv.Itoa(n+1)+"xx")
	}
	return func(status int, took time.Duration) {
		class := status / 100 //nolint:mnd // 2xx
		if class < 1 || class > classes {
			class = http.StatusInternalServerError / 100 //nolint:mnd // an answer without a status
		}
		found[class-1].Observe(took.Seconds())
	}
}
