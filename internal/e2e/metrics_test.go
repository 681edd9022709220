package e2e_test

import (
	"bytes"
	"compress/gzip"
	"context"
	"encoding/hex"
	"io"
	"log/slog"
	"maps"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"

	dto "github.com/prometheus/client_model/go"
	"github.com/prometheus/common/expfmt"
	"github.com/prometheus/common/model"
	"github.com/stretchr/testify/require"
	collector "go.opentelemetry.io/proto/otlp/collector/trace/v1"
	tracev1 "go.opentelemetry.io/proto/otlp/trace/v1"
	"go.temporal.io/sdk/log"
	"go.temporal.io/sdk/worker"
	"go.temporal.io/sdk/workflow"
	"google.golang.org/protobuf/proto"

	"github.com/omoi-dev/omoi/internal/contract"
	"github.com/omoi-dev/omoi/internal/metrics"
	"github.com/omoi-dev/omoi/internal/task"
	"github.com/omoi-dev/omoi/workflows"
)

// shown is what a /metrics answers, by name.
type shown map[string]*dto.MetricFamily

// scrape asks for /metrics; the process may still be starting.
func (r *rig) scrape(url string) shown {
	r.t.Helper()
	var found shown
	r.eventually(url+" answers", func() bool {
		request, err := http.NewRequestWithContext(context.Background(), http.MethodGet, url+"/metrics", http.NoBody)
		require.NoError(r.t, err)
		response, err := http.DefaultClient.Do(request)
		if err != nil {
			return false
		}
		defer response.Body.Close()
		require.Equal(r.t, http.StatusOK, response.StatusCode)
		parser := expfmt.NewTextParser(model.UTF8Validation)
		found, err = parser.TextToMetricFamilies(response.Body)
		return err == nil
	})
	return found
}

// sum adds up the series of a name that have all of the labels' values.
func (s shown) sum(name string, labels ...string) float64 {
	var total float64
	for _, m := range s[name].GetMetric() {
		var have []string
		for _, l := range m.GetLabel() {
			have = append(have, l.GetValue())
		}
		if !slices.ContainsFunc(labels, func(want string) bool { return !slices.Contains(have, want) }) {
			total += m.GetCounter().GetValue() + m.GetGauge().GetValue() + float64(m.GetHistogram().GetSampleCount())
		}
	}
	return total
}

// A real task that fails once and a task that fails for good are seen in the numbers of API
// and worker, and nothing that names them is.
func TestMetricsAfterRealTasks(t *testing.T) {
	t.Parallel()
	address := "127.0.0.1:" + strconv.Itoa(freePort(t))
	r := newRig(t, map[string]string{"OMOI_TEST_METRICS_CACHE_TTL": "1ns"})
	r.startAPI()
	r.start("worker", map[string]string{"OMOI_METRICS_ADDRESS": address}, "worker")
	api, other := r.env["OMOI_API_URL"], "http://"+address
	before := r.scrape(api)
	require.Zero(t, before.sum(metrics.EventsStored))
	repo := r.repo()
	good := r.submit(repo, script(stepWrite, stepCommit, `{"bash":{"command":"test -f once || { touch once; git add once; git commit -qm once; kill -9 $PPID; }"}}`, stepComplete))
	bad := r.submit(repo, script(`{"fail":"the test says so"}`), retries(0))
	r.ends(good.ID, task.StatusCompleted)
	class := string(r.ends(bad.ID, task.StatusFailed).FailureClass)
	r.noLeaks()

	seen := r.scrape(api)
	events := r.count(`SELECT count(*) FROM sandbox_events`)
	require.InDelta(t, events, seen.sum(metrics.EventsStored), 0, "every stored event is counted, each once")
	require.Positive(t, seen.sum(metrics.EventBatches))
	require.Positive(t, seen.sum(metrics.IngestWait))
	require.InDelta(t, 2, seen.sum(metrics.HTTPRequests, "POST", "/api/v1/tasks", "2xx"), 0)
	require.Positive(t, seen.sum(metrics.HTTPRequests, "POST", "/api/v1/sandboxes/{sandbox_id}/events/batch", "2xx"))
	require.InDelta(t, 2, seen.sum(metrics.RelaySent, "start"), 0)
	require.Positive(t, seen.sum(metrics.RelaySent, "digest"))
	require.Zero(t, seen.sum(metrics.Tasks))
	require.Zero(t, seen.sum(metrics.SlotsUsed))
	require.Zero(t, seen.sum(metrics.Sandboxes)+seen.sum(metrics.SandboxesUnverified))
	require.Positive(t, seen.sum(metrics.PoolAcquires))
	require.Positive(t, seen.sum("temporal_request_total", "StartWorkflowExecution"))

	work := r.scrape(other)
	require.InDelta(t, 1, work.sum(metrics.TaskCompletions, "completed", ""), 0)
	require.InDelta(t, 1, work.sum(metrics.TaskCompletions, "failed", class), 0)
	require.InDelta(t, 3, work.sum(metrics.AttemptsStarted), 0)
	require.InDelta(t, 1, work.sum(metrics.AttemptsEnded, string(task.ClassInfrastructure)), 0)
	require.Positive(t, work.sum("temporal_activity_execution_latency_seconds", "EnsureSandbox"))
	require.Contains(t, work, metrics.ReaperSuccess, "the reaper has run")
	for _, s := range []shown{seen, work} {
		for name, family := range s {
			require.NotContains(t, family.String(), good.ID, name)
			require.NotContains(t, family.String(), repo, name)
		}
	}
}

