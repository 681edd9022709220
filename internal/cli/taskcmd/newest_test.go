package taskcmd_test

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/omoi-dev/omoi/api/client"
	"github.com/omoi-dev/omoi/internal/task"
)

// aCheck returns a task of omoi check.
func aCheck(id string) client.Task {
	t := aTask(id, task.StatusCompleted)
	t.Title, t.TaskType = "omoi check agent", client.TypeCheck
	return t
}

func TestLists_OmitChecks(t *testing.T) {
	t.Parallel()
	f := newFake(t)
	f.tasks = []client.Task{aCheck(idC), aTask(idA, task.StatusCompleted), aTask(idB, task.StatusFailed)}
	require.Contains(t, f.omoi("show", "-").out, idA)

	got := f.omoi("ps")
	require.NotContains(t, got.out, "omoi check agent")
	require.Contains(t, got.out, "456789ab")
	require.Contains(t, got.err, "Next: omoi ps --all")
	require.Contains(t, f.omoi("ps", "-a").out, "omoi check agent")
	require.NotContains(t, f.omoi("ps", "-a").err, "hidden")

	offered := f.omoi("__complete", "show", "").out
	require.Contains(t, offered, "456789ab")
	require.NotContains(t, offered, "omoi check")

	one := f.omoi("ps", "-n", "1")
	require.Len(t, strings.Split(strings.TrimSpace(one.out), "\n"), 2, "a head and one task")
	require.Contains(t, one.err, "There are more")
	require.NotContains(t, f.omoi("ps", "-n", "2").err, "There are more", "what is left out is none of them")

	f.tasks = f.tasks[:1]
	require.Contains(t, f.omoi("show", "-").err, "No tasks yet")
	require.Contains(t, f.omoi("ps").out, "No tasks")
}

func TestCompletion_FlagValues(t *testing.T) {
	t.Parallel()
	f := newFake(t)
	for line, want := range map[string]string{
		"run --agent ":                  "claude",
		"run --provider ":               "docker",
		"run --priority ":               "CRITICAL",
		"run --script ex":               "example:hello",
		"ps --status ":                  "pending_validation",
		"project update --on-feedback ": "revise",
		"keys create --scope ":          "admin",
		"sandbox events --type ":        "agent.heartbeat",
		"organization update --plan ":   "team",
		"guardian corpus add --label ":  "duplicate",
	} {
		offered := f.omoi(append([]string{"__complete"}, strings.Split(line, " ")...)...)
		require.Contains(t, offered.out, want, line)
	}
}

func TestFlags_WrongValuesAreNamedWithTheRightOnes(t *testing.T) {
	t.Parallel()
	f := newFake(t)
	for line, want := range map[string]string{
		"budget - --usd abc":         `invalid value "abc" of --usd: must be a number. Next: omoi budget --help`,
		"run x --max-retries many":   `invalid value "many" of --max-retries: must be a whole number. Next: omoi run --help`,
		"budget - --wall-clock soon": `invalid value "soon" of --wall-clock: must be a duration, for example 90s, 15m or 4h. Next: omoi budget --help`,
	} {
		got := f.omoi(strings.Fields(line)...)
		require.Equal(t, 2, got.code, line)
		require.Contains(t, strings.ToLower(got.err), strings.ToLower(want), line)
	}
}
