package metrics_test

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/prometheus/client_golang/prometheus/testutil/promlint"
	dto "github.com/prometheus/client_model/go"
	"github.com/prometheus/common/expfmt"
	"github.com/prometheus/common/model"
	"github.com/stretchr/testify/require"

	"github.com/omoi-dev/omoi/internal/guardian"
	"github.com/omoi-dev/omoi/internal/metrics"
	"github.com/omoi-dev/omoi/internal/postgres"
	"github.com/omoi-dev/omoi/internal/task"
)

// scrape answers what a handler shows, by name.
func scrape(t *testing.T, h http.Handler) map[string]*dto.MetricFamily {
	t.Helper()
	rec := httptest.NewRecorder()
	h.ServeHTTP(rec, httptest.NewRequest(http.MethodGet, "/metrics", http.NoBody))
	require.Equal(t, http.StatusOK, rec.Code)
	parser := expfmt.NewTextParser(model.UTF8Validation)
	found, err := parser.TextToMetricFamilies(rec.Body)
	require.NoError(t, err)
	return found
}

func make1(t *testing.T) *metrics.Metrics {
	t.Helper()
	m, err := metrics.New("v1", slog.New(slog.DiscardHandler))
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, m.Close(context.Background())) })
	return m
}

// touched is a process in which everything has happened once.
func touched(t *testing.T) *metrics.Metrics {
	t.Helper()
	m := make1(t)
	m.Route(http.MethodGet, "/a/{id}")(http.StatusOK, time.Millisecond)
	m.Webhook("check_run", "pending")
	m.Queue(func() int { return 3 })
	m.AttemptBegun("first")
	m.ActivityCutOff("StartAgent")
	m.AttemptEnded("failed", task.ClassInfrastructure)
	m.Judged("unknown", "none")
	m.Intervened(guardian.LevelNudge, true)
	m.Conducted("unknown")
	m.Linked("text")
	m.Show(func(context.Context) (postgres.State, error) {
		return postgres.State{
			Tasks: map[string]int64{"running": 2}, Alive: map[string]int64{"local": 2}, Unverified: map[string]int64{"local": 1},
			PackBytes: map[string]int64{"database": 8192, "objects": 4800, "unreadable": 0}, Checkpoints: 9 * time.Second,
			LastSuccess: map[string]time.Time{"reaper": time.Unix(1700000000, 5e8), "guardian": time.Now(), "conductor": time.Now()}, RelayLag: time.Second,
		}, nil
	}, func() postgres.PoolUse { return postgres.PoolUse{Used: 1, Idle: 2, Max: 16, Waited: time.Second} }, time.Minute)
	return m
}

// What is shown is what the catalogue and the documentation say, no more and no less.
func TestCatalogueIsWhatIsShown(t *testing.T) {
	t.Parallel()
	shown := scrape(t, touched(t).Handler())
	var known []string
	for _, m := range metrics.Catalogue() {
		known = append(known, m.Name)
		family := shown[m.Name]
		require.NotNil(t, family, "%s is not shown", m.Name)
		require.Equal(t, m.Type, strings.ToLower(family.GetType().String()), m.Name)
		require.Equal(t, m.Help, family.GetHelp())
		var labels []string
		for _, l := range family.GetMetric()[0].GetLabel() {
			labels = append(labels, l.GetName())
		}
		want := slices.Sorted(slices.Values(m.Labels))
		require.Equal(t, want, slices.Sorted(slices.Values(labels)), m.Name)
	}
	for name := range shown {
		if strings.HasPrefix(name, "omoi_") {
			require.Contains(t, known, name, "it is not in the catalogue")
		}
	}
}

func TestState_ShowsTheTimeOfTheLastSuccess(t *testing.T) {
	t.Parallel()
	shown := scrape(t, touched(t).Handler())
	require.InDelta(t, 1700000000.5, value(t, shown, metrics.ReaperSuccess), 0.001)
}

func TestCheckpoints(t *testing.T) {
	t.Parallel()
	m := touched(t)
	require.Len(t, scrape(t, m.Handler())[metrics.CheckpointFailures].GetMetric(), len(postgres.CheckpointFailures()), "a rate needs a beginning")
	m.CheckpointStored(100, 3)
	m.CheckpointFailed(postgres.PackNotMoved)
	shown := scrape(t, m.Handler())
	require.InDelta(t, 100, value(t, shown, metrics.CheckpointPackBytes), 0)
	require.InDelta(t, 3, value(t, shown, metrics.CheckpointScanned), 0)
	require.InDelta(t, 9, value(t, shown, metrics.CheckpointAge), 0)
	for _, one := range shown[metrics.CheckpointFailures].GetMetric() {
		failed := one.GetLabel()[0].GetValue() == postgres.PackNotMoved
		require.Equal(t, failed, one.GetCounter().GetValue() == 1, one)
	}
	require.Len(t, shown[metrics.CheckpointBytes].GetMetric(), 3)
}

// The names follow Prometheus' own rules.
func TestNamesAreGood(t *testing.T) {
	t.Parallel()
	rec := httptest.NewRecorder()
	touched(t).Handler().ServeHTTP(rec, httptest.NewRequest(http.MethodGet, "/metrics", http.NoBody))
	problems, err := promlint.New(rec.Body).Lint()
	require.NoError(t, err)
	problems = slices.DeleteFunc(problems, func(p promlint.Problem) bool { return !strings.HasPrefix(p.Metric, "omoi_") })
	require.Empty(t, problems)
}

