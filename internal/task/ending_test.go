package task_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/omoi-dev/omoi/internal/task"
)

func TestSqueezedHasNoBlankLines(t *testing.T) {
	t.Parallel()
	require.Equal(t, "a\nb\nc", task.Squeezed("a\n\nb\n \t\n\nc"))
	require.Equal(t, "a\n  b", task.Squeezed("a\n\n  b"), "what is indented stays so")
}
