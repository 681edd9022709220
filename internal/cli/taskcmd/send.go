package taskcmd

import (
	"context"
	"encoding/json"
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
	cmd := &cobra.Command{
		Use:   "send <task> \"<text>\"",
		Short: "Say something to the agent of a task that is at work",
		Example: `  omoi send - "Use tabs, please" --wait
  omoi send - "Stop, that is the wrong file" --interrupt --wait=2m`,
		Args:              exactly(2, "a task and a text; put the text in quotes, and a time into --wait=30s"),
		ValidArgsFunction: s.completeTasks,
		RunE: func(cmd *cobra.Command, args []string) error {
			if cmd.Flags().Changed("wait") && wait <= 0 {
				return exit.Usagef("--wait %s: give a time above zero, as --wait=30s", wait)
			}
			if strings.TrimSpace(args[1]) == "" {
				return exit.Usagef("the message is empty: say something, as omoi send %s \"look at the tests first\"", args[0])
			}
			api, t, err := s.taskOf(cmd.Context(), args[0])
			if err != nil {
				return err
			}
			in := client.NewMessage{Content: args[1]}
			if interrupt {
				in.Type = client.MessageInterrupt
			}
			if key == "" {
				key = task.NewID()
			}
			queued, err := s.send(cmd.Context(), api, t, in, key)
			if err != nil {
				return err
			}
			if wait > 0 {
				return s.takenUp(cmd.Context(), api, queued.MessageID, wait)
			}
			return s.sent(t, queued)
		},
	}
	cmd.Flags().BoolVar(&interrupt, "interrupt", false, "stop what the agent is doing for it")
	cmd.Flags().StringVar(&key, "idempotency-key", "", "the same key and text make one message, however often it is sent (default: a new one)")
	waitFlag(cmd, &wait, "30s")
	return cmd
}

// waitFlag is --wait, alone or with a time.
func waitFlag(cmd *cobra.Command, wait *time.Duration, alone string) {
	cmd.Flags().DurationVar(wait, "wait", 0, "stay until the agent has taken it up, for so long at most (alone: "+alone+"); exit code 1 if it never will, 130 when the time is over")
	cmd.Flags().Lookup("wait").NoOptDefVal = alone
}

// send posts to the sandbox of a task. A finished task is asked too: the refusal has a receipt.
func (s *session) send(ctx context.Context, api *client.Client, t client.Task, in client.NewMessage, key string) (client.QueuedMessage, error) {
	var box string
	switch n := len(t.Attempts); {
	case t.SandboxID != nil:
		box = *t.SandboxID
	case t.Status.Final() && n > 0:
		box = t.Attempts[n-1].SandboxID
	default:
		return client.QueuedMessage{}, nobodyHears(t)
	}
	if deaf(t, in) {
		s.hint("The program of this task is told no messages: its execution_config lacks \"reads_messages\": true. It hears this only if it asks omoi "+
			"for messages itself. To stop it: omoi send %s \"<why>\" --interrupt", render.Short(t.ID))
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

// deaf reports whether the agent at work is a program that omoi tells no messages. A validator may be another agent.
func deaf(t client.Task, in client.NewMessage) bool {
	var config task.Execution
	if t.Agent != task.AgentCommand || t.Status != task.StatusRunning || in.Type == client.MessageInterrupt {
		return false
	}
	return json.Unmarshal(t.Execution, &config) == nil && !config.ReadsMessages
}

func nobodyHears(t client.Task) error {
	id := render.Short(t.ID)
	if t.Status.Final() {
		return task.Errorf(task.CodeConflict, "Nobody is there to hear it: the task is %s. Next: omoi show %s", t.Status, id)
	}
	return task.Errorf(task.CodeConflict,
		"Nobody is there to hear it: the task is %s and has no agent at work now. Send it again when one is. Next: omoi logs -f %s", t.Status, id)
}

func (s *session) sent(t client.Task, queued client.QueuedMessage) error {
	if s.json {
		return s.printJSON(queued)
	}
	s.say("%s  the message is %s", render.Short(t.ID), queued.Status)
	s.hint("Receipt: omoi message %s", queued.MessageID)
	s.hint("Watch:   omoi logs -f %s", render.Short(t.ID))
	return nil
}
