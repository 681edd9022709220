package demo

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
	raw, err := python().script()
	require.NoError(t, err)
	var script struct {
		Steps []map[string]any `json:"steps"`
	}
	require.NoError(t, json.Unmarshal(raw, &script))
	for _, step := range script.Steps {
		require.Len(t, step, 1)
	}
}

func event(seq int64, kind, data string) client.Event {
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
			event(1, "agent.started", `{}`), event(2, "agent.heartbeat", `{}`),
			event(3, "agent.tool_use", `{"tool_use_id":"a","input":{"command":"other"}}`), event(4, "agent.file_edited", edit),
			event(5, "agent.tool_use", `{"tool_use_id":"b","input":{"command":"`+p.run+`"}}`),
			event(6, "agent.tool_result", `{"tool_use_id":"b","result":"`+expected()+`\n"}`), event(7, "agent.file_edited", edit),
			event(8, "agent.tool_use", `{"tool_use_id":"c","input":{"command":"`+p.run+`"}}`),
			event(9, "agent.tool_result", `{"tool_use_id":"c","result":"`+grouped(expected())+`\n"}`), event(10, "agent.completed", `{}`),
		},
		Sandboxes: []client.Sandbox{{ID: "abcdefghijkl", State: task.SandboxGone, GoneAt: &now, VerifiedAt: &now}},
	}
}

func TestFactsHoldAndEachOfThemCanFail(t *testing.T) {
	t.Parallel()
	for _, f := range good().facts() {
		require.True(t, f.Holds, "%s: %s", f.Name, f.Value)
	}
	breaks := map[string]func(r *report){
		"the task is completed":                      func(r *report) { r.Task.Status = task.StatusFailed },
		"the program printed C(50,25)":               func(r *report) { r.Events[5].Data = json.RawMessage(`{"tool_use_id":"b","result":"1"}`) },
		"and again with thousands separators":        func(r *report) { r.Events[8].Data = r.Events[5].Data },
		"the branch of the remote holds the program": func(r *report) { r.Source = "" },
		"the diff shows it":                          func(r *report) { r.Diff = "" },
		"there is a pull request record":             func(r *report) { r.Pull = false },
		"events are complete":                        func(r *report) { r.Events = append(r.Events[:1], r.Events[2:]...) },
		"1 started":                                  func(r *report) { r.Events[1].Type = "agent.started" },
		"3 or more tool uses":                        func(r *report) { r.Events[2].Type = "x" },
		"2 file edits with diffs":                    func(r *report) { r.Events[3].Data = json.RawMessage(`{}`) },
		"heartbeats":                                 func(r *report) { r.Events[1].Type = "x" },
		"1 completed":                                func(r *report) { r.Events[9].Type = "x" },
		"1 attempt":                                  func(r *report) { r.Task.Attempts = append(r.Task.Attempts, client.Attempt{}) },
		"1 sandbox, verified gone":                   func(r *report) { r.Sandboxes[0].VerifiedAt = nil },
		"a history in Temporal":                      func(r *report) { r.History = 0 },
	}
	require.Len(t, breaks, len(good().facts()))
	for _, f := range good().facts() {
		r := good()
		breaks[f.Name](r)
		require.Contains(t, failing(r), f.Name)
	}
	short := good()
	short.Task.Attempts[0].Events = 11
	require.Equal(t, []string{"events are complete"}, failing(short), "the ledger knows of one more")
}

func failing(r *report) (names []string) {
	for _, f := range r.facts() {
		if !f.Holds {
			names = append(names, f.Name)
		}
	}
	return names
}

func TestMakePlaceIsARepositoryWithARemote(t *testing.T) {
	t.Parallel()
	home := t.TempDir()
	old := filepath.Join(home, "demo", "run-old")
	require.NoError(t, os.MkdirAll(old, 0o750))
	require.NoError(t, os.Chtimes(old, time.Time{}, time.Now().Add(-2*keepFor)))
	p, err := makePlace(t.Context(), home)
	require.NoError(t, err)
	require.NoDirExists(t, old)
	text, err := p.branchHolds(t.Context(), "main", "README.md")
	require.NoError(t, err)
	require.Contains(t, text, "throw-away")
	_, err = p.branchHolds(t.Context(), "nowhere", "README.md")
	require.Error(t, err)
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
		err := Run(t.Context(), Config{Home: t.TempDir(), Start: start, Stdout: &out})
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
	err := Run(ctx, Config{Home: t.TempDir(), Program: "omoi", Stdout: &out, Start: func(ctx context.Context, _ func(string), ready func(devstack.Info)) error {
		cancel()
		return deadServer(ctx, ready)
	}})
	require.Equal(t, exit.Interrupted, exit.Code(err))
}
