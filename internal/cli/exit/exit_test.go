package exit_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"testing"

	"github.com/spf13/cobra"
	"github.com/stretchr/testify/require"

	"github.com/omoi-dev/omoi/internal/cli/exit"
	"github.com/omoi-dev/omoi/internal/task"
)

func TestReport(t *testing.T) {
	t.Parallel()
	cause := errors.New("private")
	for _, c := range []struct {
		err  error
		code int
		text string
	}{
		{nil, 0, ""},
		{errors.New("plain"), 1, "omoi: Plain.\n"},
		{exit.Usagef("wrong %s", "flag"), 2, "omoi: Wrong flag.\n"},
		{fmt.Errorf("ask: %w", task.Errorf(task.CodeUnavailable, "No server.").WithCause(cause)), 3, "omoi: No server.\n"},
		{task.Errorf(task.CodeUnauthorized, "Who are you?"), 4, "omoi: Who are you?\n"},
		{task.Invalid("title", "Too long."), 2, "omoi: Too long.\n"},
		{task.Errorf(task.CodeConflict, "Done already."), 1, "omoi: Done already.\n"},
		{fmt.Errorf("wait: %w", context.Canceled), 130, ""},
		{exit.With(exit.Interrupted, context.Canceled), 130, ""},
		{exit.With(exit.Interrupted, errors.New("too long")), 130, "omoi: Too long.\n"},
		{errors.Join(nil, exit.With(exit.Budget, nil)), 5, ""},
	} {
		var out bytes.Buffer
		require.Equal(t, c.code, exit.Report(&out, c.err, false))
		require.Equal(t, c.text, out.String())
	}
	var out bytes.Buffer
	exit.Report(&out, task.Invalid("title", "Too long.").WithCause(cause), true)
	require.JSONEq(t, `{"error":"Too long.","code":"invalid","field":"title","exit_code":2}`, out.String())
}

// Errors of flags, files and servers have the same style.
func TestMessage_HasOneStyle(t *testing.T) {
	t.Parallel()
	for said, want := range map[string]string{
		"the task is empty":                "The task is empty.",
		"There is no such task.":           "There is no such task.",
		"no task. Next: omoi ps":           "No task. Next: omoi ps",
		"omoi run takes one text":          "omoi run takes one text.",
		"--timeout soon: give a time":      "--timeout soon: give a time.",
		`"abc" is too short`:               `"abc" is too short.`,
		"/a/b is a file":                   "/a/b is a file.",
		"sandbox.cpu (parameter): too big": "sandbox.cpu (parameter): too big.",
		"a fits two:\n  x\n  y":            "A fits two:\n  x\n  y",
	} {
		require.Equal(t, want, exit.Message(exit.Usagef("%s", said)))
		require.Equal(t, want, exit.Message(task.Errorf(task.CodeConflict, "%s", said)))
	}
}

// The server names fields of the API, a user knows flags.
func TestInFlags_NamesTheFlag(t *testing.T) {
	t.Parallel()
	has := func(flag string) bool { return flag != "content" }
	for field, want := range map[string]string{
		"repo": "--repo: nothing there.", "usd": "--usd: nothing there.", "wall_clock_s": "--wall-clock: nothing there.",
		"sandbox_s": "--sandbox-time: nothing there.", "budget.usd": "--budget-usd: nothing there.",
		"deadline_at": "--deadline: nothing there.", "max_concurrent_tasks": "--max-concurrent-tasks: nothing there.", "allow_agent_messages": "--allow-agent-messages: nothing there.", "content": "Content: nothing there.",
	} {
		err := exit.InFlags(task.Invalid(field, "%s: nothing there.", field), has)
		require.Equal(t, want, exit.Message(err))
		require.Equal(t, exit.Usage, exit.Code(err))
	}
	require.Equal(t, "--max-concurrent-tasks: give at most 10000.", exit.Message(exit.InFlags(task.Invalid("max_concurrent_tasks", "max_concurrent_tasks: expected number <= 10000."), has)))
	require.Equal(t, "--repo: Give a repo.", exit.Message(exit.InFlags(task.Invalid("repo", "Give a repo."), has)))
	require.NoError(t, exit.InFlags(nil, has))
}

func TestFlag_WrongUsage(t *testing.T) {
	t.Parallel()
	cmd := &cobra.Command{Use: "omoi", SilenceErrors: true, SilenceUsage: true, Run: func(*cobra.Command, []string) {}}
	cmd.SetFlagErrorFunc(exit.Flag)
	cmd.SetArgs([]string{"--tmeout", "1s"})
	err := cmd.Execute()
	require.Equal(t, exit.Usage, exit.Code(err))
	require.Equal(t, "Unknown flag: --tmeout. Next: omoi --help", exit.Message(err))
}
