package taskcmd

import (
	"cmp"
	"context"
	"fmt"
	"strings"

	"github.com/spf13/cobra"

	"github.com/omoi-dev/omoi/internal/cli/exit"
	"github.com/omoi-dev/omoi/internal/cli/render"
	"github.com/omoi-dev/omoi/internal/client"
)

func (s *session) projectsDelete() *cobra.Command {
	yes := false
	cmd := &cobra.Command{
		Use:   "delete <project>",
		Short: "Delete a project and its credentials",
		Long: `Delete a project and its credentials. Without --yes the command prints what would be deleted, and deletes nothing.
The project's tasks, receipts, costs, branches and saved work stay. A deleted project is not listed and accepts no
task or retry. The next task of its repository makes a new project. Cancel the project's open tasks first.`,
		Args: exactly(1, projectArg),
		RunE: func(cmd *cobra.Command, args []string) error { return s.deleteProject(cmd.Context(), args[0], yes) },
	}
	cmd.Flags().BoolVar(&yes, "yes", false, "delete the project")
	return cmd
}

func (s *session) deleteProject(ctx context.Context, ref string, yes bool) error {
	api, p, err := s.projectOf(ctx, ref)
	if err != nil {
		return err
	}
	preview, err := api.ProjectDeletion(ctx, p.ID)
	if err == nil && yes {
		err = api.DeleteProject(ctx, p.ID)
	}
	if err != nil {
		return err
	}
	if err := s.showDeletion(preview, yes); err != nil || yes {
		return err
	}
	return exit.With(exit.NeedsYou, fmt.Errorf("project %s would be deleted. Next: %s", render.OneLine(p.Name, 60), afterPreview(preview)))
}

func afterPreview(d client.ProjectDeletion) string {
	if len(d.OpenTasks) > 0 {
		return "omoi cancel the open tasks, then repeat the command with --yes"
	}
	return "repeat the command with --yes"
}

func (s *session) showDeletion(d client.ProjectDeletion, done bool) error {
	if s.json {
		return s.printJSON(d)
	}
	title := "Would delete"
	if done {
		title = "Deleted"
	}
	s.say("%s:  project %s  %s", title, render.Short(d.Project.ID), render.OneLine(d.Project.Name, 60))
	s.say("Credentials deleted:  %s", cmp.Or(strings.Join(d.Credentials, ", "), "none"))
	s.say("Kept:  %s and %s, with events, receipts, costs, branches and saved work", render.Count(d.Tasks, "task"), render.Count(d.Tickets, "ticket"))
	for _, t := range d.OpenTasks {
		s.say("Open:  %s  %s  %s", render.Short(t.ID), s.style().Status(t.Status), render.OneLine(t.Title, 60))
	}
	return nil
}
