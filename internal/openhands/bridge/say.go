package bridge

import (
	"context"
	"time"

	"github.com/omoi-dev/omoi/internal/openhands"
	"github.com/omoi-dev/omoi/internal/task"
	"github.com/omoi-dev/omoi/internal/wait"
)

// say adds a message once, also if an answer is lost: the message ends with a mark, by which the server finds it.
func (s *session) say(ctx context.Context, text string) error {
	s.saying.Lock()
	defer s.saying.Unlock()
	mark := "[omoi message " + task.NewID() + "]"
	for {
		err := s.Say(ctx, s.id, text+"\n\n"+mark)
		switch task.CodeOf(err) {
		case "":
			return nil
		case task.CodeExhausted: // saved, not started
			return insist(ctx, func() error { return s.Run(ctx, s.id) })
		case task.CodeUnavailable:
			if heard, err := s.heard(ctx, mark); heard || err != nil {
				return err
			}
		default:
			return err
		}
	}
}

// heardWait is the time for a message whose answer was lost to appear: the first one waits for the start of the tools.
const heardWait = 10 * time.Second

// heard reports whether a message with a mark appears, and makes the conversation run then. The server adds a message after the tool that runs.
func (s *session) heard(ctx context.Context, mark string) (bool, error) {
	answered, begun := time.Now(), time.Now()
	for time.Since(begun) < heardWait {
		now, err := s.Get(ctx, s.id)
		found := false
		if err == nil {
			found, err = s.Heard(ctx, s.id, mark)
		}
		switch {
		case found:
			return true, insist(ctx, func() error { return s.Run(ctx, s.id) })
		case err == nil:
			answered = time.Now()
		case task.CodeOf(err) != task.CodeUnavailable || time.Since(answered) > frozenWait:
			return false, err
		}
		if err != nil || now.Status == openhands.StatusRunning { // what is unknown proves nothing
			begun = time.Now()
		}
		if err := wait.For(ctx, time.Second); err != nil {
			return false, err
		}
	}
	return false, nil
}

// steer adds a message to the turn that runs. The model reads it in its next request.
func (b *bridge) steer(ctx context.Context, text string) (any, error) {
	s := b.session()
	if s == nil || !s.steers(1) {
		return map[string]any{"outcome": "promptRequired"}, nil
	}
	defer s.steers(-1)
	if err := s.say(ctx, text); err != nil {
		return nil, err
	}
	wait.Notify(b.wake)
	return map[string]any{"outcome": "injected"}, nil
}

// steers counts messages to the turn that are on their way; false: no turn runs that could take one.
func (s *session) steers(more int) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.stopped == nil && more > 0 {
		return false
	}
	s.steering += more
	return true
}
