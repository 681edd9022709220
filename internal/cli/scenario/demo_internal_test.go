package scenario

import (
	"context"
	"encoding/json"
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/omoi-dev/omoi/api/client"
	"github.com/omoi-dev/omoi/internal/agent/scripted"
	"github.com/omoi-dev/omoi/internal/cli/exit"
	"github.com/omoi-dev/omoi/internal/devstack"
)

func TestProgram_ComputesTheNumber(t *testing.T) {
	t.Parallel()
	require.Equal(t, "126,410,606,437,752", grouped(expected()))
	if _, err := exec.LookPath("awk"); err != nil {
		t.Skipf("SKIPPED: awk is not installed: %v", err)
	}
	require.Equal(t, 1, strings.Count(program, plainLine), "an edit needs a text that is there once")
	require.Equal(t, expected(), output(t, program))
	require.Equal(t, grouped(expected()), output(t, strings.Replace(program, plainLine, prettyLine, 1)))
}

func output(t *testing.T, source string) string {
	t.Helper()
	dir := t.TempDir()
	require.NoError(t, os.WriteFile(filepath.Join(dir, programFile), []byte(source), 0o600))
	cmd := exec.CommandContext(t.Context(), "sh", "-c", programRun)
	cmd.Dir = dir
	out, err := cmd.CombinedOutput()
	require.NoError(t, err, string(out))
	return strings.TrimSpace(string(out))
}

func TestExampleSteps_AreAValidScript(t *testing.T) {
	t.Parallel()
	raw, err := execution(t.Context(), exampleSteps())
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

// good returns the events of a successful demo.
func good() history {
	edit := `{"diff_preview":"--- a\n+++ b\n+line"}`
	return history{
		newEvent(1, "agent.started", `{}`), newEvent(2, "agent.heartbeat", `{}`),
		newEvent(3, "agent.tool_use", `{"tool_use_id":"a","input":{"command":"other"}}`), newEvent(4, "agent.file_edited", edit),
		newEvent(5, "agent.tool_use", `{"tool_use_id":"b","input":{"command":"`+programRun+`"}}`),
		newEvent(6, "agent.tool_result", `{"tool_use_id":"b","result":"`+expected()+`\n"}`), newEvent(7, "agent.file_edited", edit),
		newEvent(8, "agent.tool_use", `{"tool_use_id":"c","input":{"command":"`+programRun+`"}}`),
		newEvent(9, "agent.tool_result", `{"tool_use_id":"c","result":"`+grouped(expected())+`\n"}`), newEvent(10, "agent.completed", `{}`),
	}
}

func TestDemoEvents_EachKindIsRequired(t *testing.T) {
	t.Parallel()
	require.Empty(t, good().missing()+good().unprinted())
	for want, damage := range map[string]func(h history){
		"0 are agent.started and 1 are agent.completed": func(h history) { h[0].Type = "x" },
		"2 are agent.started":                           func(h history) { h[1].Type = "agent.started" },
		"1 are agent.started and 0 are agent.completed": func(h history) { h[9].Type = "x" },
		"event 4 has the sequence 5":                    func(h history) { h[3].Sequence = 5 },
		"no event is a heartbeat":                       func(h history) { h[1].Type = "x" },
		"1 have the output of the program":              func(h history) { h[4].Type = "x" },
		`2 have the output of the program: ["1"`:        func(h history) { h[5].Data = json.RawMessage(`{"tool_use_id":"b","result":"1"}`) },
		"2 have the":                                    func(h history) { h[8].Data = json.RawMessage(`{"tool_use_id":"c","result":"1"}`) },
	} {
		h := good()
		damage(h)
		require.Contains(t, h.missing()+h.unprinted(), want)
	}
}

func TestDemoRepository_RemovesOldOnes(t *testing.T) {
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

// opened returns the error of Open with a start function that never gets ready.
func opened(ctx context.Context, t *testing.T, start func(context.Context, func(string), func(devstack.Info)) error) error {
	t.Helper()
	_, _, err := Services{Home: t.TempDir(), Start: start, Progress: func(string) {}}.Open(ctx)
	return err
}

func TestServices_StartupFailure(t *testing.T) {
	t.Parallel()
	err := opened(t.Context(), t, func(context.Context, func(string), func(devstack.Info)) error { return errors.New("no room") })
	require.ErrorContains(t, err, "start the services: no room")
	err = opened(t.Context(), t, func(context.Context, func(string), func(devstack.Info)) error { return nil })
	require.ErrorContains(t, err, "before they were ready")
}

func TestServices_InterruptedDuringStartup(t *testing.T) {
	t.Parallel()
	ctx, cancel := context.WithCancel(t.Context())
	err := opened(ctx, t, func(ctx context.Context, _ func(string), _ func(devstack.Info)) error {
		cancel()
		<-ctx.Done()
		return ctx.Err()
	})
	require.Equal(t, exit.Interrupted, exit.Code(err))
}

// An interrupt does not stop the services, so that the demo can end its task.
func TestServices_ContinueAfterAnInterrupt(t *testing.T) {
	t.Parallel()
	home := t.TempDir()
	synctest.Test(t, func(t *testing.T) {
		ctx, cancel := context.WithCancel(t.Context())
		ended := false
		s := Services{Home: home, Progress: func(string) {}, Start: func(ctx context.Context, _ func(string), ready func(devstack.Info)) error {
			ready(devstack.Info{APIURL: "http://127.0.0.1:1"})
			<-ctx.Done()
			ended = true
			return ctx.Err()
		}}
		info, stop, err := s.Open(ctx)
		require.NoError(t, err)
		require.Equal(t, "http://127.0.0.1:1", info.APIURL)
		cancel()
		synctest.Wait()
		require.False(t, ended, "the services ended with the interrupt")
		require.NoError(t, stop())
		require.True(t, ended)
	})
}
