package fence_test

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/omoi-dev/omoi/internal/sandbox/fence"
)

func TestOneAtATime(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "lock")
	var group sync.WaitGroup
	errs := make(chan error, 8)
	var inside atomic.Int32
	for range 8 {
		group.Go(func() {
			file, err := fence.Lock(t.Context(), path)
			if err == nil {
				if inside.Add(1) > 1 {
					err = errors.New("two hold the lock")
				}
				inside.Add(-1)
				err = errors.Join(err, file.Close())
			}
			errs <- err
		})
	}
	group.Wait()
	for range 8 {
		require.NoError(t, <-errs)
	}
}

func TestWhoWaitsGivesUpWithTheContext(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "lock")
	held, err := fence.Lock(t.Context(), path)
	require.NoError(t, err)
	other, err := fence.TryLock(path)
	require.NoError(t, err)
	require.Nil(t, other)
	over, cancel := context.WithCancel(t.Context())
	cancel()
	_, err = fence.Lock(over, path)
	require.ErrorIs(t, err, context.Canceled)
	require.NoError(t, os.Remove(path))
	anew, err := fence.TryLock(path)
	require.NoError(t, err)
	require.NotNil(t, anew, "a lock on a removed file locks nothing")
	require.NoError(t, anew.Close())
	require.NoError(t, held.Close())
}