// A closed API shows its numbers to keys with the scope admin only.
func TestMetricsNeedAKey(t *testing.T) {
	t.Parallel()
	key := "omoi_0123456789abcdef0123456789abcdef"
	r := newRig(t, map[string]string{"OMOI_API_AUTH_DISABLED": "false", "OMOI_API_KEY": key})
	r.startAPI()
	for credential, want := range map[string]int{"": http.StatusUnauthorized, "wrong": http.StatusUnauthorized, key: http.StatusOK} {
		request, err := http.NewRequestWithContext(context.Background(), http.MethodGet, r.env["OMOI_API_URL"]+"/metrics", http.NoBody)
		require.NoError(t, err)
		if credential != "" {
			request.Header.Set("Authorization", "Bearer "+credential)
		}
		response, err := http.DefaultClient.Do(request)
		require.NoError(t, err)
		require.NoError(t, response.Body.Close())
		require.Equal(t, want, response.StatusCode, credential)
	}
}

// receiver is a collector of traces.
type receiver struct {
	t       *testing.T
	mu      sync.Mutex
	spans   []*tracev1.Span
	raw     bytes.Buffer
	headers http.Header
}

// ServeHTTP takes one export.
func (c *receiver) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	body := io.Reader(r.Body)
	if r.Header.Get("Content-Encoding") == "gzip" {
		unpacked, err := gzip.NewReader(r.Body)
		if err != nil {
			w.WriteHeader(http.StatusBadRequest)
			return
		}
		body = unpacked
	}
	content, err := io.ReadAll(body)
	var in collector.ExportTraceServiceRequest
	if err != nil || r.URL.Path != "/v1/traces" || proto.Unmarshal(content, &in) != nil {
		w.WriteHeader(http.StatusBadRequest)
		return
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	c.headers = r.Header.Clone()
	c.raw.Write(content)
	for _, resource := range in.GetResourceSpans() {
		for _, scope := range resource.GetScopeSpans() {
			c.spans = append(c.spans, scope.GetSpans()...)
		}
	}
}

// traces are the names of the spans of every trace.
func (c *receiver) traces() map[string][]string {
	c.mu.Lock()
	defer c.mu.Unlock()
	found := map[string][]string{}
	for _, s := range c.spans {
		id := hex.EncodeToString(s.GetTraceId())
		found[id] = append(found[id], s.GetName())
	}
	return found
}

// orphans are spans of a trace whose parent never came.
func (c *receiver) orphans(trace string) (names []string) {
	c.mu.Lock()
	defer c.mu.Unlock()
	known := map[string]bool{}
	for _, s := range c.spans {
		known[string(s.GetSpanId())] = true
	}
	for _, s := range c.spans {
		if hex.EncodeToString(s.GetTraceId()) == trace && len(s.GetParentSpanId()) > 0 && !known[string(s.GetParentSpanId())] {
			names = append(names, s.GetName())
		}
	}
	return names
}

