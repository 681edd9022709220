package taskcmd

import (
	"github.com/spf13/cobra"

	"github.com/omoi-dev/omoi/internal/cli/render"
	"github.com/omoi-dev/omoi/internal/client"
	"github.com/omoi-dev/omoi/internal/task"
)

func newSend(s *session) *cobra.Command {
	interrupt := false
	cmd := &cobra.Command{
		Use:               "send <task> \"<text>\"",
		Short:             "Say something to the agent of a task that is at work",
		Args:              exactly(2, "a task and a text; put the text in quotes"),
		ValidArgsFunction: s.completeTasks,
		RunE: func(cmd *cobra.Command, args []string) error {
			api, t, err := s.taskOf(cmd.Context(), args[0])
			if err != nil {
				return err
			}
			if t.SandboxID == nil {
				return task.Errorf(task.CodeConflict, "Nobody is there to hear it: the task is %s. Next: omoi show %s", t.Status, render.Short(t.ID))
			}
			in := client.NewMessage{Content: args[1]}
			if interrupt {
				in.Type = "interrupt"
			}
			queued, err := api.SendMessage(cmd.Context(), *t.SandboxID, in)
			if err != nil {
				return err
			}
			return s.sent(t, queued)
		},
	}
	cmd.Flags().BoolVar(&interrupt, "interrupt", false, "stop what the agent is doing for it")
	return cmd
}

func (s *session) sent(t client.Task, queued client.QueuedMessage) error {
	if s.json {
		return s.printJSON(queued)
	}
	s.say("%s  the message is %s", render.Short(t.ID), queued.Status)
	s.hint("Watch:  omoi logs -f %s", render.Short(t.ID))
	return nil
}
