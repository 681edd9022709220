package taskcmd_test

import (
	"encoding/json"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/omoi-dev/omoi/api/client"
	"github.com/omoi-dev/omoi/internal/cli/exit"
	"github.com/omoi-dev/omoi/internal/task"
)

func TestRun_RequestsValidation(t *testing.T) {
	t.Parallel()
	f := newFake(t)
	f.tasks = []client.Task{aTask(idA, task.StatusPending)}
	script := write(t, "validator.json", `{"steps":[{"verdict":{"passed":true}}]}`)
	for _, args := range [][]string{{"--validate"}, {"--validate=false"}, {"--validator-script", script}, {}} {
		got := f.omoi(append([]string{"run", "Do it", "--repo", "owner/name", "--agent", "claude"}, args...)...)
		require.Zero(t, got.code, got.err)
	}
	require.Equal(t, []*bool{new(true), new(false), new(true), nil}, []*bool{f.created[0].Validate, f.created[1].Validate, f.created[2].Validate, f.created[3].Validate})
	var config task.Execution
	require.NoError(t, json.Unmarshal(f.created[2].Execution, &config))
	require.Equal(t, task.AgentScripted, config.Validator.Agent)
	require.JSONEq(t, `{"steps":[{"verdict":{"passed":true}}]}`, string(config.Validator.Script))
	got := f.omoi("run", "Do it", "--validate=false", "--validator-script", script)
	require.Equal(t, exit.Usage, got.code)
}

func TestReview_NeedsAVerdict(t *testing.T) {
	t.Parallel()
	f := newFake(t)
	f.tasks = []client.Task{aTask(idA, task.StatusValidating)}
	for _, args := range [][]string{{}, {"--approve", "--request-changes", "x"}, {"--request-changes", " "}} {
		got := f.omoi(append([]string{"review", idA}, args...)...)
		require.Equal(t, exit.Usage, got.code, args)
	}
	for _, args := range [][]string{{"--approve"}, {"--request-changes", "add tests"}} {
		got := f.omoi(append([]string{"review", idA}, args...)...)
		require.Zero(t, got.code, got.err)
	}
	require.Equal(t, []string{"verdict " + idA + " ", "verdict " + idA + " "}, f.asked)
}

func TestShow_ListsValidationRounds(t *testing.T) {
	t.Parallel()
	f := newFake(t)
	shown := aTask(idA, task.StatusValidating)
	shown.Rounds, shown.Reviews = 3, []task.Validation{{Round: 1, SandboxID: "box", Attempt: 2, Feedback: "add tests"}}
	f.tasks = []client.Task{shown}
	require.Contains(t, f.omoi("show", idA).out, "Validation\n  round 1 of 3: the validator said no: add tests.")
}
