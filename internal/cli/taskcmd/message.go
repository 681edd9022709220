package taskcmd

import (
	"context"
	"errors"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/omoi-dev/omoi/internal/cli/exit"
	"github.com/omoi-dev/omoi/internal/cli/render"
	"github.com/omoi-dev/omoi/internal/client"
)

func newMessage(s *session) *cobra.Command {
	return s.verb("message <id>", "Show a message's delivery status", oneMessage, func(ctx context.Context, api *client.Client, args []string) error {
		m, err := api.Message(ctx, plain(args[0]), 0)
		if err != nil {
			return err
		}
		return s.receipt(m)
	})
}

// oneMessage checks the argument: messages are not listed, so that a part of an id finds none.
func oneMessage(cmd *cobra.Command, args []string) error {
	if len(args) == 1 && len(strings.TrimSpace(args[0])) == uuidLength {
		return nil
	}
	return exit.Usagef("%s takes the whole id of one message, as omoi send prints it: - and parts of an id are for tasks", cmd.CommandPath())
}

var errNotTakenUp = errors.New("the agent has not acknowledged the message yet")

// takenUp stays until a message is settled, and answers the exit code of what became of it.
func (s *session) takenUp(ctx context.Context, api *client.Client, id string, wait time.Duration) error {
	limited, cancel := context.WithTimeout(ctx, wait)
	defer cancel()
	m, err := s.settled(limited, api, id)
	switch {
	case ctx.Err() == nil && errors.Is(err, context.DeadlineExceeded):
		s.hint("It waits for the agent. Next: omoi message %s", id)
		return exit.With(exit.Interrupted, errNotTakenUp)
	case err != nil:
		return err
	}
	if err := s.receipt(m); err != nil {
		return err
	}
	if m.State == client.MessageExpired || m.State == client.MessageRefused {
		return exit.With(exit.Failed, nil)
	}
	return nil
}

// settled asks until a message is settled or ctx, which has an end, is over.
func (s *session) settled(ctx context.Context, api *client.Client, id string) (client.MessageReceipt, error) {
	const longest = 25 * time.Second // that the server waits
	for {
		end, _ := ctx.Deadline()
		left := min(longest, time.Until(end))
		if left <= 0 {
			return client.MessageReceipt{}, context.DeadlineExceeded
		}
		m, err := api.Message(ctx, id, left)
		if err != nil || m.Settled() {
			return m, err
		}
	}
}

func (s *session) receipt(m client.MessageReceipt) error {
	if *s.JSON {
		return s.printJSON(m)
	}
	s.say("%s  %s  %s", s.style().Bold(m.ID), stateWords(m.State), render.OneLine(m.Content, 60))
	if m.Reason != "" {
		s.say("  %s", render.Clean(m.Reason))
	}
	for _, at := range []struct {
		what string
		when *time.Time
	}{{"accepted", &m.AcceptedAt}, {"delivered", m.DeliveredAt}, {"settled", m.SettledAt}, {"answered", m.AnsweredAt}} {
		if at.when != nil {
			s.say("  %-12s %s", at.what, moment(at.when))
		}
	}
	if m.Deliveries > 1 {
		s.say("  delivered %d times: it was not acknowledged in time", m.Deliveries)
	}
	return nil
}
