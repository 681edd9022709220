package credential_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/omoi-dev/omoi/internal/credential"
	"github.com/omoi-dev/omoi/internal/task"
)

func workOf(agent string) task.Work {
	return task.Work{TaskID: "t", OrganizationID: org, UserID: alice, ProjectID: shop, Agent: agent}
}

// A sandbox gets the credential that its agent needs, or the named ones, and no other.
func TestGive_ReturnsWhatTheAgentNeeds(t *testing.T) {
	t.Parallel()
	b := newBench(t, nil)
	b.set(credential.Who{UserID: alice}, credential.GitHub, "ghp_of_alice")
	b.set(credential.Who{UserID: alice}, "openai", "openai-of-alice")
	b.set(credential.Who{UserID: bob}, credential.ClaudeOAuth, "sk-ant-oat01-bob")
	_, err := b.service.Set(t.Context(), credential.Place{Who: credential.Who{OrganizationID: org, UserID: alice}, Kind: credential.Anthropic}, credential.Value{
		Secret: "sk-ant-alice", BaseURL: "https://host", Models: credential.Models{Model: "m", Haiku: "h"},
	})
	require.NoError(t, err)
	env := func(work task.Work) map[string]string {
		t.Helper()
		got, err := b.service.Give(t.Context(), work)
		require.NoError(t, err)
		return got
	}
	model := map[string]string{
		"ANTHROPIC_API_KEY": "sk-ant-alice", "ANTHROPIC_BASE_URL": "https://host", "MODEL": "m", "ANTHROPIC_MODEL": "m",
		"ANTHROPIC_DEFAULT_MODEL": "m", "ANTHROPIC_DEFAULT_HAIKU_MODEL": "h",
	}
	require.Equal(t, model, env(workOf(task.AgentClaude)))
	require.Equal(t, model, env(workOf(task.AgentCommand)))
	require.Empty(t, env(workOf(task.AgentScripted)))
	require.Empty(t, env(workOf(task.AgentExternal)))

	named := workOf(task.AgentScripted)
	named.Execution.Credentials = []string{credential.GitHub, "openai"}
	require.Equal(t, map[string]string{"GITHUB_TOKEN": "ghp_of_alice", "GH_TOKEN": "ghp_of_alice", "OPENAI_API_KEY": "openai-of-alice"}, env(named))
	named.Agent, named.Execution.Credentials = task.AgentClaude, []string{}
	require.Empty(t, env(named), "it asks for none")
	own := workOf(task.AgentClaude)
	own.Execution.Env = map[string]string{"ANTHROPIC_API_KEY": "sk-own"}
	require.Empty(t, env(own), "it brings its own")
	require.Len(t, b.used, 4)
}

// An attempt of a command agent without a credential is recorded, since its rate limits apply to no other task.
func TestGive_RecordsThatNoCredentialExists(t *testing.T) {
	t.Parallel()
	b := newBench(t, nil)
	_, err := b.service.Give(t.Context(), workOf(task.AgentCommand))
	require.NoError(t, err)
	require.Equal(t, []string{"none t"}, b.used)
	b.set(credential.Who{UserID: alice}, credential.Anthropic, "sk-ant-alice")
	_, err = b.service.Give(t.Context(), workOf(task.AgentCommand))
	require.NoError(t, err)
	require.Len(t, b.used, 2)
	require.NotContains(t, b.used[1], "none")
}

func TestForTask_BearerKey(t *testing.T) {
	t.Parallel()
	b := newBench(t, map[string]credential.Value{credential.Anthropic: {Secret: "zai-key-0123", Bearer: true, BaseURL: "https://api.z.ai"}})
	got, err := b.service.ForTask(t.Context(), workOf(task.AgentClaude))
	require.NoError(t, err)
	require.Equal(t, map[string]string{"ANTHROPIC_AUTH_TOKEN": "zai-key-0123", "ANTHROPIC_BASE_URL": "https://api.z.ai"}, got)
}

func TestForTask_MissingCredential(t *testing.T) {
	t.Parallel()
	b := newBench(t, nil)
	_, err := b.service.ForTask(t.Context(), workOf(task.AgentClaude))
	require.Equal(t, task.CodeNotFound, task.CodeOf(err))
	require.ErrorContains(t, err, "Next: omoi credentials set anthropic")
	got, err := b.service.ForTask(t.Context(), workOf(task.AgentCommand))
	require.NoError(t, err, "a program may need none")
	require.Empty(t, got)
	b.set(credential.Who{UserID: alice}, "openai", "openai-of-alice")
	named := workOf(task.AgentScripted)
	named.Execution.Credentials = []string{"openai", credential.GitHub}
	got, err = b.service.ForTask(t.Context(), named)
	require.ErrorContains(t, err, "Next: omoi credentials set github")
	require.Equal(t, map[string]string{"OPENAI_API_KEY": "openai-of-alice"}, got, "so that it can be hidden")
}

// A configured endpoint may need no key.
func TestForTask_EndpointWithoutKey(t *testing.T) {
	t.Parallel()
	b := newBench(t, map[string]credential.Value{credential.Anthropic: {BaseURL: "http://models:8080"}})
	got, err := b.service.ForTask(t.Context(), workOf(task.AgentClaude))
	require.NoError(t, err)
	require.Equal(t, map[string]string{"ANTHROPIC_BASE_URL": "http://models:8080"}, got)
	tenant := workOf(task.AgentClaude)
	tenant.OrganizationID = "tenant"
	_, err = b.service.ForTask(t.Context(), tenant)
	require.Error(t, err)
}

// An agent of another model provider gets the credential of that provider, and no other.
func TestGive_ByKindOfModelProvider(t *testing.T) {
	t.Parallel()
	b := newBench(t, map[string]credential.Value{credential.Anthropic: {BaseURL: "http://models:8080"}})
	for _, kind := range []string{credential.Anthropic, "openai", "google", "openrouter"} {
		b.set(credential.Who{UserID: alice}, kind, kind+"-of-alice")
	}
	for agent, want := range map[string]map[string]string{
		"codex": {"OPENAI_API_KEY": "openai-of-alice"}, "qwen": {"OPENAI_API_KEY": "openai-of-alice"},
		"gemini": {"GOOGLE_API_KEY": "google-of-alice"}, "opencode": {"OPENROUTER_API_KEY": "openrouter-of-alice"},
	} {
		got, err := b.service.Give(t.Context(), workOf(agent))
		require.NoError(t, err)
		require.Equal(t, want, got, agent)
		require.True(t, credential.ReachesModel(agent, got))
	}
	_, err := b.service.Give(t.Context(), workOf("copilot"))
	require.ErrorContains(t, err, "Next: omoi credentials set github_copilot")
	own := workOf("codex")
	own.Execution.Env = map[string]string{"OPENAI_BASE_URL": "http://own"}
	got, err := b.service.Give(t.Context(), own)
	require.NoError(t, err)
	require.Empty(t, got, "it brings its own")
	for _, name := range []string{"PATH", "ANTHROPIC_API_KEY", "STRIPE_API_KEY"} { // of the task's tests
		own.Execution.Env = map[string]string{name: "x"}
		got, err = b.service.Give(t.Context(), own)
		require.NoError(t, err)
		require.Equal(t, map[string]string{"OPENAI_API_KEY": "openai-of-alice"}, got, name)
	}
}
