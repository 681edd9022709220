package claude

import (
	"context"

	"github.com/omoi-dev/omoi/internal/agent"
	"github.com/omoi-dev/omoi/internal/agent/inbox"
)

// ears take messages while somebody listens.
type ears struct {
	heard chan inbox.Message
	deaf  context.CancelFunc
}

func listen(ctx context.Context, box agent.Messages) *ears {
	ctx, deaf := context.WithCancel(ctx)
	e := &ears{heard: make(chan inbox.Message), deaf: deaf}
	go func() {
		defer close(e.heard)
		for {
			m, err := box.Take(ctx)
			if err != nil {
				return
			}
			e.heard <- m
		}
	}()
	return e
}

// close listens no longer. What was won until then is handed out: it must not be lost.
func (e *ears) close() (left []inbox.Message) {
	e.deaf()
	for m := range e.heard {
		left = append(left, m)
	}
	return left
}
