package scenario

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/omoi-dev/omoi/internal/agent/scripted"
	"github.com/omoi-dev/omoi/internal/cli/exit"
	"github.com/omoi-dev/omoi/internal/client"
	"github.com/omoi-dev/omoi/internal/devstack"
	"github.com/omoi-dev/omoi/internal/task"
)

func TestTheProgramsComputeTheNumber(t *testing.T) {
	t.Parallel()
	require.Equal(t, "126,410,606,437,752", grouped(expected()))
	for _, p := range []program{python(), awk()} {
		t.Run(p.file, func(t *testing.T) {
			t.Parallel()
			if _, err := exec.LookPath(strings.Fields(p.run)[0]); err != nil {
				t.Skipf("SKIPPED: %s is not installed: %v", strings.Fields(p.run)[0], err)
			}
			require.Equal(t, 1, strings.Count(p.source, p.plain), "an edit needs a text that is there once")
			require.Equal(t, expected(), output(t, p, p.source))
			require.Equal(t, grouped(expected()), output(t, p, strings.Replace(p.source, p.plain, p.pretty, 1)))
		})
	}
}

func output(t *testing.T, p program, source string) string {
	t.Helper()
	dir := t.TempDir()
	require.NoError(t, os.WriteFile(filepath.Join(dir, p.file), []byte(source), 0o600))
	cmd := exec.CommandContext(t.Context(), "sh", "-c", p.run)
	cmd.Dir = dir
	out, err := cmd.CombinedOutput()
	require.NoError(t, err, string(out))
	return lastLine(string(out))
}

func TestTheScriptIsWhatAnAgentTakes(t *testing.T) {
	t.Parallel()
	raw, err := execution(t.Context(), python().steps())
	require.NoError(t, err)
	var config struct {
		Script json.RawMessage `json:"script"`
	}
	require.NoError(t, json.Unmarshal(raw, &config))
	script, err := scripted.Parse(config.Script)
	require.NoError(t, err)
	require.Len(t, script.Steps, 8)
}

func newEvent(seq int64, kind, data string) client.Event {
	return client.Event{Attempt: 1, Sequence: seq, Type: kind, Data: json.RawMessage(data), CreatedAt: time.Now()}
}

// good is the report of a demo in which everything went well.
func good() *report {
	p := python()
	branch, url, number, now := "feature/x", "file:///r#pull/1", 1, time.Now()
	edit := `{"diff_preview":"--- a\n+++ b\n+line"}`
	return &report{
		Program: p, Begun: now, Ready: now, Diff: "+" + p.pretty + "\n", Source: p.pretty, Pull: true, History: 40,
		Task: client.Task{
			Status: task.StatusCompleted, Branch: &branch, PullURL: &url, PullNumber: &number, CompletedAt: &now,
			Attempts: []client.Attempt{{Number: 1, Events: 10}},
		},
		Events: []client.Event{
			newEvent(1, "agent.started", `{}`), newEvent(2, "agent.heartbeat", `{}`),
			newEvent(3, "agent.tool_use", `{"tool_use_id":"a","input":{"command":"other"}}`), newEvent(4, "agent.file_edited", edit),
			newEvent(5, "agent.tool_use", `{"tool_use_id":"b","input":{"command":"`+p.run+`"}}`),
			newEvent(6, "agent.tool_result", `{"tool_use_id":"b","result":"`+expected()+`\n"}`), newEvent(7, "agent.file_edited", edit),
			newEvent(8, "agent.tool_use", `{"tool_use_id":"c","input":{"command":"`+p.run+`"}}`),
			newEvent(9, "agent.tool_result", `{"tool_use_id":"c","result":"`+grouped(expected())+`\n"}`), newEvent(10, "agent.completed", `{}`),
		},
		Sandboxes: []client.Sandbox{{ID: "abcdefghijkl", State: task.SandboxGone, GoneAt: &now, VerifiedAt: &now}},
	}
}

