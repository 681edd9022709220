package taskcmd

import (
	"context"

	"github.com/spf13/cobra"

	"github.com/omoi-dev/omoi/api/client"
	"github.com/omoi-dev/omoi/internal/cli/exit"
	"github.com/omoi-dev/omoi/internal/cli/render"
	"github.com/omoi-dev/omoi/internal/task"
)

func newCancel(s *session) *cobra.Command {
	cmd := s.newAsk("cancel", "Cancel a task; its work is saved", (*client.Client).Cancel)
	cmd.Use = "cancel <task> | --older-than <age>"
	one, b := cmd.RunE, bulk{}
	b.flags(cmd, "every open task")
	many := func() bool { return cmd.Flags().Changed("older-than") }
	cmd.Args = func(cmd *cobra.Command, args []string) error {
		switch {
		case many() && len(args) > 0:
			return exit.Usagef("name a task or give --older-than, not both")
		case !many() && b.yes:
			return exit.Usagef("--yes goes with --older-than")
		case many():
			return nil
		}
		return oneTask(cmd, args)
	}
	cmd.RunE = func(cmd *cobra.Command, args []string) error {
		if !many() {
			return one(cmd, args)
		}
		b.reason = cmd.Flag("reason").Value.String()
		return s.cancelOld(cmd.Context(), b)
	}
	return cmd
}

func newRetry(s *session) *cobra.Command {
	return s.newAsk("retry", "Retry a failed or cancelled task, or resume a suspended one", (*client.Client).Retry)
}

func (s *session) newAsk(name, short string,
	do func(*client.Client, context.Context, string, string) (client.CommandResult, bool, error),
) *cobra.Command {
	var reason string
	cmd := s.taskVerb(name+" <task>", short, func(ctx context.Context, api *client.Client, t client.Task) error {
		asked, settled, err := do(api, ctx, t.ID, reason)
		if name == task.CommandCancel && task.CodeOf(err) == task.CodeConflict && !t.Status.Final() {
			return s.lateCancel(ctx, api, t.ID, err)
		}
		if err == nil {
			err = s.asked(asked, settled)
		}
		if err == nil {
			s.savedWorkOf(ctx, api, asked.Task, s.hint)
		}
		return err
	})
	reasonFlag(cmd, &reason)
	return cmd
}

// lateCancel prints the result of a cancel that came too late because the workflow was terminated outside omoi: the
// server has then set the task to failed (terminated). Otherwise writtenOff returns late.
func (s *session) lateCancel(ctx context.Context, api *client.Client, id string, late error) error {
	t, err := api.Task(ctx, id)
	if err != nil || t.Status != task.StatusFailed || t.FailureClass != task.ClassTerminated {
		return late
	}
	if *s.JSON {
		command := client.Command{TaskID: id, Kind: task.CommandCancel, State: task.ReceiptTooLate, Reason: task.MessageOf(late)}
		return s.printJSON(client.CommandResult{Task: t, Command: command})
	}
	s.say("Task %s: its workflow was terminated outside omoi, so the task is now failed (terminated).", render.Name(t.Key, id))
	s.hint("Next: omoi retry %s", render.Name(t.Key, id))
	s.savedWorkOf(ctx, api, t, s.hint)
	return nil
}

func (s *session) asked(asked client.CommandResult, settled bool) error {
	if *s.JSON {
		return s.printJSON(asked)
	}
	t := asked.Task
	if !settled {
		s.say("Task %s: %s accepted and in progress.", render.Name(t.Key, t.ID), asked.Command.Kind)
		s.hint("Next: omoi show %s", render.Name(t.Key, t.ID))
		return nil
	}
	s.say("Task %s: %s %s", render.Name(t.Key, t.ID), asked.Command.Kind, receipt(asked.Command))
	if t.Status.Final() || needsUser(t) {
		s.hint("%s", shortWhy(t))
		return nil
	}
	s.hint("Next: omoi logs -f %s", render.Name(t.Key, t.ID))
	return nil
}

// receipt renders the state of a command with its reason.
func receipt(c client.Command) string {
	words := stateText(string(c.State))
	if c.Reason != "" {
		words += " (" + render.OneLine(c.Reason, 120) + ")"
	}
	return words
}
