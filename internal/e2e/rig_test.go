package e2e_test

import (
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"log/slog"
	"maps"
	"math/rand/v2"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/jackc/pgx/v5/pgxpool"
	"github.com/stretchr/testify/require"
	"go.temporal.io/sdk/client"
	"go.temporal.io/sdk/log"

	apiclient "github.com/omoi-dev/omoi/api/client"
	"github.com/omoi-dev/omoi/internal/contract"
	"github.com/omoi-dev/omoi/internal/devstack"
	"github.com/omoi-dev/omoi/internal/task"
)

// patience is how long a test waits for a fact. It bounds a hang; no test depends on speed.
const patience = 90 * time.Second

// rig is one installation of omoi in processes of its own: PostgreSQL, Temporal, and as many
// API and worker processes as a test starts.
type rig struct {
	t        *testing.T
	dir      string
	env      map[string]string
	stack    *devstack.Stack
	api      *apiclient.Client
	temporal client.Client
	pool     *pgxpool.Pool
	programs string              // folder of omoi and omoi-agent; empty: those under test
	as       *syscall.Credential // whom everything runs as; nil: ourselves
	longer   time.Duration       // how long it waits for a fact; zero: patience

	mu    sync.Mutex
	procs map[string]*process
}

// process is a program that a test may kill.
type process struct {
	cmd  *exec.Cmd
	args []string
	env  []string
	log  *os.File
	done chan struct{}
}

// newRig starts PostgreSQL and Temporal. settings are environment variables on top of a
// set that makes every duration short.
func newRig(t *testing.T, settings map[string]string) *rig {
	t.Helper()
	return newRigOf(t, "", settings)
}

// newRigOf is [newRig] with the programs of a folder; empty: those under test.
func newRigOf(t *testing.T, programs string, settings map[string]string) *rig {
	t.Helper()
	if _, err := devstack.FindTemporal(""); err != nil {
		t.Skip("SKIPPED: no temporal program; make temporal builds it")
	}
	dir, err := os.MkdirTemp("", "omoi-e2e-") //nolint:usetesting // t.TempDir is closed to the users of sandboxes
	require.NoError(t, err)
	require.NoError(t, os.Chmod(dir, 0o755))
	require.NoError(t, os.Mkdir(filepath.Join(dir, "home"), 0o755))
	r := &rig{t: t, dir: dir, programs: programs, procs: make(map[string]*process)}
	t.Cleanup(r.close)
	r.startStack()
	r.settle(settings)
	require.Zero(t, r.omoi("migrate", "up").code)
	return r
}

func (r *rig) startStack() {
	cfg := devstack.Config{
		Home: filepath.Join(r.dir, "home"), DataRoot: filepath.Join(r.dir, "data"),
		Namespace: "default", SearchAttributes: []string{contract.AttributeStatus, contract.AttributeProject, contract.AttributeOrg},
		Throwaway: true, Log: slog.New(slog.DiscardHandler),
	}
	if r.programs == "" {
		r.copyTemplate(cfg)
	}
	stack, err := devstack.Start(context.Background(), cfg)
	require.NoError(r.t, err)
	r.stack = stack
	info := stack.Info()
	r.pool, err = pgxpool.New(context.Background(), info.DatabaseURL)
	require.NoError(r.t, err)
	r.temporal, err = client.NewLazyClient(client.Options{
		HostPort: info.TemporalAddress, Logger: log.NewStructuredLogger(slog.New(slog.DiscardHandler)),
	})
	require.NoError(r.t, err)
}

// settle decides every setting: short durations first, then what the test asks for.
func (r *rig) settle(settings map[string]string) {
	info, port := r.stack.Info(), freePort(r.t)
	url := "http://127.0.0.1:" + strconv.Itoa(port)
	r.env = map[string]string{
		"OMOI_HOME": filepath.Join(r.dir, "home"), "DATABASE_URL": info.DatabaseURL, "OMOI_TEMPORAL_ADDRESS": info.TemporalAddress,
		"OMOI_API_PORT": strconv.Itoa(port), "OMOI_API_URL": url, "OMOI_API_AUTH_DISABLED": "true", "OMOI_API_CALLBACK_URL": url,
		"OMOI_SANDBOX_DIR": filepath.Join(r.dir, "sandboxes"), "OMOI_TASK_RETRY_INITIAL_INTERVAL": "200ms", "OMOI_TASK_HEARTBEAT_TIMEOUT": "3s", "OMOI_TEST_UNKNOWN_INITIAL_INTERVAL": "500ms",
		"OMOI_RELAY_DIGEST_INTERVAL": "500ms", "OMOI_TEST_RELAY_POLL_INTERVAL": "50ms", "OMOI_TEST_RELAY_LEASE_DURATION": "3s", "OMOI_TEST_COMPONENT_HEARTBEAT_INTERVAL": "500ms",
		"OMOI_TEST_AGENT_HEARTBEAT_INTERVAL": "300ms", "OMOI_AGENT_SHUTDOWN_GRACE_PERIOD": "2s", "OMOI_REAPER_INTERVAL": "10s", "OMOI_REAPER_GRACE_PERIOD": "2s",
		"OMOI_TEST_HOST_HEARTBEAT_INTERVAL": "1s", "OMOI_WORKER_MAX_SANDBOXES": "100",
		"PATH": os.Getenv("PATH"), "HOME": filepath.Join(r.dir, "home"),
	}
	maps.Copy(r.env, settings)
	r.api = apiclient.New(url, r.env["OMOI_API_KEY"])
}

