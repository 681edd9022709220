package worker

import (
	"context"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"
)

// slowHosts is a store that needs most of a period for each heartbeat.
type slowHosts struct {
	takes time.Duration
	seen  int
}

func (h *slowHosts) HostSeen(context.Context, string, []string, []string, int) (bool, error) {
	h.seen++
	<-time.After(h.takes)
	return false, nil
}

func TestHostHeartbeat_SlowStoreKeepsThePeriod(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		const period, periods = 10 * time.Second, 6
		h := &slowHosts{takes: 9 * time.Second}
		w := New(Config{HostID: "h", HostBeat: period}, Deps{Hosts: h})
		ctx, stop := context.WithTimeout(t.Context(), periods*period+period/2)
		defer stop()
		w.live(ctx)
		require.Equal(t, periods, h.seen)
	})
}
