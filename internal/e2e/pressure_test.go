package e2e_test

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/stretchr/testify/require"

	apiclient "github.com/omoi-dev/omoi/api/client"
)

// TestIntakeHoldsBack sends more than an API may keep while its database hangs: it turns
// senders away, and says when to come again, before its memory grows. What it has said to
// have stored, it has.
func TestIntakeHoldsBack(t *testing.T) {
	t.Parallel()
	// An API collects its garbage when it nears 420 MiB, whatever it needs.
	const senders, events, most = 150, 6, 640 << 10 // kB; the bodies alone are 450 MiB
	r := newRig(t, nil)
	r.startAPI()
	hang, err := r.pool.Begin(context.Background())
	require.NoError(t, err)
	_, err = hang.Exec(context.Background(), `LOCK TABLE sandboxes`)
	require.NoError(t, err)

	var away atomic.Int64
	var all sync.WaitGroup
	statuses := make([]int, senders)
	for i := range senders {
		all.Go(func() {
			statuses[i] = r.postLarge("pressed-"+strconv.Itoa(i), events)
			if statuses[i] == http.StatusServiceUnavailable {
				away.Add(1)
			}
		})
	}
	r.eventually("some are turned away", func() bool { return away.Load() > 0 })
	require.NoError(t, hang.Rollback(context.Background()))
	all.Wait()

	stored := 0
	for i, status := range statuses {
		box := "pressed-" + strconv.Itoa(i)
		switch status {
		case http.StatusOK:
			stored++
			require.Equal(t, events, r.count(`SELECT count(*) FROM sandbox_events WHERE sandbox_id = $1`, box), "%s was acknowledged", box)
		case http.StatusServiceUnavailable, http.StatusRequestTimeout: // on a busy machine a body stops for a second, and its place is given away
		default:
			require.Failf(t, "a strange answer", "%s got %d", box, status)
		}
	}
	t.Logf("%d stored, %d turned away, %d kB at most", stored, senders-stored, peakOf(t, r.procs["api"].cmd.Process.Pid))
	require.Positive(t, stored)
	require.Less(t, peakOf(t, r.procs["api"].cmd.Process.Pid), most, "kB of memory at most")
	r.gapless()
}

// postLarge sends a batch of 3 MiB; it answers the status, zero for one that does not say
// when to come again.
func (r *rig) postLarge(box string, events int) int {
	batch := apiclient.CreateEventBatchRequest{SpoolID: "large", First: 1}
	for range events {
		batch.Events = append(batch.Events, newEvent("agent.tool_completed", `{"tool_response":"`, strings.Repeat("x", 3<<20/events), `"}`))
	}
	body, err := json.Marshal(batch)
	if err != nil {
		return 0
	}
	res, err := http.Post(r.api.BaseURL()+"/api/v1/sandboxes/"+box+"/events/batch", "application/json", bytes.NewReader(body))
	if err != nil { // the server gave its place away, and the answer was lost
		r.t.Logf("%s: %v", box, err)
		return http.StatusRequestTimeout
	}
	defer res.Body.Close()
	if res.StatusCode == http.StatusServiceUnavailable && res.Header.Get("Retry-After") == "" {
		return 0
	}
	return res.StatusCode
}

// peakOf is how much memory a process ever had, in kB.
func peakOf(t *testing.T, pid int) int {
	t.Helper()
	peak, err := memoryOf(pid)
	if err != nil {
		t.Skip("SKIPPED: this system does not tell the memory of a process: ", fmt.Sprint(err))
	}
	return peak
}
