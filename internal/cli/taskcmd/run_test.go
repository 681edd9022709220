package taskcmd_test

import (
	"context"
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/omoi-dev/omoi/api/client"
	"github.com/omoi-dev/omoi/internal/cli/exit"
	"github.com/omoi-dev/omoi/internal/task"
)

func write(t *testing.T, name, content string) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), name)
	require.NoError(t, os.WriteFile(path, []byte(content), 0o600))
	return path
}

func TestRun_SendsTheTask(t *testing.T) {
	t.Parallel()
	f := newFake(t)
	f.tasks = []client.Task{aTask(idA, task.StatusPending)}
	dir := t.TempDir()
	got := f.with(call{dir: dir}, "run", "Do it", "--repo", ".", "--title", "T", "--agent", "claude", "--provider", "docker",
		"--max-retries", "0", "--idempotency-key", "k1", "--priority", "high")
	require.Zero(t, got.code, got.err)
	require.Contains(t, got.out, idA)
	require.Contains(t, got.out, "omoi logs -f 456789ab")
	zero := 0
	require.Equal(t, client.CreateTaskRequest{
		Repo: dir, Title: "T", Description: "Do it", Agent: "claude", Provider: "docker", MaxRetries: &zero, Priority: "HIGH",
	}, f.created[0])
	require.Equal(t, "k1", f.headers[0].Get("Idempotency-Key"))
	require.Equal(t, "Bearer key", f.headers[0].Get("Authorization"))
}

func TestRun_TextFromFileAndStandardInput(t *testing.T) {
	t.Parallel()
	f := newFake(t)
	f.tasks = []client.Task{aTask(idA, task.StatusPending)}
	file := write(t, "task.md", "from a file")
	for _, args := range [][]string{{"run", "--file", file}, {"run", "-"}, {"run", "--file", "-"}} {
		got := f.with(call{stdin: "from a file"}, append(args, "--repo", "owner/name")...)
		require.Zero(t, got.code, got.err)
	}
	for i, in := range f.created {
		require.Equal(t, "from a file", in.Description)
		require.Equal(t, "owner/name", in.Repo)
		require.NotEmpty(t, f.headers[i].Get("Idempotency-Key"), "an answer that is lost can be asked for again")
	}
	require.NotEqual(t, f.headers[0].Get("Idempotency-Key"), f.headers[1].Get("Idempotency-Key"))
}

func TestRun_WithAScript(t *testing.T) {
	t.Parallel()
	f := newFake(t)
	f.tasks = []client.Task{aTask(idA, task.StatusPending)}
	script := write(t, "s.json", `{"steps": [{"say": "hello"}]}`)
	config := write(t, "c.json", `{"setup": "make deps"}`)
	got := f.omoi("run", "x", "--repo", "/r", "--script", script, "--execution-config", config)
	require.Zero(t, got.code, got.err)
	require.Equal(t, task.AgentScripted, f.created[0].Agent)
	require.JSONEq(t, `{"setup": "make deps", "script": {"steps": [{"say": "hello"}]}}`, string(f.created[0].Execution))
}

func TestRun_FindsTheEnclosingRepository(t *testing.T) {
	t.Parallel()
	f := newFake(t)
	f.tasks = []client.Task{aTask(idA, task.StatusPending)}
	dir, err := filepath.EvalSymlinks(t.TempDir())
	require.NoError(t, err)
	git(t, dir, "init", "--quiet")
	require.NoError(t, os.Mkdir(filepath.Join(dir, "sub"), 0o750))
	got := f.with(call{dir: filepath.Join(dir, "sub")}, "run", "x")
	require.Zero(t, got.code, got.err)
	require.Equal(t, dir, f.created[0].Repo)
	require.Contains(t, got.out, "of /repo, without a budget.")
}