func (r *rig) close() {
	for _, name := range slices.Collect(maps.Keys(r.procs)) {
		r.kill(name)
	}
	if r.t.Failed() {
		r.dumpLogs()
	}
	if r.stack != nil {
		r.temporal.Close()
		r.pool.Close()
		_ = r.stack.Close()
	}
	killBelow(r.dir)
	_ = os.RemoveAll(r.dir)
}

// killBelow ends what a failed test left behind: whatever has the rig's folder in its command line.
func killBelow(dir string) {
	for _, pid := range processesWith(dir) {
		_ = syscall.Kill(pid, syscall.SIGKILL)
	}
}

// processesWith lists the processes whose command line names text, other than our own.
func processesWith(text string) []int {
	files, _ := filepath.Glob("/proc/[0-9]*/cmdline")
	var found []int
	for _, file := range files {
		raw, err := os.ReadFile(file)
		pid, perr := strconv.Atoi(strings.Split(file, "/")[2])
		if err == nil && perr == nil && pid != os.Getpid() && bytes.Contains(raw, []byte(text)) {
			found = append(found, pid)
		}
	}
	return found
}

func (r *rig) dumpLogs() {
	logs, _ := filepath.Glob(filepath.Join(r.dir, "*.log"))
	for _, file := range logs {
		raw, _ := os.ReadFile(file)
		lines := strings.Split(string(raw), "\n")
		r.t.Logf("--- %s\n%s", filepath.Base(file), strings.Join(lines[max(0, len(lines)-40):], "\n"))
	}
}

// start runs `omoi <args>` in the background under a name.
func (r *rig) start(name string, extra map[string]string, args ...string) {
	r.t.Helper()
	env := maps.Clone(r.env)
	maps.Copy(env, extra)
	output, err := os.OpenFile(filepath.Join(r.dir, name+".log"), os.O_CREATE|os.O_APPEND|os.O_WRONLY, 0o644)
	require.NoError(r.t, err)
	p := &process{args: args, env: environ(env), log: output}
	p.cmd = exec.CommandContext(context.Background(), r.program(), args...)
	p.cmd.Env, p.cmd.Stdout, p.cmd.Stderr = p.env, output, output
	p.cmd.Dir, p.cmd.SysProcAttr = r.dir, r.attributes()
	p.done, err = tied(p.cmd)
	require.NoError(r.t, err)
	r.mu.Lock()
	r.procs[name] = p
	r.mu.Unlock()
}

// program is the omoi that this rig runs.
func (r *rig) program() string { return filepath.Join(cmp.Or(r.programs, bin), "omoi") }

func (r *rig) attributes() *syscall.SysProcAttr { return &syscall.SysProcAttr{Credential: r.as} }

// kill ends a process with SIGKILL and waits until it is gone.
func (r *rig) kill(name string) { r.signal(name, syscall.SIGKILL) }

// stop ends a process with SIGTERM and waits until it is gone.
func (r *rig) stop(name string) { r.signal(name, syscall.SIGTERM) }

func (r *rig) signal(name string, sig syscall.Signal) {
	r.mu.Lock()
	p := r.procs[name]
	delete(r.procs, name)
	r.mu.Unlock()
	if p == nil {
		return
	}
	_ = p.cmd.Process.Signal(sig)
	select {
	case <-p.done:
	case <-time.After(patience):
		r.t.Errorf("%s did not end after %s", name, sig)
		_ = p.cmd.Process.Kill()
	}
	_ = p.log.Close()
}

// up starts one API and one worker and waits until the API is ready.
func (r *rig) up() *rig {
	r.t.Helper()
	r.startAPI()
	r.startWorker()
	return r
}

func (r *rig) startAPI() {
	r.start("api", nil, "api")
	r.eventually("the API answers", func() bool {
		_, err := r.api.Info(context.Background())
		return err == nil
	})
}

