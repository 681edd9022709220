//nolint:paralleltest // a process has one runner of commands
package claude_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/omoi-dev/omoi/internal/agent/agentconfig"
)

func validates(b *bench) *bench {
	b.cfg.Mode, b.cfg.Validation = "validation", &agentconfig.Validation{Round: 1, Rounds: 3}
	return b
}

// TestValidator_AskedForItsVerdict checks that a validator without a verdict is asked for one, in the same process.
func TestValidator_AskedForItsVerdict(t *testing.T) {
	const last = "Add tests.\n\nVERDICT: FAILED"
	b := validates(newBench(t, nil, []step{
		{Hear: true}, says("m1", "There are no tests."), ends("There are no tests.", 0.01), {Hear: true}, says("m2", last), ends(last, 0.02), {End: true},
	}))
	require.Equal(t, 0, b.run())
	given := b.server.Verdicts()
	require.Len(t, given, 1)
	require.Equal(t, []any{"task-1", false, "Add tests."}, []any{given[0].TaskID, *given[0].Passed, *given[0].Feedback})
	require.Equal(t, false, b.one("agent.completed")["validation_passed"], "the verdict does not come by two ways")
}

// TestValidator_WithoutVerdict checks a validator that never gives a verdict.
func TestValidator_WithoutVerdict(t *testing.T) {
	unsure := []step{{Hear: true}, says("m1", "VERDICT: PASSED, I think"), ends("VERDICT: PASSED, I think", 0.01)}
	b := validates(newBench(t, nil, append(append(append(unsure, unsure...), unsure...), step{End: true})))
	require.Equal(t, 0, b.run())
	require.Empty(t, b.server.Verdicts())
	b.one("agent.completed")
}
