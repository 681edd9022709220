package e2e_test

import (
	"encoding/json"
	"fmt"
	"maps"
	"net"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
	"go.temporal.io/sdk/client"

	"github.com/omoi-dev/omoi/internal/devstack"
)

// attack is what a page tries on a base URL. It returns what it could read: the address of
// each answer of success, with its first words. TASK is the ID of a task, FROM names the effects.
const attack = `(async (bases, from) => {
  const say = (path, body) => [path, {method: "POST", mode: "no-cors", headers: {"Content-Type": "text/plain"}, body: JSON.stringify(body)}];
  const ns = "/api/v1/namespaces/default", read = [];
  const start = {workflowType: {name: "evil"}, taskQueue: {name: "none"}};
  const changes = [
    say(ns + "/workflows/evil-" + from, start),
    say(ns + "/workflows/kept/signal/evil", {}),
    say(ns + "/workflows/kept/terminate", {}),
    say(ns + "/schedules/evil-" + from, {schedule: {action: {startWorkflow: {...start, workflowId: "evil"}}}}),
    say(ns + "/batch-operations/evil-" + from, {visibilityQuery: "WorkflowId='kept'", reason: "evil", terminationOperation: {}}),
    say("/api/v1/tasks", {description: "evil"}),
    say("/api/v1/tasks/TASK/cancel", {reason: "evil"}),
  ];
  const reads = ["/", "/api/v1/info", "/healthz", "/readyz", "/api/v1/tasks", "/api/v1/tasks/TASK", "/api/v1/settings", ns, ns + "/workflows",
    "/api/v1/cluster-info", "/metrics", "/health", "/sandbox"];
  const patient = () => ({signal: AbortSignal.timeout(20000)});
  const ask = async (url, how) => {
    try {
      const got = await fetch(url, {...how, ...patient()}), text = await got.text();
      if (got.ok && text) read.push(url + " " + text.slice(0, 60));
    } catch {}
  };
  await Promise.all(bases.map(async base => {
    await Promise.all(reads.map(path => ask(base + path, {})));
    await Promise.all(changes.map(([path, how]) => ask(base + path, how)));
    const token = (document.cookie.match(/_csrf=([^;]*)/) || [])[1]; // as the Web UI hands out
    const json = {"Content-Type": "application/json", "X-CSRF-Token": token};
    await Promise.all(changes.map(([path, how]) => ask(base + path, {method: "POST", headers: json, body: how.body})));
  }));
  return read;
})(BASES, "FROM")`

// A page of another origin tries every port that omoi dev opens, under its address and, with
// DNS rebinding, under its own name: it reads nothing and changes nothing.
func TestDev_PageOfAnotherOriginGetsNothing(t *testing.T) {
	t.Parallel()
	b := newBrowser(t)
	l := newLaptop(t)
	l.env["OMOI_ORCHESTRATOR_ENABLED"] = "false" // the task stays as it is
	info := l.dev()
	made := l.submit(l.repo(), script(stepComplete))
	kept := startedWorkflow(t, info)
	ports := l.ports()
	require.Contains(t, ports, portOf(t, info.APIURL))
	require.Contains(t, ports, portOf(t, info.TemporalUIURL))
	require.Greater(t, len(ports), 4, "Temporal opens some of its own")

	before := historyOf(t, info, kept)
	try := func(url string, from int, bases ...string) (read []string) {
		named, err := json.Marshal(bases)
		require.NoError(t, err)
		script := strings.NewReplacer("TASK", made.ID, "BASES", string(named), "FROM", strconv.Itoa(from)).Replace(attack)
		require.NoError(t, json.Unmarshal([]byte(b.page(url, script)), &read))
		return read
	}
	var direct []string
	for _, port := range ports {
		direct = append(direct, fmt.Sprintf("http://127.0.0.1:%d", port), fmt.Sprintf("http://localhost:%d", port))
	}
	reads := try("http://evil.example:8/", 0, direct...)
	for _, port := range ports {
		if origin := fmt.Sprintf("http://evil.example:%d", port); !unsafe(port) { // of an unsafe port no page is ever shown
			reads = append(reads, try(origin+"/", port, origin)...)
		}
	}
	var changes []string
	for _, from := range append(ports, 0) {
		if id := fmt.Sprintf("evil-%d", from); hasWorkflow(t, info, id) || hasWorkflow(t, info, "temporal-sys-scheduler:"+id) {
			changes = append(changes, id)
		}
	}
	require.Empty(t, reads)
	require.Empty(t, changes)
	require.Equal(t, before, historyOf(t, info, kept))
	require.Equal(t, made.Status, l.task(made.ID).Status)
	require.Equal(t, 1, l.count("SELECT count(*) FROM tasks"))
}

