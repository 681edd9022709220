package textcut_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/omoi-dev/omoi/internal/agent/textcut"
)

func TestTail(t *testing.T) {
	t.Parallel()
	tail := &textcut.Tail{Max: 3}
	for _, step := range []struct{ text, want string }{{"", ""}, {"ab", "ab"}, {"cd", "bcd"}, {"efghijk", "ijk"}, {"l", "jkl"}} {
		n, err := tail.Write([]byte(step.text))
		require.NoError(t, err)
		require.Equal(t, len(step.text), n)
		require.Equal(t, step.want, string(tail.Bytes()))
	}
}
