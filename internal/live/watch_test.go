package live_test

import (
	"strconv"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/omoi-dev/omoi/internal/live"
)

func TestAWatchCollectsTopics(t *testing.T) {
	t.Parallel()
	bus := live.New()
	watch, stop := bus.Watch()
	bus.Wake("a")
	bus.Wake("b")
	bus.Wake("a")
	await(t, watch.Ready)
	topics, missed := watch.Take()
	require.ElementsMatch(t, []string{"a", "b"}, topics)
	require.False(t, missed)
	topics, _ = watch.Take()
	require.Empty(t, topics)
	bus.WakeAll()
	_, missed = watch.Take()
	require.True(t, missed, "anything may have been woken")
	for n := range 10_000 {
		bus.Wake(strconv.Itoa(n))
	}
	topics, missed = watch.Take()
	require.True(t, missed, "it remembers a bounded number")
	require.Less(t, len(topics), 10_000)
	stop()
	bus.Wake("c")
	topics, _ = watch.Take()
	require.Empty(t, topics)
}
