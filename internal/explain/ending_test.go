package explain_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/omoi-dev/omoi/internal/explain"
	"github.com/omoi-dev/omoi/internal/task"
)

func TestInShort_QuotesTheLastLine(t *testing.T) {
	t.Parallel()
	const how = "The command ended with exit code 3 (exited). "
	for reason, want := range map[string]string{
		"It broke.": "It broke.",
		how + task.EndOfOutput + ".\n-----\n\nno disk\n": "The command ended with exit code 3 (exited): no disk",
		how + task.EndOfOutput + "sorry":                 "The command ended with exit code 3 (exited): sorry",
		"The setup step broke. " + task.EndOfOutput:      "The setup step broke: ",
	} {
		require.Equal(t, want, explain.InShort(reason))
	}
}
