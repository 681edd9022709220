package activities_test

import (
	"context"
	"encoding/json"
	"io"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"go.uber.org/goleak"

	"github.com/omoi-dev/omoi/activities"
	"github.com/omoi-dev/omoi/internal/contract"
	"github.com/omoi-dev/omoi/internal/sandbox"
	"github.com/omoi-dev/omoi/internal/sandbox/local"
	"github.com/omoi-dev/omoi/internal/scm"
	"github.com/omoi-dev/omoi/internal/scm/localgit"
	"github.com/omoi-dev/omoi/internal/task"
)

// TestMain is also the shim of the local provider's sandboxes.
func TestMain(m *testing.M) {
	if len(os.Args) > 1 && os.Args[1] == "shim" {
		os.Exit(local.ShimMain(os.Args[2:])) //nolint:forbidigo // the shim is a program of its own
	}
	goleak.VerifyTestMain(m)
}

// ground is an attempt in a real sandbox, with the real agent and a real repository; only
// store and API are fakes.
type ground struct {
	*bench

	repo     string
	provider *local.Provider
	events   chan string
	down     atomic.Bool // the API answers 503
	acts     *activities.Activities
	cfg      activities.Config
	deps     activities.Deps
}

func newGround(t *testing.T, script string, isolation local.Isolation) *ground {
	t.Helper()
	if testing.Short() {
		t.Skip("SKIPPED with -short: a real sandbox with the real agent")
	}
	dir, err := os.MkdirTemp("", "omoi-activities-") //nolint:usetesting // t.TempDir is closed to the user of the sandbox
	require.NoError(t, err)
	require.NoError(t, os.Chmod(dir, 0o711))
	t.Cleanup(func() { require.NoError(t, os.RemoveAll(dir)) })

	g := &ground{bench: newBench(t), repo: filepath.Join(dir, "repo"), events: make(chan string, 1000)}
	g.id = task.NewSandboxID() // a machine has one of each id, whatever the installation
	row := g.store.rows[boxID]
	row.ID = g.id
	g.store.rows = map[string]task.Sandbox{g.id: row}
	g.makeRepo()
	g.store.work.Repo, g.store.work.Branch, g.store.work.Base = g.repo, "", ""
	g.store.work.Execution.Script = json.RawMessage(script)
	root := local.Config{Root: filepath.Join(dir, "boxes"), Isolation: isolation}
	g.provider, err = local.New(root, slog.New(slog.NewTextHandler(t.Output(), nil)))
	require.NoError(t, err)
	program := buildAgent(t, dir)
	g.cfg = activities.Config{
		HostID: "h1", APIURL: g.serve(), Network: sandbox.NetworkHost, StopGrace: 2 * time.Second, AgentHeartbeat: 100 * time.Millisecond,
		IdleTimeout: 10 * time.Minute, ToolTimeout: 30 * time.Minute, AuthorName: "omoi", AuthorEmail: "omoi@localhost",
	}
	g.deps = activities.Deps{
		Tasks: g.store, Tests: g.store, Ledger: g.store, Texts: g.store, Fleet: g.store, Reconciler: g.store, Runs: g.runs, Tokens: tokens{},
		Git: gits{localgit.New(localgit.Config{})}, Providers: providers{task.ProviderLocal: g.provider},
		Agents: func(arch string) (io.ReadCloser, error) {
			require.Equal(t, runtime.GOARCH, arch)
			return os.Open(program)
		},
	}
	g.acts = activities.New(g.cfg, g.deps)
	g.made = g.acts
	return g
}

// gits is the one host.
type gits struct{ host scm.Host }

func (g gits) For(string, scm.Owner) (scm.Host, error) { return g.host, nil }

func buildAgent(t *testing.T, dir string) string {
	t.Helper()
	path := filepath.Join(dir, "omoi-agent")
	build := exec.CommandContext(t.Context(), "go", "build", "-o", path, "../cmd/omoi-agent")
	build.Env = append(os.Environ(), "CGO_ENABLED=0")
	out, err := build.CombinedOutput()
	require.NoError(t, err, string(out))
	return path
}

