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

func (s *session) projectDelete() *cobra.Command {
	yes := false
	cmd := s.projectVerb("delete", "Delete a project and its credentials", func(ctx context.Context, api *client.Client, p client.Project) error {
		preview, err := api.ProjectDeletion(ctx, p.ID)
		if err == nil && yes {
			err = api.DeleteProject(ctx, p.ID)
		}
		if err == nil {
			err = s.answer(preview, nil, func() { s.showDeletion(preview, yes) })
		}
		if err != nil || yes {
			return err
		}
		next := "repeat the command with --yes"
		if len(preview.OpenTasks) > 0 {
			next = "omoi cancel the open tasks, then repeat the command with --yes"
		}
		return exit.With(exit.NeedsYou, fmt.Errorf("project %s would be deleted. Next: %s", render.OneLine(p.Name, 60), next))
	})
	cmd.Long = `Delete a project and its credentials. Without --yes the command prints what would be deleted, and deletes nothing.
The project's tasks, receipts, costs, branches and saved work stay. A deleted project is not listed and accepts no
task or retry. The next task of its repository makes a new project. Cancel the project's open tasks first.`
	cmd.Flags().BoolVar(&yes, "yes", false, "delete the project")
	return cmd
}

func (s *session) showDeletion(d client.ProjectDeletion, done bool) {
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
}
