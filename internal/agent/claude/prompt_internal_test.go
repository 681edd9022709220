package claude

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/omoi-dev/omoi/internal/agent"
	"github.com/omoi-dev/omoi/internal/agent/agentconfig"
)

func TestSystemPrompt_Modes(t *testing.T) {
	t.Parallel()
	prompt := func(edit func(*agentconfig.Config)) string {
		cfg := agentconfig.Config{Title: "Add", Description: "Add a file", Mode: "implementation", Workspace: "/w", Repo: &agentconfig.Repo{Branch: "feature/x"}}
		edit(&cfg)
		env := agent.Env{Config: cfg}
		return SystemPrompt(env, variables{}) + "\n---\n" + FirstPrompt(env, false)
	}
	work := prompt(func(*agentconfig.Config) {})
	require.Contains(t, work, "push it with `git push origin HEAD`")
	require.NotContains(t, work, "VERDICT")

	explores := prompt(func(c *agentconfig.Config) { c.Mode = "exploration" })
	require.NotContains(t, explores, "git push")

	checks := prompt(func(c *agentconfig.Config) { c.Mode = "validation" })
	require.Contains(t, checks, "Commit nothing and push nothing")
	require.NotContains(t, checks, "VERDICT", "it judges no task")

	judges := prompt(func(c *agentconfig.Config) {
		c.Mode, c.Validation, c.Feedback = "validation", &agentconfig.Validation{Round: 2, Rounds: 3}, "the tests were missing"
	})
	require.Contains(t, judges, `"VERDICT: PASSED"`)
	require.Contains(t, judges, "Commit nothing and push nothing")
	require.Contains(t, judges, "Add a file")
	require.Contains(t, judges, "An earlier round of validation found this missing; look whether it is there now:\n\nthe tests were missing")
	require.NotContains(t, judges, "git push")

	bound := func(c *agentconfig.Config) { c.Contract = "The task contract:\n- Do not change tests." }
	require.Contains(t, prompt(bound), "Add a file\n\nThe task contract:\n- Do not change tests.")
	require.Contains(t, prompt(func(c *agentconfig.Config) { bound(c); c.Validation = &agentconfig.Validation{} }), "must keep the contract of the task. The task contract:\n- Do")

	revises := prompt(func(c *agentconfig.Config) { c.Feedback = "the tests are missing" })
	require.Contains(t, revises, "---\nWhat was said of the attempt before this one:\n\nthe tests are missing", "its first words")
}
