package agent

import (
	"context"
	"errors"

	"github.com/omoi-dev/omoi/internal/agent/agentconfig"
	"github.com/omoi-dev/omoi/internal/agent/reporter"
)

// Flush sends what an agent that has ended left in its spool, until all of it is acknowledged,
// the API wants nothing more, or ctx ends. A spool that somebody holds is [spool.ErrLocked]: its
// agent lives, and sends by itself.
func Flush(ctx context.Context, cfg agentconfig.Config, deps Deps) error {
	s, done, err := open(withDefaults(cfg), deps)
	if err != nil {
		return err
	}
	defer done()
	sending, stop := context.WithCancel(ctx)
	ended := make(chan struct{})
	go func() {
		defer close(ended)
		_ = s.report.Run(sending) // Flush tells how it ended
	}()
	err = s.report.Flush(ctx)
	stop()
	<-ended
	if errors.Is(err, reporter.ErrGone) {
		return nil
	}
	return err
}
