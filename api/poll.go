package api

import (
	"context"
	"strconv"
	"time"

	"github.com/omoi-dev/omoi/internal/task"
)

// patience is the length of a long poll, and the interval of its queries in case a notification is lost.
type patience struct {
	wait  time.Duration
	every time.Duration
}

// poll calls look now and at each notification of topic, until look returns true or the wait is over. It subscribes
// before it calls look, so that no change is missed.
func (a *API) poll(ctx context.Context, topic string, p patience, look func() (found bool, err error)) error {
	news, leave := a.deps.Bus.Subscribe(topic)
	defer leave()
	ctx, cancel := context.WithTimeout(ctx, p.wait)
	defer cancel()
	again := time.NewTicker(p.every)
	defer again.Stop()
	for {
		found, err := look()
		if found || err != nil || p.wait <= 0 {
			return err
		}
		select {
		case <-news:
		case <-again.C:
		case <-a.stopping:
			return nil
		case <-ctx.Done():
			return nil
		}
	}
}

// waitOf parses ?wait=: a duration, for example 25s, or a number of seconds, limited to the longest poll.
func (a *API) waitOf(text string) (patience, error) {
	p := patience{every: a.cfg.PollEvery}
	if text == "" {
		return p, nil
	}
	wait, err := time.ParseDuration(text)
	if seconds, err2 := strconv.ParseUint(text, 10, 16); err2 == nil {
		wait, err = time.Duration(seconds)*time.Second, nil
	}
	if err != nil || wait < 0 {
		return p, task.Invalid("wait", "Invalid wait %q: expected a duration, for example 25s.", clip(text))
	}
	p.wait = min(wait, a.cfg.MaxWait)
	return p, nil
}
