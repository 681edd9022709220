package taskcmd

import (
	"context"

	"github.com/spf13/cobra"

	"github.com/omoi-dev/omoi/internal/cli/exit"
	"github.com/omoi-dev/omoi/internal/cli/render"
	"github.com/omoi-dev/omoi/internal/client"
)

const projectArg = "the name of a project, its id, or 4 or more characters of the id's beginning or end"

func newStop(s *session) *cobra.Command {
	halt, project := client.Halt{Now: true}, ""
	cmd := &cobra.Command{
		Use:   "stop --project <project>",
		Short: "Stop everything of a project now: tasks at work are parked with their work saved, others wait",
		Args:  NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			if project == "" {
				return exit.Usagef("name the project: omoi stop --project <project>. A single task: omoi cancel <task>")
			}
			return s.halt(cmd.Context(), project, halt, (*client.Client).PauseProject)
		},
	}
	cmd.Flags().StringVar(&project, "project", "", projectArg)
	reasonOf(cmd, &halt)
	return cmd
}

func (s *session) projectsPause() *cobra.Command {
	halt := client.Halt{}
	cmd := &cobra.Command{
		Use:   "pause <project>",
		Short: "Let no task of a project begin; those at work go on, unless --now",
		Args:  exactly(1, projectArg),
		RunE: func(cmd *cobra.Command, args []string) error {
			return s.halt(cmd.Context(), args[0], halt, (*client.Client).PauseProject)
		},
	}
	cmd.Flags().BoolVar(&halt.Now, "now", false, "park those at work too; their work is saved")
	reasonOf(cmd, &halt)
	return cmd
}

func (s *session) projectsResume() *cobra.Command {
	halt := client.Halt{}
	cmd := &cobra.Command{
		Use:   "resume <project>",
		Short: "Take a pause back: tasks that wait begin, and those that were parked go on",
		Args:  exactly(1, projectArg),
		RunE: func(cmd *cobra.Command, args []string) error {
			return s.halt(cmd.Context(), args[0], halt, (*client.Client).ResumeProject)
		},
	}
	reasonOf(cmd, &halt)
	return cmd
}

func reasonOf(cmd *cobra.Command, halt *client.Halt) {
	cmd.Flags().StringVar(&halt.Reason, "reason", "asked for on the command line", "why, for those who look at the tasks later")
}

type halter func(*client.Client, context.Context, string, client.Halt) (client.Halted, error)

func (s *session) halt(ctx context.Context, ref string, halt client.Halt, do halter) error {
	api, p, err := s.projectOf(ctx, ref)
	if err != nil {
		return err
	}
	done, err := do(api, ctx, p.ID, halt)
	if err != nil {
		return err
	}
	if s.json {
		return s.printJSON(done)
	}
	s.halted(done, halt.Now)
	return nil
}

// halted says what happens now, and what to do next.
func (s *session) halted(done client.Halted, now bool) {
	name, tasks := render.OneLine(done.Project.Name, 60), render.Count(len(done.TaskIDs), "task")
	switch {
	case !done.Project.Paused && done.AllPaused:
		s.say("%s is no longer paused, and none of its tasks begins all the same: omoi runs with ORCHESTRATOR_ENABLED=false, which holds every task.", name)
		s.hint("Start omoi without that. Where it is set: omoi config show | grep orchestrator")
	case !done.Project.Paused && len(done.TaskIDs) == 0:
		s.say("%s goes on: tasks that wait begin as slots are free.", name)
	case !done.Project.Paused:
		s.say("%s goes on: tasks that wait begin as slots are free. Of those that were stopped, %s may go on.", name, tasks)
	case len(done.TaskIDs) > 0:
		s.say("%s is paused. Being stopped: %s at work; what was done is saved.", name, tasks)
	case now:
		s.say("%s is paused: no task begins, and none is at work that was not asked to stop before.", name)
	default:
		s.say("%s is paused: no task begins. Those at work go on.", name)
	}
	for _, id := range done.TaskIDs {
		s.say("  %s", render.Short(id))
	}
	if done.Project.Paused {
		s.hint("Go on: omoi projects resume %s", render.Short(done.Project.ID))
	}
}

// projectOf finds the project that a person names.
func (s *session) projectOf(ctx context.Context, ref string) (*client.Client, client.Project, error) {
	api, err := s.api()
	if err != nil {
		return nil, client.Project{}, err
	}
	projects, err := allProjects(ctx, api)
	if err != nil {
		return nil, client.Project{}, err
	}
	p, err := findProject(projects, ref)
	return api, p, err
}
