package api_test

import (
	"net/http"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

// Tasks for one repository that are submitted at once share one check of the repository. Separate checks would all time
// out on a busy machine.
func TestCreateTask_BurstSharesTheCheckOfItsRepository(t *testing.T) {
	t.Parallel()
	const burst = 20
	w := open(t)
	w.task(newTask()) // its project exists
	before := w.repos.named.Load()
	var under, most, checks atomic.Int64
	w.repos.during = func() {
		n := under.Add(1)
		defer under.Add(-1)
		most.Store(max(most.Load(), n))
		if checks.Add(1) == 1 { // the other requests arrive during this check
			for w.repos.named.Load() < before+burst && under.Load() == 1 {
				<-time.After(time.Millisecond)
			}
		}
	}
	var all sync.WaitGroup
	for range burst {
		all.Go(func() {
			if res := w.call(http.MethodPost, "/api/v1/tasks", newTask()); res.status != http.StatusCreated {
				t.Errorf("status %d: %s", res.status, res.body)
			}
		})
	}
	all.Wait()
	require.EqualValues(t, 1, most.Load(), "checks at the same time")
}
