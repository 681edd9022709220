package checkpoint_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/omoi-dev/omoi/internal/checkpoint"
)

func TestParseID(t *testing.T) {
	t.Parallel()
	id, err := checkpoint.ParseID("2.14")
	require.NoError(t, err)
	require.Equal(t, checkpoint.ID{Attempt: 2, Number: 14}, id)
	for _, text := range []string{"", "2", "2.", ".1", "-0.1", "1.0", "02.1", "1.+1", "1.1.1", "a.b", "-1.1", "2147483648.1", "1.99999999999"} {
		_, err := checkpoint.ParseID(text)
		require.ErrorContains(t, err, "names no checkpoint", text)
	}
}

func TestSegments(t *testing.T) {
	t.Parallel()
	of := func(number, base int) checkpoint.Checkpoint {
		return checkpoint.Checkpoint{Number: number, Sealed: checkpoint.Sealed{Base: base}}
	}
	got := checkpoint.Segments([]checkpoint.Checkpoint{of(2, 1), of(3, 0), of(4, 3), of(5, 4), of(7, 4), of(8, 7), of(9, 0), of(11, 10)})
	require.Equal(t, [][]checkpoint.Checkpoint{{of(3, 0), of(4, 3), of(7, 4), of(8, 7)}, {of(9, 0)}}, got)
	require.Empty(t, checkpoint.Segments([]checkpoint.Checkpoint{of(2, 2), of(3, 4)}))
}
