package scripted

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/omoi-dev/omoi/internal/agent/diff"
)

func TestSentenceOfAChange(t *testing.T) {
	t.Parallel()
	after := "a\n"
	require.Equal(t, "x: created, 1 line added, 0 removed.", sentence(diff.Text("x", nil, &after)))
	more := "a\nb\nc\n"
	require.Equal(t, "x: modified, 2 lines added, 0 removed.", sentence(diff.Text("x", &after, &more)))
}