func (g *ground) git(args ...string) string {
	g.Helper()
	cmd := exec.CommandContext(g.Context(), "git", append([]string{"-c", "user.name=t", "-c", "user.email=t@t", "-C", g.repo}, args...)...)
	out, err := cmd.CombinedOutput()
	require.NoError(g, err, string(out))
	return strings.TrimSpace(string(out))
}

func (g *ground) makeRepo() {
	g.Helper()
	require.NoError(g, os.MkdirAll(g.repo, 0o750))
	g.git("init", "--quiet", "--initial-branch=main")
	require.NoError(g, os.WriteFile(filepath.Join(g.repo, "README"), []byte("hello\n"), 0o600))
	g.git("add", ".")
	g.git("commit", "--quiet", "-m", "first")
}

// serve is the API: it acknowledges every batch and tells the text of each event.
func (g *ground) serve() string {
	mux := http.NewServeMux()
	mux.HandleFunc("POST /api/v1/sandboxes/{id}/events/batch", func(w http.ResponseWriter, r *http.Request) {
		var batch struct {
			First  int64             `json:"first"`
			Events []json.RawMessage `json:"events"`
		}
		if g.down.Load() {
			http.Error(w, "down", http.StatusServiceUnavailable)
			return
		}
		if json.NewDecoder(r.Body).Decode(&batch) != nil || r.Header.Get("Authorization") != "Bearer "+(tokens{}).Mint(g.id) {
			http.Error(w, "bad batch", http.StatusBadRequest)
			return
		}
		for _, e := range batch.Events {
			if !strings.Contains(string(e), "heartbeat") {
				g.events <- string(e)
			}
		}
		_ = json.NewEncoder(w).Encode(map[string]int64{"acknowledged": batch.First + int64(len(batch.Events)) - 1})
	})
	mux.HandleFunc("GET /", func(w http.ResponseWriter, _ *http.Request) { _, _ = io.WriteString(w, "[]") })
	server := httptest.NewServer(mux)
	g.Cleanup(server.Close)
	return server.URL
}

// hear waits for an event that holds text.
func (g *ground) hear(text string) {
	g.Helper()
	ctx, cancel := context.WithTimeout(g.Context(), time.Minute)
	defer cancel()
	for {
		select {
		case e := <-g.events:
			if strings.Contains(e, text) {
				return
			}
		case <-ctx.Done():
			g.Fatalf("no event with %q", text)
		}
	}
}

// begin spawns the sandbox and starts the agent, each twice, as after lost answers.
func (g *ground) begin() {
	g.Helper()
	branch, err := do[contract.BranchResult](g.bench, g.acts.EnsureBranch, contract.EnsureBranchInput{TaskID: taskID})
	require.NoError(g, err)
	g.store.work.Branch, g.store.work.Base = branch.Branch, branch.Base
	g.Cleanup(func() {
		l := sandbox.Labels{Installation: "inst", TaskID: taskID, Attempt: 1, SandboxID: g.id}
		require.NoError(g, g.provider.Delete(context.Background(), l))
	})
	for _, adopted := range []bool{false, true} {
		made, err := do[contract.SpawnedSandbox](g.bench, g.acts.EnsureSandbox, g.ref())
		require.NoError(g, err)
		require.Equal(g, adopted, made.Adopted)
		require.NoError(g, act(g.bench, g.acts.StartAgent, g.start()))
	}
}

const workScript = `{"steps": [
	{"write": {"path": "one.txt", "content": "one\n"}},
	{"commit": "add one"},
	{"write": {"path": "two.txt", "content": "two\n"}},
	{"say": "marker-of-the-test"},
	{"hang": true}
]}`