func TestRun_RefusesInvalidInput(t *testing.T) {
	t.Parallel()
	f := newFake(t)
	f.tasks = []client.Task{aTask(idA, task.StatusPending)}
	bad := write(t, "bad.json", "{")
	for _, args := range [][]string{
		{"run"},
		{"run", ""},
		{"run", " \n"},
		{"run", "a", "b"},
		{"run", "a", "--file", "b"},
		{"run", "--file", "/nowhere"},
		{"run", "x", "--script", bad},
		{"run", "x", "--no-such-flag"},
		{"run", "x", "--wait-timeout", "soon"},
		{"run", "x", "--repo", "/nowhere"},
	} {
		got := f.with(call{dir: "/"}, args...)
		require.Equal(t, exit.Usage, got.code, "%v: %s", args, got.err)
		require.Contains(t, got.err, "omoi: ")
		require.Empty(t, got.out)
	}
	got := f.with(call{dir: t.TempDir()}, "run", "x")
	require.Equal(t, exit.Usage, got.code)
	require.Contains(t, got.err, "--repo")
}

func TestRun_DryRunSendsNoRequest(t *testing.T) {
	t.Parallel()
	f := newFake(t)
	got := f.omoi("run", "x", "--repo", "/r", "--dry-run", "--json")
	require.Zero(t, got.code, got.err)
	var in client.CreateTaskRequest
	requireJSON(t, got.out, &in)
	require.Equal(t, "/r", in.Repo)
	require.Empty(t, f.created)
}

func TestRun_WaitExitCodes(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		status  task.Status
		class   task.FailureClass
		blocked task.BlockedReason
		want    int
	}{
		{task.StatusCompleted, "", "", exit.Done},
		{task.StatusFailed, task.ClassAgentError, "", exit.Failed},
		{task.StatusCancelled, "", "", exit.Failed},
		{task.StatusFailed, task.ClassCredentials, "", exit.NeedsYou},
		{task.StatusFailed, task.ClassBudget, "", exit.Budget},
		{task.StatusPending, "", task.BlockedBudget, exit.Budget},
		{task.StatusPending, "", task.BlockedDependencyFailed, exit.NeedsYou},
	} {
		f := newFake(t)
		ended := aTask(idA, c.status)
		ended.FailureClass, ended.Blocked = c.class, c.blocked
		f.tasks = []client.Task{ended}
		f.done = c.status.Final()
		f.events = []client.Event{anEvent(1, "agent.started", `{"sdk":"scripted"}`), anEvent(2, "agent.tool_use", `{"tool":"Bash","input":{"command":"ls"}}`)}
		got := f.omoi("run", "x", "--repo", "/r", "--wait")
		require.Equal(t, c.want, got.code, "%s %s", c.status, got.err)
		require.Contains(t, got.out, "Bash  ls")
		require.Contains(t, got.out, "Because.")

		got = f.omoi("run", "x", "--repo", "/r", "--wait", "--json")
		require.Equal(t, c.want, got.code)
		var shown client.Task
		requireJSON(t, got.out, &shown)
		require.Equal(t, c.status, shown.Status)
	}
}

func TestRun_WaitTimeout(t *testing.T) {
	t.Parallel()
	f := newFake(t)
	f.tasks = []client.Task{aTask(idA, task.StatusRunning)}
	f.events = []client.Event{anEvent(1, "agent.started", `{}`)}
	got := f.omoi("run", "x", "--repo", "/r", "--wait", "--wait-timeout", "2s")
	require.Equal(t, exit.Interrupted, got.code, "a failed task is another thing")
	require.Contains(t, got.err, "not ended within --wait-timeout")
	require.Contains(t, got.err, "omoi logs -f 456789ab --after 1:1")
}

func TestRun_InterruptedTaskContinues(t *testing.T) {
	t.Parallel()
	f := newFake(t)
	f.tasks = []client.Task{aTask(idA, task.StatusRunning)}
	ctx, cancel := context.WithCancel(t.Context())
	f.onEvents = func(*fakeAPI, int) { cancel() }
	got := f.with(call{ctx: ctx}, "run", "x", "--repo", "/r", "--wait")
	require.Equal(t, exit.Interrupted, got.code)
	require.Contains(t, got.err, "The task continues")
}