// traceOf finds the trace that has a span of every name.
func (c *receiver) traceOf(want ...string) string {
	traces := c.traces()
	for _, id := range slices.Sorted(maps.Keys(traces)) {
		if !slices.ContainsFunc(want, func(name string) bool { return !slices.Contains(traces[id], name) }) {
			return id
		}
	}
	return ""
}

// One trace goes from the request through the store and the relay to workflow, child and
// activities, over two processes; no text that a person wrote goes with it.
func TestOneTraceFromRequestToActivity(t *testing.T) {
	t.Parallel()
	c := &receiver{t: t}
	server := httptest.NewServer(c)
	t.Cleanup(server.Close)
	r := newRig(t, map[string]string{
		"OTEL_EXPORTER_OTLP_ENDPOINT": server.URL, "OTEL_EXPORTER_OTLP_HEADERS": "x-tenant=omoi", "OTEL_BSP_SCHEDULE_DELAY": "100",
	}).up()
	made := r.submit(r.repo(), script(stepWrite, stepCommit, stepComplete))
	failed := r.submit(r.repo(), script(`{"fail":"a text that stays here"}`), retries(0))
	r.ends(made.ID, task.StatusCompleted)
	r.ends(failed.ID, task.StatusFailed)
	r.noLeaks()
	r.replays("task-" + made.ID)
	r.stop("worker") // sends what is left
	r.stop("api")

	id := c.traceOf("POST /api/v1/tasks", "StartWorkflow:TaskWorkflow", "RunWorkflow:TaskWorkflow", "RunActivity:EnsureSandbox",
		"RunActivity:OpenPullRequest", "StartChildWorkflow:SandboxCleanupWorkflow", "RunWorkflow:SandboxCleanupWorkflow", "RunActivity:VerifyDeleted")
	require.NotEmpty(t, id, "%v", c.traces())
	require.Empty(t, c.orphans(id), "every span hangs below another one of the trace")
	names := c.traces()[id]
	require.Len(t, slices.DeleteFunc(slices.Clone(names), func(n string) bool { return n != "POST /api/v1/tasks" }), 1,
		"the other task has a trace of its own")
	require.Equal(t, "omoi", c.headers.Get("X-Tenant"))
	for _, text := range []string{"a text that stays here", "a task of the tests", r.dir, strings.Fields(stepComplete)[0]} {
		require.NotContains(t, c.raw.String(), text)
	}
	require.False(t, slices.ContainsFunc(names, func(n string) bool { return strings.Contains(n, "Signal") || strings.Contains(n, "/events") }))
}

// replays holds a history that was made under tracing to the workflow's code without it.
func (r *rig) replays(workflowID string) {
	r.t.Helper()
	history := r.temporalCLI("workflow", "show", "-w", workflowID, "-o", "json")
	require.Zero(r.t, history.code, history.stderr)
	require.Contains(r.t, history.stdout, "_tracer-data", "it was made under tracing")
	file := filepath.Join(r.dir, workflowID+".json")
	require.NoError(r.t, os.WriteFile(file, []byte(history.stdout), 0o600))
	plain := worker.NewWorkflowReplayer()
	plain.RegisterWorkflowWithOptions(workflows.TaskWorkflow, workflow.RegisterOptions{Name: contract.TaskWorkflow})
	require.NoError(r.t, plain.ReplayWorkflowHistoryFromJSONFile(log.NewStructuredLogger(slog.New(slog.DiscardHandler)), file))
}

// Without the setting histories carry no header, so that nothing is paid for traces.
func TestNoTraceUnlessAsked(t *testing.T) {
	t.Parallel()
	r := newRig(t, nil).up()
	made := r.submit(r.repo(), script(stepComplete))
	r.ends(made.ID, task.StatusCompleted)
	history := r.temporalCLI("workflow", "show", "-w", "task-"+made.ID, "-o", "json")
	require.Zero(t, history.code, history.stderr)
	require.NotContains(t, history.stdout, "_tracer-data")
	require.Zero(t, r.count(`SELECT count(*) FROM commands WHERE args ? 'traceparent'`))
}
