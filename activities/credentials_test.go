package activities_test

import (
	"context"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/omoi-dev/omoi/internal/agent/agentconfig"
	"github.com/omoi-dev/omoi/internal/task"
)

// purse is what every task is given.
type purse struct {
	env   map[string]string
	err   error
	given int
}

func (p *purse) ForTask(context.Context, task.Work) (map[string]string, error) { return p.env, p.err }

func (p *purse) Give(context.Context, task.Work) (map[string]string, error) {
	p.given++
	return p.env, p.err
}

func TestCredentials_OfTheTasksUser(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	own := &purse{env: map[string]string{"ANTHROPIC_API_KEY": "sk-alice", "OPENAI_API_KEY": "openai-alice", "TASK_ID": "x"}}
	b.credentials, b.store.work.UserID = own, "alice"
	b.store.work.Execution.Env = map[string]string{"OPENAI_API_KEY": "of-the-task", "USER_ID": "mallory"}
	at := b.running()
	require.Equal(t, uint32(0o600), at.modes[agentconfig.ConfigPath])
	env := b.agentConfig().Env
	require.Equal(t, "sk-alice", env["ANTHROPIC_API_KEY"])
	require.Equal(t, "of-the-task", env["OPENAI_API_KEY"], "what the task sets wins")
	require.Equal(t, "alice", env["USER_ID"], "the user of a task cannot be changed")
	require.Equal(t, taskID, env["TASK_ID"])
	require.Equal(t, 1, own.given)
}

// A task that lacks a credential ends before anything is made, and is not tried again.
func TestCredentials_MissingIsFinal(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	own := &purse{err: task.Errorf(task.CodeNotFound, "There is no GitHub token for this task. Next: omoi credentials set github")}
	b.credentials = own
	app, details := refused(t, act(b, b.activities().EnsureSandbox, b.ref()))
	require.Equal(t, string(task.ClassCredentials), app.Type())
	require.True(t, app.NonRetryable())
	require.Contains(t, app.Message(), "Next: omoi credentials set github")
	require.Equal(t, task.ClassCredentials, details.Class)
	require.Empty(t, b.provider.boxes)
	require.Equal(t, task.SandboxIntended, b.store.rows[boxID].State)
	require.Zero(t, own.given)

	own.err = task.Errorf(task.CodeUnavailable, "The database does not answer.")
	app, _ = refused(t, act(b, b.activities().EnsureSandbox, b.ref()))
	require.False(t, app.NonRetryable(), "that is no answer")
}
