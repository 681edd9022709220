package event_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/omoi-dev/omoi/internal/event"
)

func TestEventClasses(t *testing.T) {
	t.Parallel()
	require.Equal(t, event.ClassMilestone, event.ClassOf(event.AgentStarted))
	require.Equal(t, event.ClassHeartbeat, event.ClassOf("spec.heartbeat"))
	require.Equal(t, event.ClassWork, event.ClassOf("something.new"), "an unknown type is progress")
	require.True(t, event.CountsAsWork(event.AgentToolUse))
	require.False(t, event.CountsAsWork(event.AgentWaiting))
	require.False(t, event.CountsAsWork(event.AgentHeartbeat))
}
