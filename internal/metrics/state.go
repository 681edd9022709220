package metrics

import (
	"context"
	"log/slog"
	"sync"
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/omoi-dev/omoi/internal/postgres"
)

// CacheTTL is how long numbers from the database are served before they are read again: Prometheus scrapes each 15 s or
// more, and several scrapers share one read.
const CacheTTL = 5 * time.Second

// Show adds the gauges that are read at a scrape: state comes from the database, at most
// once in fresh for all scrapes together; pool costs nothing. It is called once.
func (m *Metrics) Show(state func(context.Context) (postgres.State, error), pool func() postgres.PoolUse, fresh time.Duration) {
	m.registry.MustRegister(&stateCollector{read: state, fresh: fresh, log: m.log}, poolCollector{pool})
}

// stateCollector remembers what it read last.
type stateCollector struct {
	read  func(context.Context) (postgres.State, error)
	fresh time.Duration
	log   *slog.Logger

	mu   sync.Mutex
	at   time.Time
	last postgres.State
	err  error
}

// Describe implements [prometheus.Collector] for metrics that nobody else registers.
func (*stateCollector) Describe(chan<- *prometheus.Desc) {}

func (c *stateCollector) Collect(out chan<- prometheus.Metric) {
	s, err := c.state()
	if err != nil {
		out <- gauge(CollectionFailed, 1)
		return
	}
	out <- gauge(CollectionFailed, 0)
	for name, byLabel := range map[string]map[string]int64{Tasks: s.Tasks, Sandboxes: s.Alive, SandboxesUnverified: s.Unverified, CheckpointBytes: s.PackBytes} {
		for label, n := range byLabel {
			out <- gauge(name, float64(n), label)
		}
	}
	out <- gauge(TasksQueued, float64(s.Waiting))
	out <- gauge(SlotsUsed, float64(s.Slots))
	out <- gauge(RelayLag, s.RelayLag.Seconds())
	out <- gauge(RelayEventLag, s.EventLag.Seconds())
	out <- gauge(CheckpointAge, s.Checkpoints.Seconds())
	for component, name := range map[string]string{"reaper": ReaperSuccess, "guardian": GuardianSuccess, "conductor": ConductorSuccess} {
		if at, ran := s.LastSuccess[component]; ran {
			out <- gauge(name, float64(at.UnixMilli())/1000)
		}
	}
}

// state reads again once what is remembered is old; who scrapes meanwhile waits for it.
func (c *stateCollector) state() (postgres.State, error) {
	const longest = 5 * time.Second
	c.mu.Lock()
	defer c.mu.Unlock()
	if time.Since(c.at) < c.fresh {
		return c.last, c.err
	}
	ctx, cancel := context.WithTimeout(context.Background(), longest) // a scrape gives collectors no context
	defer cancel()
	if c.last, c.err = c.read(ctx); c.err != nil {
		c.log.WarnContext(ctx, "collect metrics failed", slog.String("error", c.err.Error()))
	}
	c.at = time.Now()
	return c.last, c.err
}

func gauge(name string, value float64, labels ...string) prometheus.Metric {
	return prometheus.MustNewConstMetric(desc(name), prometheus.GaugeValue, value, labels...)
}

// poolCollector shows the pool as it is.
type poolCollector struct{ read func() postgres.PoolUse }

// Describe implements [prometheus.Collector] as above.
func (poolCollector) Describe(chan<- *prometheus.Desc) {}

func (c poolCollector) Collect(out chan<- prometheus.Metric) {
	p := c.read()
	out <- gauge(PoolConnections, float64(p.Used), "used")
	out <- gauge(PoolConnections, float64(p.Idle), "idle")
	out <- gauge(PoolMax, float64(p.Max))
	full := 0.0
	if p.DiskFull {
		full = 1
	}
	out <- gauge(DiskFull, full)
	for name, n := range map[string]float64{PoolAcquires: float64(p.Acquires), PoolWaits: float64(p.Waits), PoolWaited: p.Waited.Seconds()} {
		out <- prometheus.MustNewConstMetric(desc(name), prometheus.CounterValue, n)
	}
}