func (r *rig) startWorker() { r.start("worker", nil, "worker") }

// result is what a finished command printed.
type result struct {
	code           int
	stdout, stderr string
}

// omoi runs `omoi <args>` to its end.
func (r *rig) omoi(args ...string) result {
	r.t.Helper()
	return r.run(r.program(), args...)
}

// temporalCLI runs the temporal program against the rig's server.
func (r *rig) temporalCLI(args ...string) result {
	r.t.Helper()
	path, err := devstack.FindTemporal("")
	require.NoError(r.t, err)
	return r.run(path, append(args, "--address", r.stack.Info().TemporalAddress)...)
}

func (r *rig) run(path string, args ...string) result {
	r.t.Helper()
	return r.within(patience, path, args...)
}

// within is run for a program that may take longer.
func (r *rig) within(limit time.Duration, path string, args ...string) result {
	r.t.Helper()
	ctx, cancel := context.WithTimeout(context.Background(), limit)
	defer cancel()
	var out, errs bytes.Buffer
	cmd := exec.CommandContext(ctx, path, args...)
	cmd.Env, cmd.Dir, cmd.Stdout, cmd.Stderr, cmd.SysProcAttr = environ(r.env), r.dir, &out, &errs, r.attributes()
	err := cmd.Run()
	if cmd.ProcessState == nil {
		require.NoError(r.t, err)
	}
	return result{code: cmd.ProcessState.ExitCode(), stdout: out.String(), stderr: errs.String()}
}

// repo makes a bare repository with one commit and answers its path.
func (r *rig) repo() string {
	r.t.Helper()
	dir, err := os.MkdirTemp(r.dir, "repo-")
	require.NoError(r.t, err)
	if r.as != nil {
		require.NoError(r.t, os.Chown(dir, int(r.as.Uid), int(r.as.Gid)))
	}
	work, bare := filepath.Join(dir, "work"), filepath.Join(dir, "remote.git")
	for _, args := range [][]string{
		{"init", "-q", "-b", "main", work},
		{"-C", work, "-c", "user.name=t", "-c", "user.email=t@example.com", "commit", "-q", "--allow-empty", "-m", "begin"},
		{"clone", "-q", "--bare", work, bare},
	} {
		res := r.run("git", args...)
		require.Zero(r.t, res.code, res.stderr)
	}
	return bare
}

// keepingRepo returns a repository of a project in which omoi saves uncommitted changes and does not commit them.
func (r *rig) keepingRepo() string {
	r.t.Helper()
	repo := r.repo()
	made := r.omoi("project", "create", "--repo", repo, "--settings", `{"commit_leftovers":false}`)
	require.Zero(r.t, made.code, made.stderr)
	return repo
}

// script is an execution_config with a script of the given steps, each a JSON object.
func script(steps ...string) json.RawMessage {
	return json.RawMessage(`{"script":{"steps":[` + strings.Join(steps, ",") + `]}}`)
}

// submit makes a task for the scripted agent.
func (r *rig) submit(repo string, config json.RawMessage, edit ...func(*apiclient.CreateTaskRequest)) task.Task {
	r.t.Helper()
	in := apiclient.CreateTaskRequest{Repo: repo, Description: "a task of the tests", Agent: task.AgentScripted, Provider: task.ProviderLocal, Execution: config}
	for _, e := range edit {
		e(&in)
	}
	made, _, err := r.api.CreateTask(context.Background(), in, "")
	require.NoError(r.t, err)
	return made
}

// retries sets max_retries.
func retries(n int) func(*apiclient.CreateTaskRequest) {
	return func(in *apiclient.CreateTaskRequest) { in.MaxRetries = &n }
}

// eventually waits for a fact.
func (r *rig) eventually(what string, fact func() bool) {
	r.t.Helper()
	require.True(r.t, waitFor(cmp.Or(r.longer, patience), fact), what)
}

// task reads a task; errors of a server that is down are waited out.
func (r *rig) task(id string) task.Task {
	r.t.Helper()
	var got task.Task
	r.eventually("task "+id+" can be read", func() bool {
		var err error
		got, err = r.api.Task(context.Background(), id)
		return err == nil
	})
	return got
}

// until waits until the task is as the test wants it.
func (r *rig) until(id, what string, fact func(task.Task) bool) task.Task {
	r.t.Helper()
	var got task.Task
	ok := func() bool {
		var err error
		got, err = r.api.Task(context.Background(), id)
		return err == nil && fact(got)
	}
	if !waitFor(cmp.Or(r.longer, patience), ok) {
		require.Failf(r.t, "the task did not get there", "%s: status %s, attempts %s, error %s, why %s",
			what, got.Status, stories(got.Attempts), text(got.ErrorMessage), got.Why)
	}
	return got
}

