package claude

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/omoi-dev/omoi/internal/agent"
	"github.com/omoi-dev/omoi/internal/agent/agentconfig"
	"github.com/omoi-dev/omoi/internal/task"
)

func TestFirstPrompt_OfAFork(t *testing.T) {
	t.Parallel()
	env := agent.Env{Restored: "The files are those of checkpoint 2.14.", Config: agentconfig.Config{
		Title: "Say hello", Description: "Use Redis.", Restore: &agentconfig.Restore{Fork: &task.ForkedFrom{TaskKey: "APP-12", Checkpoint: "2.14"}},
	}}
	continues := FirstPrompt(env, true)
	require.Contains(t, continues, "The files are those of checkpoint 2.14.\n\nUp to here, this conversation is that of task APP-12.")
	require.Contains(t, continues, "This task is:\n\nSay hello\n\nUse Redis.")
	begins := FirstPrompt(env, false)
	require.Equal(t, "The files are those of checkpoint 2.14.\n\nSay hello\n\nUse Redis.", begins, "another agent has no session")
}
