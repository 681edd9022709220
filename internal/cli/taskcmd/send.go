package taskcmd

import (
	"cmp"
	"context"
	"errors"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/omoi-dev/omoi/api/client"
	"github.com/omoi-dev/omoi/internal/cli/exit"
	"github.com/omoi-dev/omoi/internal/cli/render"
	"github.com/omoi-dev/omoi/internal/task"
)

func newSend(s *session) *cobra.Command {
	interrupt, wait, key := false, time.Duration(0), ""
	cmd := s.verb("send <task> \"<text>\"", "Send a message to a running agent", exactly(2, "a task and a text: put the text in quotes, and write --wait=30s with an equals sign"),
		func(ctx context.Context, api *client.Client, args []string) error {
			t, err := s.taskOf(ctx, api, args[0])
			if err != nil {
				return err
			}
			in := client.CreateMessageRequest{Content: args[1]}
			if interrupt {
				in.Type = client.MessageInterrupt
			}
			queued, err := s.send(ctx, api, t, in, cmp.Or(key, task.NewID()))
			switch {
			case err != nil:
				return err
			case wait > 0:
				return s.waitSettled(ctx, api, queued.MessageID, wait)
			}
			return s.answer(queued, nil, func() {
				s.say("Message %s to task %s: %s", queued.MessageID, render.Name(t.Key, t.ID), queued.Status)
				s.hint("Next: omoi message %s, or omoi logs -f %s", queued.MessageID, render.Name(t.Key, t.ID))
			})
		})
	cmd.ValidArgsFunction = s.completeTasks
	cmd.PreRunE = func(cmd *cobra.Command, args []string) error {
		if cmd.Flags().Changed("wait") && wait <= 0 {
			return exit.Usagef("invalid --wait %s: must be above 0, for example --wait=30s", wait)
		}
		if strings.TrimSpace(args[1]) == "" {
			return exit.Usagef("the message text is empty. Next: omoi send %s \"<text>\"", args[0])
		}
		return nil
	}
	cmd.Flags().BoolVar(&interrupt, "interrupt", false, "interrupt the current turn of the agent")
	cmd.Flags().StringVar(&key, "idempotency-key", "", "requests with the same key create one message (default: a new key)")
	cmd.Flags().DurationVar(&wait, "wait", 0, "wait until the agent has acknowledged the message; exit code 1 if it never will, 130 after this time")
	cmd.Flags().Lookup("wait").NoOptDefVal = "30s"
	return cmd
}

// send posts a message to the newest sandbox of a task. A finished task is asked too, since the server stores a
// delivery status for the rejection.
func (s *session) send(ctx context.Context, api *client.Client, t client.Task, in client.CreateMessageRequest, key string) (client.QueuedMessage, error) {
	var box string
	switch n := len(t.Attempts); {
	case t.SandboxID != nil:
		box = *t.SandboxID
	case t.Status.Final() && n > 0:
		box = t.Attempts[n-1].SandboxID
	case t.Status.Final():
		return client.QueuedMessage{}, task.Errorf(task.CodeConflict,
			"Message rejected: the task is %s. Next: omoi show %s", t.Status, render.Name(t.Key, t.ID))
	default:
		return client.QueuedMessage{}, task.Errorf(task.CodeConflict,
			"Message rejected: the task is %s and has no running agent. Next: omoi logs -f %s", t.Status, render.Name(t.Key, t.ID))
	}
	queued, err := api.SendMessage(ctx, box, in, key)
	if task.CodeOf(err) == task.CodeUnavailable && !task.NotSent(err) {
		s.note("The request may have arrived. Next: repeat the command with --idempotency-key %s", key)
	}
	if id, refused := client.RefusedMessage(err); refused {
		s.note("Next: omoi message %s", id)
	}
	return queued, err
}

func newMessage(s *session) *cobra.Command {
	return s.verb("message <id>", "Show a message's delivery status", oneMessage, func(ctx context.Context, api *client.Client, args []string) error {
		m, err := api.Message(ctx, plain(args[0]), 0)
		if err != nil {
			return err
		}
		return s.receipt(m)
	})
}

// oneMessage checks that a command has one argument, a whole message ID. Messages cannot be listed, so that parts of an
// ID cannot be resolved.
func oneMessage(cmd *cobra.Command, args []string) error {
	if len(args) == 1 && len(strings.TrimSpace(args[0])) == uuidLength {
		return nil
	}
	return exit.Usagef("%s takes the full ID of one message, which omoi send prints", cmd.CommandPath())
}

var errNotTakenUp = errors.New("the agent has not acknowledged the message yet")

// waitSettled waits until a message is settled, prints its delivery status and returns the exit code.
func (s *session) waitSettled(ctx context.Context, api *client.Client, id string, wait time.Duration) error {
	limited, cancel := context.WithTimeout(ctx, wait)
	defer cancel()
	m, err := s.settled(limited, api, id)
	switch {
	case ctx.Err() == nil && errors.Is(err, context.DeadlineExceeded):
		s.note("The message waits for the agent. Next: omoi message %s", id)
		return exit.With(exit.Interrupted, errNotTakenUp)
	case err != nil:
		return err
	}
	if err := s.receipt(m); err != nil {
		return err
	}
	if m.State == client.MessageExpired || m.State == client.MessageRejected {
		return exit.With(exit.Failed, nil)
	}
	return nil
}

// settled polls a message until it is settled or ctx ends. ctx must have a deadline.
func (s *session) settled(ctx context.Context, api *client.Client, id string) (client.MessageReceipt, error) {
	const longest = 25 * time.Second // longest poll of one request
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
	s.say("%s  %s  %s", s.style().Bold(m.ID), stateText(m.State), render.OneLine(m.Content, 60))
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
	if m.DeliveryCount > 1 {
		s.say("  delivered %d times, since it was not acknowledged in time", m.DeliveryCount)
	}
	return nil
}