// stories tells what became of each attempt.
func stories(attempts []task.Attempt) string {
	var b strings.Builder
	for _, a := range attempts {
		fmt.Fprintf(&b, "\n  %d %s: %s %s, %q after %d events", a.Number, a.Kind, a.Outcome, a.FailureClass, a.Reason, a.Events)
	}
	return b.String()
}

func waitFor(d time.Duration, ok func() bool) bool {
	const longest = 100 * time.Millisecond // who asks more often takes the time from those who are waited for
	end := time.After(d)
	for pause := 10 * time.Millisecond; ; pause = min(pause*3/2, longest) {
		if ok() {
			return true
		}
		select {
		case <-end:
			return false
		case <-time.After(pause):
		}
	}
}

func text(s *string) string {
	if s == nil {
		return ""
	}
	return *s
}

// ends waits until the task has ended as status.
func (r *rig) ends(id string, status task.Status) task.Task {
	r.t.Helper()
	got := r.until(id, "ends "+string(status), func(t task.Task) bool { return t.Status.Final() })
	require.Equal(r.t, status, got.Status, "%s: %s", got.FailureClass, text(got.ErrorMessage))
	return got
}

// retry begins a task again. While a sandbox is still cleaned up the task stands as it ended.
func (r *rig) retry(id string) {
	r.t.Helper()
	_, _, err := r.api.Retry(context.Background(), id, "begin again")
	require.NoError(r.t, err)
	r.until(id, "begins again", func(t task.Task) bool { return t.PendingCommand == nil })
}

// running waits until the agent has reported in.
func (r *rig) running(id string) task.Task {
	r.t.Helper()
	return r.until(id, "runs", func(t task.Task) bool { return t.Status == task.StatusRunning })
}

// noLeaks holds the installation to P1: every sandbox is verified gone, no folder and no
// process of one is left, and nobody holds a slot.
func (r *rig) noLeaks() {
	r.t.Helper()
	r.eventually("every sandbox is verified gone", func() bool {
		var open int
		err := r.pool.QueryRow(context.Background(), `SELECT count(*) FROM sandboxes
			WHERE provider NOT IN ('external', 'bare') AND (verified_at IS NULL OR state <> 'gone')`).Scan(&open)
		return err == nil && open == 0
	})
	r.eventually("no process of a sandbox is left", func() bool {
		return len(processesWith(filepath.Join(r.dir, "sandboxes"))) == 0
	})
	left, err := filepath.Glob(filepath.Join(r.dir, "sandboxes", task.SandboxNamePrefix+"*"))
	require.NoError(r.t, err)
	require.Empty(r.t, left)
	var slots int
	require.NoError(r.t, r.pool.QueryRow(context.Background(), `SELECT count(*) FROM slots s JOIN tasks t ON t.id = s.task_id
		WHERE t.status IN ('completed', 'failed', 'cancelled')`).Scan(&slots))
	require.Zero(r.t, slots, "a finished task holds a slot")
}

// count answers a number from the database.
func (r *rig) count(sql string, args ...any) int {
	r.t.Helper()
	var n int
	require.NoError(r.t, r.pool.QueryRow(context.Background(), sql, args...).Scan(&n))
	return n
}

// gapless holds every sandbox to P2: its events are 1..head.
func (r *rig) gapless() {
	r.t.Helper()
	require.Zero(r.t, r.count(`SELECT count(*) FROM sandboxes s WHERE s.last_sequence <> (SELECT count(*) FROM sandbox_events e WHERE e.sandbox_id = s.id)
		OR s.last_sequence <> coalesce((SELECT max(sequence) FROM sandbox_events e WHERE e.sandbox_id = s.id), 0)`))
}

func environ(env map[string]string) []string {
	out := make([]string, 0, len(env))
	for k, v := range env {
		out = append(out, k+"="+v)
	}
	slices.Sort(out)
	return out
}

// freePort returns a port of 127.0.0.1 below those that Linux gives to outgoing connections: a server of a test
// listens on its port again after a restart, and no connection takes it meanwhile.
func freePort(t *testing.T) int {
	t.Helper()
	const lowest, many = 20000, 12000
	for {
		port := lowest + rand.IntN(many)
		l, err := new(net.ListenConfig).Listen(t.Context(), "tcp", net.JoinHostPort("127.0.0.1", strconv.Itoa(port)))
		if err == nil {
			require.NoError(t, l.Close())
			return port
		}
		require.ErrorIs(t, err, syscall.EADDRINUSE)
	}
}

// sprintf keeps scripts readable.
func sprintf(format string, args ...any) string { return fmt.Sprintf(format, args...) }
