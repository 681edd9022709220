package taskcmd

import (
	"context"

	"github.com/spf13/cobra"

	"github.com/omoi-dev/omoi/internal/cli/render"
	"github.com/omoi-dev/omoi/internal/client"
)

func (s *session) projectPause() *cobra.Command {
	halt := client.Halt{}
	cmd := s.halt("pause", "Pause a project: no task starts; with --now, suspend running ones", &halt, (*client.Client).PauseProject)
	cmd.Flags().BoolVar(&halt.Now, "now", false, "suspend running tasks too; their work is saved")
	return cmd
}

func (s *session) projectResume() *cobra.Command {
	return s.halt("resume", "Resume a paused project, with the tasks that the pause suspended", &client.Halt{}, (*client.Client).ResumeProject)
}

type halter func(*client.Client, context.Context, string, client.Halt) (client.Halted, error)

func (s *session) halt(use, short string, halt *client.Halt, do halter) *cobra.Command {
	cmd := s.projectVerb(use, short, func(ctx context.Context, api *client.Client, p client.Project) error {
		done, err := do(api, ctx, p.ID, *halt)
		return s.answer(done, err, func() { s.halted(done, halt.Now) })
	})
	reasonFlag(cmd, &halt.Reason)
	return cmd
}

// reasonFlag is --reason of commands that change what tasks do.
func reasonFlag(cmd *cobra.Command, reason *string) {
	cmd.Flags().StringVar(reason, "reason", "asked for on the command line", "reason that the task shows")
}

// halted says what happens now, and what to do next.
func (s *session) halted(done client.Halted, now bool) {
	name, tasks := render.OneLine(done.Project.Name, 60), render.Count(len(done.TaskIDs), "task")
	switch {
	case !done.Project.Paused && done.AllPaused:
		s.say("%s is no longer paused, and none of its tasks starts: omoi runs with ORCHESTRATOR_ENABLED=false, which holds every task.", name)
		s.hint("Start omoi without that. Where it is set: omoi config show | grep orchestrator")
	case !done.Project.Paused:
		s.say("Resumed project %s: %s released that the pause had suspended; queued tasks start when slots free up.", name, tasks)
	case len(done.TaskIDs) > 0:
		s.say("Paused project %s. Suspending %s; their work is saved.", name, tasks)
	case now:
		s.say("Paused project %s: no task starts, and no running task was left to suspend.", name)
	default:
		s.say("Paused project %s: no task starts. Running tasks continue.", name)
	}
	for _, id := range done.TaskIDs {
		s.say("  %s", render.Short(id))
	}
	if done.Project.Paused {
		s.hint("Next: omoi project resume %s", render.Short(done.Project.ID))
	}
}