func TestCommands_WithoutAServer(t *testing.T) {
	t.Parallel()
	f := newFake(t)
	listener, err := (&net.ListenConfig{}).Listen(t.Context(), "tcp", "127.0.0.1:0")
	require.NoError(t, err)
	closed := "http://" + listener.Addr().String()
	require.NoError(t, listener.Close())

	got := f.with(call{env: map[string]string{"OMOI_API_URL": closed}}, "ps")
	require.Equal(t, exit.Unreachable, got.code)
	require.Contains(t, got.err, "omoi dev")

	got = f.with(call{env: map[string]string{"OMOI_API_URL": closed}}, "run", "x", "--repo", "/r")
	require.Equal(t, exit.Unreachable, got.code)
	require.NotContains(t, got.err, "--idempotency-key", "nobody can have got it")
	cut := httptest.NewServer(http.HandlerFunc(func(http.ResponseWriter, *http.Request) { panic(http.ErrAbortHandler) }))
	t.Cleanup(cut.Close)
	got = f.with(call{env: map[string]string{"OMOI_API_URL": cut.URL}}, "run", "x", "--repo", "/r")
	require.Equal(t, exit.Unreachable, got.code)
	require.Contains(t, got.err, "--idempotency-key")

	got = f.with(call{env: map[string]string{"OMOI_API_URL": "", "OMOI_HOME": t.TempDir()}}, "ps")
	require.Equal(t, exit.Unreachable, got.code)
	require.Contains(t, got.err, "No server configured")
}

func TestBaseURL_MustBeHTTP(t *testing.T) {
	t.Parallel()
	f := newFake(t)
	for _, address := range []string{"ftp://x", "http://", "ht tp://x", "unix:///run/x"} {
		got := f.with(call{env: map[string]string{"OMOI_API_URL": address}}, "ps")
		require.Equal(t, exit.Usage, got.code, address)
		require.Contains(t, got.err, "OMOI_API_URL "+address+": not an HTTP URL")
	}
}

func TestBaseURL_FromDevJSON(t *testing.T) {
	t.Parallel()
	f := newFake(t)
	home := t.TempDir()
	env := map[string]string{"OMOI_API_URL": "", "OMOI_HOME": home}
	require.NoError(t, os.WriteFile(filepath.Join(home, "dev.json"), []byte(`{"api_url":"`+f.url+`"}`), 0o600))
	require.Zero(t, f.with(call{env: env}, "ps").code)
	for _, damaged := range []string{`{`, `{}`} {
		require.NoError(t, os.WriteFile(filepath.Join(home, "dev.json"), []byte(damaged), 0o600))
		got := f.with(call{env: env}, "ps")
		require.Equal(t, exit.Unreachable, got.code)
		require.Contains(t, got.err, "Next: run omoi dev")
	}
}

func TestRun_ExampleScripts(t *testing.T) {
	t.Parallel()
	f := newFake(t)
	f.tasks = []client.Task{aTask(idA, task.StatusPending)}
	got := f.omoi("run", "Say hello", "--repo", "/r", "--script", "example:hello")
	require.Zero(t, got.code, got.err)
	require.Equal(t, task.AgentScripted, f.created[0].Agent)
	require.Contains(t, string(f.created[0].Execution), "HELLO.md")
	for want, args := range map[string][]string{
		"must be one of example:hello, example:wait": {"--script", "example:nope"},
		"Read the script":             {"--script", "/nowhere"},
		"--wait-timeout needs --wait": {"--wait-timeout", "5s"},
	} {
		got := f.omoi(append([]string{"run", "x", "--repo", "/r"}, args...)...)
		require.Equal(t, exit.Usage, got.code, want)
		require.Contains(t, got.err, want)
	}
	require.Len(t, f.created, 1)
}

// A dry run prints & and < unescaped.
func TestRun_DryRunPrintsCommandsUnescaped(t *testing.T) {
	t.Parallel()
	f := newFake(t)
	config := write(t, "config.json", `{"command": ["sh", "-c", "python3 fix.py && { git diff --quiet HEAD || git commit -am 'Fix <it>'; }"]}`)
	got := f.omoi("run", "x", "--repo", "/r", "--agent", "command", "--execution-config", config, "--dry-run")
	require.Zero(t, got.code, got.err)
	require.Contains(t, got.out, `python3 fix.py && { git diff --quiet HEAD || git commit -am 'Fix <it>'; }`)
}
