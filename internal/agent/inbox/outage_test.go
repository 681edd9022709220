package inbox_test

import (
	"context"
	"errors"
	"log/slog"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/omoi-dev/omoi/internal/agent/apiclient"
	"github.com/omoi-dev/omoi/internal/agent/inbox"
)

// deadLine is an API that never answers.
type deadLine struct {
	mu    sync.Mutex
	asked []time.Time
}

func (d *deadLine) Get(context.Context, string, time.Duration) (apiclient.Answer, error) {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.asked = append(d.asked, time.Now())
	return apiclient.Answer{}, errors.New("connection reset by peer")
}

func (d *deadLine) Post(context.Context, string, []byte, bool) (apiclient.Answer, error) {
	return apiclient.Answer{}, errors.New("connection reset by peer")
}

type mute struct{}

func (mute) Emit(string, map[string]any) {}

// TestRun_SpreadsPolls checks that agents which lost the API at the same moment do not poll at the same moments.
func TestRun_SpreadsPolls(t *testing.T) {
	t.Parallel()
	gaps := map[int64]bool{}
	for range 3 {
		synctest.Test(t, func(t *testing.T) {
			line := &deadLine{}
			box, err := inbox.New(inbox.Config{}, line, mute{}, slog.New(slog.DiscardHandler))
			require.NoError(t, err)
			ctx, cancel := context.WithCancel(context.Background())
			over := make(chan struct{})
			go func() { defer close(over); box.Run(ctx) }()
			<-time.After(10 * time.Minute) // fake time of the bubble
			cancel()
			<-over
			require.Less(t, len(line.asked), 300)
			require.Greater(t, len(line.asked), 100, "no wait grows without bound")
			for i := range line.asked[1:] {
				gaps[int64(line.asked[i+1].Sub(line.asked[i]))] = true
			}
		})
	}
	require.Greater(t, len(gaps), 60)
}
