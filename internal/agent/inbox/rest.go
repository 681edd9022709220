package inbox

import (
	"context"
	"time"

	"github.com/omoi-dev/omoi/internal/wait"
)

// back is taken before a question: what comes back while that fails counts.
func (b *Inbox) back() <-chan struct{} {
	if b.cfg.Back == nil {
		return nil
	}
	return b.cfg.Back()
}

// rest waits after a failure, until the line is known to be back at most, and answers how long
// to wait after the next one.
func (b *Inbox) rest(ctx context.Context, back <-chan struct{}, told, backoff time.Duration) time.Duration {
	timer := time.NewTimer(told + wait.Jitter(backoff))
	defer timer.Stop()
	select {
	case <-back:
		return b.cfg.MinBackoff
	case <-ctx.Done():
	case <-timer.C:
	}
	return min(backoff*2, b.cfg.MaxBackoff)
}