func TestDemoChecks_EachCanFail(t *testing.T) {
	t.Parallel()
	require.Empty(t, failures(good().checks()))
	breaks := map[string]func(r *report){
		"the task is completed":                      func(r *report) { r.Task.Status = task.StatusFailed },
		"the program printed C(50,25)":               func(r *report) { r.Events[5].Data = json.RawMessage(`{"tool_use_id":"b","result":"1"}`) },
		"and again with thousands separators":        func(r *report) { r.Events[8].Data = r.Events[5].Data },
		"the branch of the remote holds the program": func(r *report) { r.Source = "" },
		"the diff shows it":                          func(r *report) { r.Diff = "" },
		"there is a pull request record":             func(r *report) { r.Pull = false },
		"event sequence":                             func(r *report) { r.Events = append(r.Events[:1], r.Events[2:]...) },
		"1 started":                                  func(r *report) { r.Events[1].Type = "agent.started" },
		"3 or more tool uses":                        func(r *report) { r.Events[2].Type = "x" },
		"2 file edits with diffs":                    func(r *report) { r.Events[3].Data = json.RawMessage(`{}`) },
		"heartbeats":                                 func(r *report) { r.Events[1].Type = "x" },
		"1 completed":                                func(r *report) { r.Events[9].Type = "x" },
		"1 attempt":                                  func(r *report) { r.Task.Attempts = append(r.Task.Attempts, client.Attempt{}) },
		"every sandbox verified deleted":             func(r *report) { r.Sandboxes[0].VerifiedAt = nil },
		"a history in Temporal":                      func(r *report) { r.History = 0 },
	}
	require.Len(t, breaks, len(good().checks()))
	for name, damage := range breaks {
		r := good()
		damage(r)
		require.Contains(t, failures(r.checks()), name)
	}
	short := good()
	short.Task.Attempts[0].Events = 11
	require.Equal(t, []string{"event sequence"}, failures(short.checks()), "the server knows of one more")
}

// What a model does on the way is its own affair; what it brings is not.
func TestDemoChecks_OfAModelAreFewer(t *testing.T) {
	t.Parallel()
	r := good()
	r.Task.Agent, r.Source, r.Diff = task.AgentClaude, "written otherwise", "+++ b/"+r.Program.file
	r.Events[2].Type, r.Sandboxes = "x", append(r.Sandboxes, r.Sandboxes[0])
	require.Empty(t, failures(r.checks()))
	r.Sandboxes[1].VerifiedAt, r.Source, r.Diff = nil, "", "+++ b/other"
	require.Equal(t, []string{"the branch of the remote holds the program", "the diff shows it", "every sandbox verified deleted"}, failures(r.checks()))
}

func TestDemoPrintsWhatFailed(t *testing.T) {
	t.Parallel()
	var out bytes.Buffer
	d := &demo{cfg: DemoConfig{Stdout: &out, Home: t.TempDir(), Program: "bin/omoi"}, report: *good()}
	d.print(d.report.checks())
	require.Contains(t, out.String(), "\nChecks: 15/15 passed\n")
	require.Contains(t, out.String(), " bin/omoi dev\n")
	d.report.Events[1].Sequence = 3
	d.print(d.report.checks())
	require.Contains(t, out.String(), "\nFAILED: event sequence: expected 2, got 3 in attempt 1\nChecks: 14/15 passed\n")
}

func TestDemoRepository_IsNewAndOldOnesGo(t *testing.T) {
	t.Parallel()
	root := filepath.Join(t.TempDir(), "demo")
	old := filepath.Join(root, "run-old")
	require.NoError(t, os.MkdirAll(old, 0o750))
	require.NoError(t, os.Chtimes(old, time.Time{}, time.Now().Add(-2*keepFor)))
	remote, err := demoRepository(t.Context(), root)
	require.NoError(t, err)
	require.NoDirExists(t, old)
	said, err := git(t.Context(), "-C", remote, "log", "--format=%s", "main")
	require.NoError(t, err)
	require.Equal(t, "Begin", said)
}

func TestRunSaysWhyTheServicesDoNotStart(t *testing.T) {
	t.Parallel()
	for name, start := range map[string]func(context.Context, func(string), func(devstack.Info)) error{
		"no room":                func(context.Context, func(string), func(devstack.Info)) error { return errors.New("no room") },
		"before they were ready": func(context.Context, func(string), func(devstack.Info)) error { return nil },
		"No server answers at http": func(ctx context.Context, _ func(string), ready func(devstack.Info)) error {
			return deadServer(ctx, ready)
		},
	} {
		var out bytes.Buffer
		err := Demo(t.Context(), DemoConfig{Home: t.TempDir(), Start: start, Stdout: &out})
		require.ErrorContains(t, err, name)
		require.NotZero(t, exit.Code(err))
		require.Contains(t, out.String(), "scripted", "it says so before anything else")
	}
}

// deadServer says that it is ready where nobody listens.
func deadServer(ctx context.Context, ready func(devstack.Info)) error {
	ready(devstack.Info{APIURL: "http://127.0.0.1:1"})
	<-ctx.Done()
	return ctx.Err()
}

func TestRunInterrupted(t *testing.T) {
	t.Parallel()
	ctx, cancel := context.WithCancel(t.Context())
	var out bytes.Buffer
	err := Demo(ctx, DemoConfig{Home: t.TempDir(), Program: "omoi", Stdout: &out, Start: func(ctx context.Context, _ func(string), ready func(devstack.Info)) error {
		cancel()
		return deadServer(ctx, ready)
	}})
	require.Equal(t, exit.Interrupted, exit.Code(err))
}
