package taskcmd

import (
	"cmp"
	"context"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/omoi-dev/omoi/internal/cli/exit"
	"github.com/omoi-dev/omoi/internal/cli/render"
	"github.com/omoi-dev/omoi/internal/client"
	"github.com/omoi-dev/omoi/internal/task"
)

func newSend(s *session) *cobra.Command {
	interrupt, wait, key := false, time.Duration(0), ""
	cmd := s.verb("send <task> \"<text>\"", "Send a message to a running agent", exactly(2, "a task and a text; put the text in quotes, and a time into --wait=30s"),
		func(ctx context.Context, api *client.Client, args []string) error {
			t, err := s.taskOf(ctx, api, args[0])
			if err != nil {
				return err
			}
			in := client.NewMessage{Content: args[1]}
			if interrupt {
				in.Type = client.MessageInterrupt
			}
			queued, err := s.send(ctx, api, t, in, cmp.Or(key, task.NewID()))
			switch {
			case err != nil:
				return err
			case wait > 0:
				return s.takenUp(ctx, api, queued.MessageID, wait)
			}
			return s.answer(queued, nil, func() {
				s.say("%s  the message is %s", render.Short(t.ID), queued.Status)
				s.hint("Receipt: omoi message %s", queued.MessageID)
				s.hint("Next: omoi logs -f %s", render.Short(t.ID))
			})
		})
	cmd.Example = `  omoi send - "Use tabs, please" --wait
  omoi send - "Stop, that is the wrong file" --interrupt --wait=2m`
	cmd.ValidArgsFunction = s.completeTasks
	cmd.PreRunE = func(cmd *cobra.Command, args []string) error {
		if cmd.Flags().Changed("wait") && wait <= 0 {
			return exit.Usagef("--wait %s: give a time above zero, as --wait=30s", wait)
		}
		if strings.TrimSpace(args[1]) == "" {
			return exit.Usagef("the message is empty: say something, as omoi send %s \"look at the tests first\"", args[0])
		}
		return nil
	}
	cmd.Flags().BoolVar(&interrupt, "interrupt", false, "stop what the agent is doing for it")
	cmd.Flags().StringVar(&key, "idempotency-key", "", "the same key and text make one message, however often it is sent (default: a new one)")
	cmd.Flags().DurationVar(&wait, "wait", 0, "stay until the agent has taken it up, for so long at most (alone: 30s); exit code 1 if it never will, 130 when the time is over")
	cmd.Flags().Lookup("wait").NoOptDefVal = "30s"
	return cmd
}

// send posts to the sandbox of a task. A finished task is asked too: the refusal has a receipt.
func (s *session) send(ctx context.Context, api *client.Client, t client.Task, in client.NewMessage, key string) (client.QueuedMessage, error) {
	var box string
	switch n := len(t.Attempts); {
	case t.SandboxID != nil:
		box = *t.SandboxID
	case t.Status.Final() && n > 0:
		box = t.Attempts[n-1].SandboxID
	case t.Status.Final():
		return client.QueuedMessage{}, task.Errorf(task.CodeConflict,
			"Message rejected: the task is %s. Next: omoi show %s", t.Status, render.Short(t.ID))
	default:
		return client.QueuedMessage{}, task.Errorf(task.CodeConflict,
			"Message rejected: the task is %s and has no running agent. Next: omoi logs -f %s", t.Status, render.Short(t.ID))
	}
	queued, err := api.SendMessage(ctx, box, in, key)
	if task.CodeOf(err) == task.CodeUnavailable && !client.NotSent(err) {
		s.hint("If it may have arrived all the same, repeat the command with --idempotency-key %s", key)
	}
	if id, refused := client.RefusedMessage(err); refused {
		s.hint("Receipt: omoi message %s", id)
	}
	return queued, err
}
