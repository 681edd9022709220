package taskcmd_test

import (
	"bytes"
	"net/http"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/omoi-dev/omoi/api/client"
	"github.com/omoi-dev/omoi/internal/cli/exit"
	"github.com/omoi-dev/omoi/internal/cli/taskcmd"
	"github.com/omoi-dev/omoi/internal/task"
)

// overview runs omoi without a command.
func (f *fakeAPI) overview(json bool, env map[string]string) result {
	var out, stderr bytes.Buffer
	err := taskcmd.Overview(f.t.Context(), taskcmd.IO{
		Env: func(name string) string { return env[name] }, JSON: &json, Stdin: strings.NewReader(""), Stdout: &out, Stderr: &stderr,
	})
	return result{code: exit.Report(&stderr, err, json), out: out.String(), err: stderr.String()}
}

func TestOverview_CountsTasksAndNamesTheNextCommand(t *testing.T) {
	t.Parallel()
	f := newFake(t)
	env := map[string]string{"OMOI_API_URL": f.url}
	got := f.overview(false, env)
	require.Zero(t, got.code, got.err)
	require.Regexp(t, `Server +`+f.url, got.out)
	require.Regexp(t, `Tasks +none`, got.out)
	require.Contains(t, got.out, "Next: omoi doctor, or omoi credentials set anthropic", "no agent runtime works")
	require.Contains(t, got.out, "\nNext: omoi run")

	f.tasks = []client.Task{aTask(idA, task.StatusRunning), aTask(idB, task.StatusFailed), aTask(idC, task.StatusFailed)}
	f.tasks[0].Key = "APP-3"
	got = f.overview(false, env)
	require.Regexp(t, `Tasks +1 running, 2 failed\n`, got.out)
	require.Contains(t, got.out, "\nNext: omoi logs -f APP-3\n")
	require.NotContains(t, got.out, "Needs you")
	f.tasks = f.tasks[1:]
	require.Contains(t, f.overview(false, env).out, "\nNext: omoi doctor\n", "no task without an agent's name can run")
}

func TestOverview_ShowsWhatNeedsAUser(t *testing.T) {
	t.Parallel()
	f := newFake(t)
	env := map[string]string{"OMOI_API_URL": f.url}
	review, suspended := aTask(idA, task.StatusPending), aTask(idB, task.StatusPending)
	review.Blocked, suspended.Blocked = task.BlockedReview, task.BlockedUnknownTooLong
	f.tasks = []client.Task{review, suspended, aTask(idC, task.StatusPending)}
	got := f.overview(false, env)
	require.Regexp(t, `Needs you +456789ab  Because\.  Next: omoi review 456789ab --approve\n`, got.out)
	require.Regexp(t, `Needs you +456755cd  Because\.  Next: omoi retry 456755cd\n`, got.out)
	require.Contains(t, got.out, "\nNext: omoi review 456789ab --approve\n")
	require.Regexp(t, `Alert +sandboxes: three stay`, got.out)

	var o struct {
		APIURL    string           `json:"api_url"`
		Info      client.Info      `json:"info"`
		Readiness client.Readiness `json:"readiness"`
		Counts    map[string]int   `json:"task_counts"`
		NeedsUser []client.Task    `json:"needs_user"`
		Next      string           `json:"next"`
	}
	requireJSON(t, f.overview(true, env).out, &o)
	require.Equal(t, f.url, o.APIURL)
	require.Equal(t, map[string]int{"pending": 3}, o.Counts)
	require.Len(t, o.NeedsUser, 2)
	require.NotEmpty(t, o.Readiness.Dependencies)
	require.Equal(t, "omoi review 456789ab --approve", o.Next)

	waits := aTask(idA, task.StatusRunning)
	waits.Group = task.GroupNeedsYou
	f.tasks = []client.Task{aTask(idC, task.StatusPending), waits}
	got = f.overview(false, env)
	require.Regexp(t, `Needs you +456789ab  Because\.  Next: omoi send 456789ab "<text>"\n`, got.out, "its agent waits for a message")
	require.Contains(t, got.out, "\nNext: omoi send 456789ab \"<text>\"\n")
}

