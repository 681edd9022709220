//nolint:paralleltest // a process has one runner of commands
package claude_test

import (
	"testing"

	"github.com/stretchr/testify/require"
)

// background returns a result line, and text that a background task causes immediately after it.
func background(text string, cost float64) step {
	return step{Print: ends(text, cost).Print + "\n" + says("later", "The server has started.").Print}
}

// TestContinuous_SignalBeforeATextOfTheBackground checks that the text that ended a turn counts, not text after it.
func TestContinuous_SignalBeforeATextOfTheBackground(t *testing.T) {
	b := newBench(t, nil, []step{{Hear: true}, says("m1", "TASK_COMPLETE"), background("TASK_COMPLETE", 0.01), {End: true}})
	b.cfg.Continuous = true
	require.Equal(t, 0, b.run())
	require.Equal(t, "validation_passed", b.one("continuous.completed")["stop_reason"])
	b.one("iteration.completion_signal")
}

func TestValidator_VerdictBeforeATextOfTheBackground(t *testing.T) {
	const last = "Good.\n\nVERDICT: PASSED"
	b := validates(newBench(t, nil, []step{{Hear: true}, says("m1", last), background(last, 0.01), {End: true}}))
	require.Equal(t, 0, b.run())
	given := b.server.Verdicts()
	require.Len(t, given, 1)
	require.True(t, *given[0].Passed)
}

// TestContinuous_SignalOfAnEarlierTurnDoesNotCount checks that a signal counts in its own turn only.
func TestContinuous_SignalOfAnEarlierTurnDoesNotCount(t *testing.T) {
	b := newBench(t, nil, []step{
		{Hear: true},
		says("m1", "TASK_COMPLETE"), ends("TASK_COMPLETE", 0.01),
		{Hear: true},
		{Write: "ready"},
		ends("", 0.02),
		{Hear: true},
		says("m3", "Now. TASK_COMPLETE"), ends("Now. TASK_COMPLETE", 0.03),
		{End: true},
	})
	b.cfg.Continuous, b.cfg.TestCommand = true, "test -e ready"
	require.Equal(t, 0, b.run())
	require.InDelta(t, 3, b.one("continuous.completed")["iteration_num"], 0)
}