func TestDocumentationIsCurrent(t *testing.T) {
	t.Parallel()
	const begin, end = "<!-- names -->\n", "<!-- /names -->"
	path := filepath.Join("..", "..", "docs", "METRICS.md")
	content, err := os.ReadFile(path)
	require.NoError(t, err)
	before, rest, found := strings.Cut(string(content), begin)
	require.True(t, found)
	_, after, found := strings.Cut(rest, end)
	require.True(t, found)
	want := before + begin + table() + end + after
	if os.Getenv("OMOI_TEST_UPDATE") != "" {
		require.NoError(t, os.WriteFile(path, []byte(want), 0o644))
		return
	}
	require.Equal(t, want, string(content), "run make generate")
}

// table is what the document shows.
func table() string {
	var b strings.Builder
	b.WriteString("| name | type | labels | moves in | meaning |\n|---|---|---|---|---|\n")
	for _, m := range metrics.Catalogue() {
		labels := make([]string, 0, len(m.Labels))
		for _, l := range m.Labels {
			labels = append(labels, "`"+l+"`")
		}
		fmt.Fprintf(&b, "| `%s` | %s | %s | %s | %s |\n", m.Name, m.Type, strings.Join(labels, ", "), m.From, m.Help)
	}
	return b.String()
}

func TestCountsLandWhereTheyBelong(t *testing.T) {
	t.Parallel()
	m := make1(t)
	m.TaskEnded(task.StatusFailed, task.ClassPublish)
	m.TaskEnded(task.StatusCancelled, task.ClassStopped) // a class is of failures
	m.Committed(2, 5, 1, time.Millisecond)
	m.Sent("digest")
	m.Route(http.MethodPost, "/b")(http.StatusNotFound, time.Second)
	shown := scrape(t, m.Handler())
	require.InDelta(t, 1, value(t, shown, metrics.TaskCompletions, "failed", "publish"), 0)
	require.InDelta(t, 1, value(t, shown, metrics.TaskCompletions, "cancelled", ""), 0)
	require.InDelta(t, 0, value(t, shown, metrics.TaskCompletions, "completed", ""), 0)
	require.InDelta(t, 5, value(t, shown, metrics.EventsStored), 0)
	require.InDelta(t, 1, value(t, shown, metrics.EventsDeduplicated), 0)
	require.InDelta(t, 1, value(t, shown, metrics.RelaySent, "digest"), 0)
	require.Len(t, shown[metrics.RelaySent].GetMetric(), 4)
	require.InDelta(t, 1, value(t, shown, metrics.HTTPRequests, "/b", "4xx"), 0)
}

// value is that of the series which has all of the labels' values.
func value(t *testing.T, shown map[string]*dto.MetricFamily, name string, labels ...string) float64 {
	t.Helper()
	for _, m := range shown[name].GetMetric() {
		var have []string
		for _, l := range m.GetLabel() {
			have = append(have, l.GetValue())
		}
		if !slices.ContainsFunc(labels, func(want string) bool { return !slices.Contains(have, want) }) {
			return m.GetCounter().GetValue() + m.GetGauge().GetValue() + float64(m.GetHistogram().GetSampleCount())
		}
	}
	require.Failf(t, "no such series", "%s %v", name, labels)
	return 0
}

// The database is asked once for many scrapes, and its failure is shown and hides nothing else.
func TestStateIsReadSeldom(t *testing.T) {
	t.Parallel()
	m := make1(t)
	reads := 0
	m.Show(func(context.Context) (postgres.State, error) {
		reads++
		return postgres.State{}, errors.New("no database")
	}, func() postgres.PoolUse { return postgres.PoolUse{} }, time.Hour)
	for range 3 {
		shown := scrape(t, m.Handler())
		require.InDelta(t, 1, value(t, shown, metrics.CollectionFailed), 0)
		require.NotContains(t, shown, metrics.Tasks)
		require.Contains(t, shown, metrics.EventsStored)
	}
	require.Equal(t, 1, reads)
}

// The SDK counts into the same registry, under names that dashboards know.
func TestSDKCountsToo(t *testing.T) {
	t.Parallel()
	m := make1(t)
	h := m.SDK().WithTags(map[string]string{"operation": "StartWorkflowExecution"})
	h.Counter("temporal_request").Inc(2)
	h.Timer("temporal_request_latency").Record(3 * time.Millisecond)
	shown := scrape(t, m.Handler())
	require.InDelta(t, 2, value(t, shown, "temporal_request_total", "StartWorkflowExecution"), 0)
	require.Contains(t, shown, "temporal_request_latency_seconds")
	buckets := shown["temporal_request_latency_seconds"].GetMetric()[0].GetHistogram().GetBucket()
	require.InDelta(t, 0.0005, buckets[0].GetUpperBound(), 1e-9, "buckets are of seconds")
}

func BenchmarkCounting(b *testing.B) {
	m, err := metrics.New("v1", slog.New(slog.DiscardHandler))
	require.NoError(b, err)
	count := m.Route(http.MethodPost, "/events")
	b.ReportAllocs()
	for b.Loop() { // what one event post costs
		count(http.StatusOK, time.Millisecond)
		m.Waited(time.Millisecond)
		m.Committed(1, 1, 0, time.Millisecond)
	}
}
