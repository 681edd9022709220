package acpserver

import (
	"context"
	"io"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/omoi-dev/omoi/api/client"
	"github.com/omoi-dev/omoi/internal/task"
	"github.com/omoi-dev/omoi/internal/wait"
)

// TestPersist_EachRequestHasTheWholeLimit checks that an outage after which a turn gave up counts for no later request.
func TestPersist_EachRequestHasTheWholeLimit(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		s := (&server{Config: Config{API: func() (*client.Client, error) { return nil, io.EOF }}, out: io.Discard, sessions: map[string]*session{}}).
			session("one", kept{Tasks: []string{"a task"}})
		begin, failures := time.Now(), 1000
		request := func(context.Context) error {
			if failures--; failures >= 0 {
				return task.Errorf(task.CodeUnavailable, "The server does not answer.")
			}
			return nil
		}
		require.ErrorContains(t, s.persist(t.Context(), t.Context(), request), "does not answer")
		require.Equal(t, outageLimit, time.Since(begin).Truncate(outageLimit))
		require.NoError(t, wait.For(t.Context(), time.Hour))
		failures = 1
		require.NoError(t, s.persist(t.Context(), t.Context(), request))
	})
}