func TestAttemptInARealSandbox(t *testing.T) {
	t.Parallel()
	for _, isolation := range []local.Isolation{local.IsolationAuto, local.IsolationNone} {
		t.Run(string(isolation), func(t *testing.T) {
			t.Parallel()
			g := newGround(t, workScript, isolation)
			g.begin()
			g.hear("agent.started")
			g.hear("marker-of-the-test")

			require.NoError(t, act(g.bench, g.acts.StopAgent, g.ref()))
			g.quiet()
			require.Equal(t, contract.ObservedExited, g.observe().Seen)
			work, err := do[contract.Collected](g.bench, g.acts.CollectWork, g.ref())
			require.NoError(t, err)
			require.Equal(t, 1, work.Commits)
			require.Equal(t, work.Head, g.git("rev-parse", g.store.work.Branch))
			require.Equal(t, "one", g.git("show", g.store.work.Branch+":one.txt"))

			pull, err := do[contract.PullResult](g.bench, g.acts.OpenPullRequest, contract.PullInput{TaskID: taskID})
			require.NoError(t, err)
			require.NotEmpty(t, pull.URL)

			saved := g.salvage()
			require.Equal(t, contract.SalvageResult{Kind: task.SalvageRef, Files: 1}, saved)
			require.Equal(t, "two", g.git("show", g.store.rows[g.id].Salvage.Ref+":two.txt"))
			g.end()
		})
	}
}

// quiet has the store know of no sign of life for an hour.
func (g *ground) quiet() {
	g.store.pulse = task.Pulse{Assigned: time.Hour, Started: time.Hour, Beat: time.Hour, Work: time.Hour, Waiting: -1}
}

func TestObserve_AgentWithoutAPIAccessIsUnknown(t *testing.T) {
	t.Parallel()
	g := newGround(t, workScript, local.IsolationAuto)
	g.begin()
	g.hear("marker-of-the-test")
	g.quiet()
	g.down.Store(true)
	var last contract.Observation
	require.Eventually(t, func() bool {
		last = g.observe()
		return last.Seen == contract.ObservedUnknown
	}, time.Minute, 50*time.Millisecond, "%+v", &last)
	require.NoError(t, act(g.bench, g.acts.StopAgent, g.ref()))
	require.Equal(t, contract.ObservedExited, g.observe().Seen)
}

func TestObserve_AgentKilledFromOutside(t *testing.T) {
	t.Parallel()
	g := newGround(t, `{"steps": [{"crash": "KILL"}]}`, local.IsolationAuto)
	g.begin()
	g.quiet()
	require.Eventually(t, func() bool { return g.observe().Seen == contract.ObservedExited }, time.Minute, 50*time.Millisecond)
	require.Equal(t, task.ClassInfrastructure, g.observe().Class)
}

func TestSalvage_LateLeavesTheBranchToTheNextAttempt(t *testing.T) {
	t.Parallel()
	script := `{"steps": [{"write": {"path": "one.txt", "content": "one\n"}}, {"commit": "add one"}, {"say": "marker-of-the-test"}, {"hang": true}]}`
	g := newGround(t, script, local.IsolationAuto)
	g.begin()
	g.hear("marker-of-the-test")
	before := g.git("rev-parse", g.store.work.Branch)
	g.store.work.Attempt = 2
	require.Equal(t, task.SalvageRef, g.salvage().Kind)
	require.Equal(t, before, g.git("rev-parse", g.store.work.Branch))
	require.Equal(t, "one", g.git("show", g.store.rows[g.id].Salvage.Ref+":one.txt"))
	g.end()
}

// end deletes twice and looks twice.
func (g *ground) end() {
	g.Helper()
	for range 2 {
		require.NoError(g, act(g.bench, g.acts.DeleteSandbox, g.ref()))
		gone, err := do[contract.VerifyDeletedResult](g.bench, g.acts.VerifyDeleted, g.ref())
		require.NoError(g, err)
		require.True(g, gone.Gone)
	}
	_, err := do[contract.SpawnedSandbox](g.bench, g.acts.EnsureSandbox, g.ref())
	require.Error(g, err, "a late create is fenced")
}