func TestOverview_WithoutAServer(t *testing.T) {
	t.Parallel()
	f := newFake(t)
	got := f.overview(false, map[string]string{"OMOI_HOME": t.TempDir()})
	require.Equal(t, exit.Unreachable, got.code)
	require.Equal(t, "No server is running.\nNext: omoi dev\n", got.out)
	require.Empty(t, got.err)
	require.Contains(t, f.overview(true, map[string]string{"OMOI_HOME": t.TempDir()}).out, `"next": "omoi dev"`)
	got = f.overview(false, map[string]string{"OMOI_API_URL": "http://127.0.0.1:1"})
	require.Equal(t, exit.Unreachable, got.code)
	require.Contains(t, got.err, "Next: run omoi dev")
}

func TestRun_PrintsThePlan(t *testing.T) {
	t.Parallel()
	f := newFake(t)
	made := aTask(idA, task.StatusPending)
	made.Key, made.Branch, made.Budget = "APP-12", nil, client.Budget{USD: 5, WallClockS: 7200}
	f.tasks = []client.Task{made}
	f.boxes = []client.Sandbox{{ID: "a", Provider: "docker", Isolation: []string{"userns"}}, {ID: "b", Provider: "local", Isolation: []string{"bubblewrap", "seccomp"}}}
	f.credentials = []client.Credential{{Kind: "anthropic", Scope: "installation"}}
	f.credentials[0].Model = "glm"
	got := f.omoi("run", "Do it", "--repo", "/repo")
	require.Contains(t, got.out, "Agent scripted will run in a sandbox of provider local with bubblewrap, seccomp, on branch feature/APP-12-do-it of /repo, with a budget of $5.00, 2h00m.\n")
	f.tasks[0].Agent, f.tasks[0].Provider, f.tasks[0].Branch, f.tasks[0].Budget = task.AgentClaude, "docker", new("fix/x"), client.Budget{}
	got = f.omoi("run", "Do it", "--repo", "/repo")
	require.Contains(t, got.out, "Agent claude with model glm will run in a sandbox of provider docker with userns, on branch fix/x of /repo, without a budget.\n")
	require.NotContains(t, f.omoi("run", "Do it", "--repo", "/repo", "--json").out, "will run")

	f.credentials = append(f.credentials, client.Credential{Kind: "claude_oauth", Scope: "installation"})
	require.Contains(t, f.omoi("run", "Do it", "--repo", "/repo").out, "Agent claude with its default model", "a server prefers claude_oauth")
}

func TestRun_UsesTheGitHubOrigin(t *testing.T) {
	t.Parallel()
	for origin, want := range map[string]string{
		"git@github.com:Acme/App.git": "acme/app", "https://github.com/acme/app": "acme/app", "/srv/app.git": "", "https://git.example.com/acme/app.git": "",
	} {
		f := newFake(t)
		f.tasks = []client.Task{aTask(idA, task.StatusPending)}
		dir := t.TempDir()
		git(t, dir, "init", "--quiet")
		git(t, dir, "remote", "add", "origin", origin)
		require.Zero(t, f.with(call{dir: dir}, "run", "x").code)
		require.Zero(t, f.with(call{dir: dir}, "run", "x", "--repo", ".").code)
		if want == "" {
			want = f.created[1].Repo
		}
		require.Equal(t, want, f.created[0].Repo, origin)
		require.True(t, strings.HasPrefix(f.created[1].Repo, "/"), "--repo . is the local one")
	}
}

func TestRun_WithoutAnAgentNeedsAUser(t *testing.T) {
	t.Parallel()
	f := newFake(t)
	f.refuse = &client.Problem{Status: http.StatusConflict, Code: task.KindNoAgent, Detail: "Cannot choose an agent. Next: omoi credentials set anthropic"}
	got := f.omoi("run", "x", "--repo", "/r")
	require.Equal(t, exit.NeedsYou, got.code)
	require.Equal(t, "omoi: Cannot choose an agent. Next: omoi credentials set anthropic\n", got.err)
}