// unsafe reports whether browsers refuse a port. The few of them that omoi uses are enough.
func unsafe(port int) bool {
	return port < 1024 || (port > 1700 && port < 7000) || port == 10080
}

func startedWorkflow(t *testing.T, info devstack.Info) string {
	t.Helper()
	c := sdk(t, info)
	_, err := c.ExecuteWorkflow(t.Context(), client.StartWorkflowOptions{ID: "kept", TaskQueue: "none"}, "nothing")
	require.NoError(t, err)
	return "kept"
}

func sdk(t *testing.T, info devstack.Info) client.Client {
	t.Helper()
	c, err := client.DialContext(t.Context(), client.Options{HostPort: info.TemporalAddress, Namespace: info.TemporalNamespace})
	require.NoError(t, err)
	t.Cleanup(c.Close)
	return c
}

// historyOf is a workflow's status and the length of its history.
func historyOf(t *testing.T, info devstack.Info, id string) string {
	t.Helper()
	got, err := sdk(t, info).DescribeWorkflowExecution(t.Context(), id, "")
	require.NoError(t, err)
	return fmt.Sprint(got.WorkflowExecutionInfo.Status, got.WorkflowExecutionInfo.HistoryLength)
}

func hasWorkflow(t *testing.T, info devstack.Info, id string) bool {
	t.Helper()
	_, err := sdk(t, info).DescribeWorkflowExecution(t.Context(), id, "")
	return err == nil
}

func portOf(t *testing.T, address string) int {
	t.Helper()
	_, text, err := net.SplitHostPort(strings.TrimPrefix(address, "http://"))
	require.NoError(t, err)
	port, err := strconv.Atoi(text)
	require.NoError(t, err)
	return port
}

// ports are those of TCP on which processes of this home listen, on whatever address.
func (l *laptop) ports() []int {
	l.t.Helper()
	var tables strings.Builder
	for _, name := range []string{"tcp", "tcp6"} {
		content, err := os.ReadFile(filepath.Join("/proc/net", name))
		if err != nil {
			l.t.Skip("SKIPPED: this system does not say who listens on a port")
		}
		tables.Write(content)
	}
	sockets := map[string]bool{}
	for _, pid := range append(processesWith(l.dir), l.procs["dev"].cmd.Process.Pid) {
		links, _ := filepath.Glob(fmt.Sprintf("/proc/%d/fd/*", pid))
		for _, link := range links {
			if to, err := os.Readlink(link); err == nil {
				sockets[to] = true
			}
		}
	}
	found := map[int]bool{}
	for line := range strings.Lines(tables.String()) {
		const listens = "0A"
		fields := strings.Fields(line)
		if len(fields) < 10 || fields[3] != listens || !sockets["socket:["+fields[9]+"]"] {
			continue
		}
		_, hex, _ := strings.Cut(fields[1], ":")
		port, err := strconv.ParseInt(hex, 16, 32)
		require.NoError(l.t, err)
		found[int(port)] = true
	}
	return slices.Sorted(maps.Keys(found))
}
