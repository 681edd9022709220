package activities

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/omoi-dev/omoi/internal/agent/agentconfig"
	"github.com/omoi-dev/omoi/internal/task"
)

func validating() task.Work {
	return task.Work{
		TaskID: "t", Title: "Add", Description: "Add a file", Mode: task.ModeImplementation, Agent: task.AgentClaude, Continuous: true, Repo: "o/r",
		PhaseID: "PHASE_TESTING", Validates: true, Round: 2, Rounds: 3, WorkSandbox: "work", WorkHead: "beef", Feedback: "add tests",
		Execution: task.Execution{
			Script: []byte(`{}`), WaitForMessages: true, Validator: task.Validator{Agent: task.AgentCommand, Command: []string{"check"}},
		},
	}
}

func TestStartAgent_ConfiguresAValidator(t *testing.T) {
	t.Parallel()
	work := asGiven(validating())
	require.Equal(t, []any{task.ModeValidation, task.AgentCommand, false, false}, []any{work.Mode, work.Agent, work.Continuous, work.Execution.WaitForMessages})
	require.Equal(t, []string{"check"}, work.Execution.Command)
	require.Empty(t, work.Execution.Script)
	require.Equal(t, &agentconfig.Validation{Round: 2, Rounds: 3}, validation(work))
	work.Execution.Env = map[string]string{"AGENT_TYPE": "mine", "VALIDATION_ITERATION": "9"}
	env := workerEnv(work, Phase{AgentType: "planner"}, nil, "", reportsTo{"box", "http://x"})
	for name, want := range map[string]string{
		"EXECUTION_MODE": "validation", "CONTINUOUS_MODE": "false", "AGENT_TYPE": "validator", "VALIDATION_MODE": "true",
		"VALIDATION_ITERATION": "2", "ORIGINAL_TASK_ID": "t", "ORIGINAL_SANDBOX_ID": "work",
	} {
		require.Equal(t, want, env[name], name)
	}
	require.Contains(t, env["INITIAL_PROMPT"], "Add a file")
	require.Contains(t, env["INITIAL_PROMPT"], "add tests")
	require.NotContains(t, env, "REQUIRE_CODE_PUSHED")
}

func TestWorkerEnvironment_ByPhaseAndMode(t *testing.T) {
	t.Parallel()
	env := workerEnv(task.Work{Title: "Add a file"}, Phase{}, nil, "", reportsTo{"box", "http://x"})
	require.Equal(t, []string{"implementer", "Add a file"}, []string{env["AGENT_TYPE"], env["TASK_DESCRIPTION"]})
	for _, name := range []string{"VALIDATION_MODE", "ALLOWED_TOOLS", "SYSTEM_PROMPT_APPEND"} {
		require.NotContains(t, env, name)
	}
	planner := Phase{AgentType: "planner", Tools: "Read,Grep", Prompt: "Plan first."}
	env = workerEnv(task.Work{Title: "Add", Description: "Add a file"}, planner, nil, "", reportsTo{"box", "http://x"})
	require.Equal(t, []string{"planner", "Read,Grep", "Plan first.", "Add a file"},
		[]string{env["AGENT_TYPE"], env["ALLOWED_TOOLS"], env["SYSTEM_PROMPT_APPEND"], env["TASK_DESCRIPTION"]})
	for mode, want := range map[string]string{"implementation": "true", "validation": "false", "exploration": "false"} {
		env := workerEnv(task.Work{Mode: mode, Continuous: true, Repo: "o/r"}, Phase{}, nil, "", reportsTo{"box", "http://x"})
		require.Equal(t, []string{want, want, "false"}, []string{env["REQUIRE_CLEAN_GIT"], env["REQUIRE_CODE_PUSHED"], env["REQUIRE_PR_CREATED"]}, mode)
	}
}

func TestSalvage_ValidatorWithoutChangesLeavesNothing(t *testing.T) {
	t.Parallel()
	require.True(t, untouched(validating(), agentconfig.Collected{Head: "beef", Commits: 2}))
	require.False(t, untouched(validating(), agentconfig.Collected{Head: "f00d", Commits: 3}))
	require.False(t, untouched(task.Work{WorkHead: "beef"}, agentconfig.Collected{Head: "beef"}), "of an attempt that works the branch is asked")
}

func TestPullRequest_NamesItsValidations(t *testing.T) {
	t.Parallel()
	require.Empty(t, reviewLines(task.Task{}))
	text := reviewLines(task.Task{Rounds: 3, Reviews: []task.Validation{
		{Round: 1, SandboxID: "v", Attempt: 2, Feedback: "add\ntests <!-- x"}, {Round: 2, Passed: true},
	}})
	require.Equal(t, "- round 1 of 3: the validator said no: add tests <\u200b!-- x. (attempt 2, sandbox `v`)\n- round 2 of 3: a person accepted the work", text)
}

func TestModelPrices_OfTheProjectOverrideTheConfigured(t *testing.T) {
	t.Parallel()
	a := &Activities{cfg: Config{ModelPrices: "a=1/2", PricesDate: "2026-10-01"}}
	env := a.priced(task.Work{}, map[string]string{"OMOI_MODEL_PRICES": "a=0/0"})
	require.Equal(t, []string{"a=1/2", "2026-10-01"}, []string{env["OMOI_MODEL_PRICES"], env["OMOI_MODEL_PRICES_DATE"]})
	env = a.priced(task.Work{ModelPrices: "a=3/4"}, map[string]string{})
	require.Equal(t, []string{"a=3/4,a=1/2", ""}, []string{env["OMOI_MODEL_PRICES"], env["OMOI_MODEL_PRICES_DATE"]})
}
