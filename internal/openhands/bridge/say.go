package bridge

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/omoi-dev/omoi/internal/task"
	"github.com/omoi-dev/omoi/internal/wait"
)

// mostSends is how often a message is sent that the server does not take.
const mostSends = 4

// errRefused is the error of a message that the server does not take, although it answers.
var errRefused = errors.New("the OpenHands server does not take the message")

// say adds a message once, also if an answer is lost: the message ends with a mark, by which the server finds it. A message that the server
// does not take is [errRefused] in the end.
func (s *session) say(ctx context.Context, text string) error {
	s.saying.Lock()
	defer s.saying.Unlock()
	mark, begun := "[omoi message "+task.NewID()+"]", time.Now()
	for sent := 0; ; {
		err := s.Say(ctx, s.id, text+"\n\n"+mark)
		switch code := task.CodeOf(err); {
		case code == task.CodeExhausted: // saved, not started
			return insist(ctx, s.room, func() error { return s.Run(ctx, s.id) })
		case code == task.CodeInvalid:
			return fmt.Errorf("%w: %w", errRefused, err)
		case code != task.CodeUnavailable: // also nil
			return err
		case task.NotSent(err) && time.Since(begun) < frozenWait:
			if wait.For(ctx, time.Second) != nil {
				return err
			}
			continue
		}
		if found, failed := s.heard(ctx, mark); found || failed != nil {
			return failed
		}
		if sent++; sent == mostSends {
			return fmt.Errorf("%w: %w", errRefused, err)
		}
	}
}

// heardWait is the time for a message whose answer was lost to appear: the first one waits for the start of the tools.
const heardWait = 10 * time.Second

// heard reports whether a message with a mark appears, and makes the conversation run then. The server adds a message after the tool that
// runs, so one that has not appeared a while after the tool is lost.
func (s *session) heard(ctx context.Context, mark string) (bool, error) {
	answered, begun := time.Now(), time.Now()
	for time.Since(begun) < heardWait {
		found, err := s.Heard(ctx, s.id, mark)
		switch {
		case found:
			return true, insist(ctx, s.room, func() error { return s.Run(ctx, s.id) })
		case err == nil:
			answered = time.Now()
		case task.CodeOf(err) != task.CodeUnavailable || time.Since(answered) > frozenWait:
			return false, err
		}
		if err != nil || s.calling.Load() { // what is unknown proves nothing
			begun = time.Now()
		}
		if err := wait.For(ctx, time.Second); err != nil {
			return false, err
		}
	}
	return false, nil
}

// Refused is the outcome of a message to the turn that the server does not take.
const Refused = "refused"

// steer adds a message to the turn that runs. The model reads it in its next request.
func (b *bridge) steer(ctx context.Context, text string) (any, error) {
	s := b.session()
	if s == nil || !s.steers(1) {
		return map[string]any{"outcome": "promptRequired"}, nil
	}
	defer s.steers(-1)
	switch err := s.say(ctx, text); {
	case errors.Is(err, errRefused):
		return map[string]any{"outcome": Refused, "reason": err.Error()}, nil
	case err != nil:
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
