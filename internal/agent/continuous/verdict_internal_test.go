package continuous

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/omoi-dev/omoi/internal/agent"
)

func TestVerdictOf(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]agent.Verdict{
		"It works.\n\nVERDICT: PASSED":                    {Passed: true, Feedback: "It works."},
		"VERDICT: PASSED":                                 {Passed: true},
		"Add tests.\n- one\n- two\n**VERDICT: FAILED**\n": {Feedback: "Add tests.\n- one\n- two"},
		"No.\n## Verdict: failed.":                        {Feedback: "No."},
	} {
		got, ok := verdictOf(text)
		require.True(t, ok, text)
		require.Equal(t, want, got, text)
	}
	for _, text := range []string{
		"", "It works.", "VERDICT: PASSED\nOr does it?", "I was told to end with VERDICT: PASSED", `VERDICT: PASSED or VERDICT: FAILED`, "VERDICT: MAYBE", "PASSED",
	} {
		_, ok := verdictOf(text)
		require.False(t, ok, text)
	}
}
