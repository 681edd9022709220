package credential_test

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/omoi-dev/omoi/internal/credential"
	"github.com/omoi-dev/omoi/internal/task"
)

func rowOf(id string, w credential.Who, kind string) credential.Row {
	w.OrganizationID = org
	return credential.Row{Place: credential.Place{Who: w, Kind: kind}, ID: id, UpdatedAt: time.UnixMicro(7)}
}

// Admission and the agent's environment use the same precedence: user, project, organization, installation.
func TestChoose_FollowsThePrecedence(t *testing.T) {
	t.Parallel()
	work := task.Work{TaskID: "t1", OrganizationID: org, UserID: alice, ProjectID: shop, Agent: task.AgentClaude}
	require.Equal(t, "installation model", credential.Choose(nil, work, credential.Rules{}).Name)
	rows := []credential.Row{rowOf("all", credential.Who{}, credential.Anthropic), rowOf("bobs", credential.Who{UserID: bob}, credential.Anthropic)}
	require.Equal(t, "all 7", credential.Choose(rows, work, credential.Rules{}).Name, "never another user's")
	rows = append(rows, rowOf("shops", credential.Who{ProjectID: shop}, credential.Anthropic), rowOf("others", credential.Who{ProjectID: "x"}, credential.Anthropic))
	require.Equal(t, "shops 7", credential.Choose(rows, work, credential.Rules{}).Name)
	rows = append(rows, rowOf("sub", credential.Who{ProjectID: shop}, credential.ClaudeOAuth))
	require.Equal(t, "sub 7", credential.Choose(rows, work, credential.Rules{}).Name, "a subscription goes before a key")
	rows = append(rows, rowOf("own", credential.Who{UserID: alice}, credential.Anthropic))
	require.Equal(t, "own 7", credential.Choose(rows, work, credential.Rules{}).Name, "a nearer key goes before a subscription")
}

func TestChoose_IsOfTheTaskIfTheCredentialIsUnknown(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		agent     string
		execution task.Execution
		want      string
	}{
		"needs none":     {task.AgentScripted, task.Execution{}, "task t1"},
		"command":        {task.AgentCommand, task.Execution{}, "installation model"},
		"own variables":  {task.AgentClaude, task.Execution{Env: map[string]string{"ANTHROPIC_API_KEY": "own"}}, "task t1"},
		"wants none":     {task.AgentCommand, task.Execution{Credentials: []string{}}, "task t1"},
		"several":        {task.AgentCommand, task.Execution{Credentials: []string{"openai", "mistral"}}, "task t1"},
		"one, and git's": {task.AgentCommand, task.Execution{Credentials: []string{"openai", "github"}}, "installation openai"},
		"of a provider":  {"codex", task.Execution{}, "installation openai"},
		"another's":      {"opencode", task.Execution{Credentials: []string{"anthropic"}}, "installation anthropic"},
		"one of Claude":  {task.AgentClaude, task.Execution{Credentials: []string{"openai", "model"}}, "installation model"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			got := credential.Choose(nil, task.Work{TaskID: "t1", OrganizationID: org, Agent: c.agent, Execution: c.execution}, credential.Rules{}).Name
			require.Equal(t, c.want, got)
			require.Equal(t, c.want != "task t1", credential.IsShared(got))
			require.False(t, credential.IsStored(got))
		})
	}
}
