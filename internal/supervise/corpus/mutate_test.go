package corpus_test

import (
	"math"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/omoi-dev/omoi/internal/supervise"
	"github.com/omoi-dev/omoi/internal/supervise/corpus"
)

func healthy(t *testing.T, name string) *corpus.Trajectory {
	t.Helper()
	list := recorded(t)
	for i := range list {
		if list[i].Name == name {
			return &list[i]
		}
	}
	require.Fail(t, "no trajectory "+name)
	return nil
}

func TestMutate(t *testing.T) {
	t.Parallel()
	run := healthy(t, "healthy-small-fix")
	labels := map[string]supervise.Label{
		"loop": supervise.LabelLoop, "weakened-test": supervise.LabelCheating,
		"destructive-command": supervise.LabelDrift, "wrong-directory": supervise.LabelDrift,
	}
	require.Len(t, corpus.Mutators(), len(labels))
	for _, name := range corpus.Mutators() {
		for seed := range uint64(20) {
			made, err := corpus.Mutate(run, name, seed)
			require.NoError(t, err)
			again, err := corpus.Mutate(run, name, seed)
			require.NoError(t, err)
			require.Equal(t, made, again, "a seed gives the same trajectory")
			require.Equal(t, labels[name], made.Label)
			require.Equal(t, "mutator "+name, made.Kind())
			require.Greater(t, len(made.Events), len(run.Events))
			require.Equal(t, run.Events[len(run.Events)-1].Type, made.Events[len(made.Events)-1].Type, "the run goes on after the fault")
			for i := range made.Events {
				require.Equal(t, int64(i+1), made.Events[i].Sequence)
				require.True(t, i == 0 || made.Events[i].MS >= made.Events[i-1].MS, "times do not go back")
			}
		}
	}
	require.Equal(t, healthy(t, "healthy-small-fix"), run, "the recorded run stays")
}

func TestMutate_Invalid(t *testing.T) {
	t.Parallel()
	_, err := corpus.Mutate(healthy(t, "healthy-small-fix"), "typo", 1)
	require.ErrorContains(t, err, "unknown mutator")
	_, err = corpus.Mutate(healthy(t, "loop-same-read"), "loop", 1)
	require.ErrorContains(t, err, "not a healthy recorded run")
	made, err := corpus.Mutate(healthy(t, "healthy-small-fix"), "loop", 1)
	require.NoError(t, err)
	_, err = corpus.Mutate(&made, "loop", 1)
	require.Error(t, err)
	_, err = corpus.Mutate(healthy(t, "healthy-waits-as-meant"), "loop", 1)
	require.ErrorContains(t, err, "fewer than two tool calls")
}

func TestCount_Interval(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		count     corpus.Count
		low, high float64
	}{
		{corpus.Count{Cases: 10, Right: 8}, 0.490, 0.943},
		{corpus.Count{Cases: 100, Right: 81}, 0.722, 0.875},
		{corpus.Count{Cases: 5, Right: 5}, 0.566, 1},
		{corpus.Count{Cases: 5, Right: 0}, 0, 0.434},
	} {
		low, high := c.count.Interval()
		require.LessOrEqual(t, math.Abs(low-c.low)+math.Abs(high-c.high), 0.002, c)
	}
}
