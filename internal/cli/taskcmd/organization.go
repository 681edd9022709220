package taskcmd

import (
	"context"
	"strconv"
	"strings"

	"github.com/spf13/cobra"

	"github.com/omoi-dev/omoi/api/client"
	"github.com/omoi-dev/omoi/internal/cli/exit"
	"github.com/omoi-dev/omoi/internal/task"
)

func newOrganization(s *session) *cobra.Command {
	cmd := noun("organization", "List organizations with their plans, and update them",
		listVerb(s, "List organizations", (*client.Client).Organizations, s.organizationTable),
		s.organizationUpdate())
	cmd.Aliases = []string{"org"}
	return cmd
}

func (s *session) organizationUpdate() *cobra.Command {
	plan, limit := "", 0
	var change client.UpdateOrganizationRequest
	cmd := s.verb("update [organization]", "Update an organization's plan or its own limit", cobra.MaximumNArgs(1),
		func(ctx context.Context, api *client.Client, args []string) error {
			found, err := api.Organizations(ctx)
			if err == nil && len(args) > 0 {
				var one client.Organization
				one, err = kind[client.Organization]{
					noun: "organization", list: "omoi organization list",
					id: func(o client.Organization) string { return o.ID }, name: func(o client.Organization) string { return o.Name },
				}.pick(found, args[0])
				found = []client.Organization{one}
			}
			switch {
			case err != nil:
				return err
			case len(found) != 1:
				return exit.Usagef("name the organization to update: there are %d. Next: omoi organization list", len(found))
			}
			if found[0], err = api.PatchOrganization(ctx, found[0].ID, change); err != nil {
				return err
			}
			return s.answer(found[0], nil, func() {
				s.organizationTable(found)
				if change.MaxSlots != nil && limit == 0 {
					s.note("Warning: with a limit of 0 no task of the organization starts. Next: omoi organization update %s --max-concurrent-tasks <n>", found[0].ID)
				}
			})
		})
	cmd.Long = `Update an organization's plan (` + strings.Join(task.Plans(), ", ") + `), or set a limit of its own,
which takes precedence over the plan's; --max-concurrent-tasks -1 removes it. For admins of the installation.`
	cmd.PreRunE = func(cmd *cobra.Command, _ []string) error {
		change = client.UpdateOrganizationRequest{Plan: changed(cmd, "plan", &plan), MaxSlots: changed(cmd, "max-concurrent-tasks", &limit)}
		if change.Plan == nil && change.MaxSlots == nil {
			return exit.Usagef("nothing to update: give --plan or --max-concurrent-tasks. Next: omoi organization update --help")
		}
		return nil
	}
	cmd.Flags().StringVar(&plan, "plan", "", "new `plan`")
	cmd.Flags().IntVar(&limit, "max-concurrent-tasks", 0, "concurrency limit, which takes precedence over the plan's; -1 removes it")
	return cmd
}

func (s *session) organizationTable(all []client.Organization) {
	list(s, all, "No organizations.", "ORGANIZATION|PLAN|RUNNING|LIMIT|QUEUED|PAUSED", func(o client.Organization) []string {
		limit := "none"
		if o.ConcurrencyLimit != nil {
			limit = strconv.Itoa(*o.ConcurrencyLimit)
		}
		if o.MaxSlots != nil {
			limit += " (its own)"
		}
		paused := "no"
		if o.Paused {
			paused = "yes"
		}
		return []string{o.Name, o.Plan, strconv.Itoa(o.RunningTasks), limit, strconv.Itoa(o.QueuedTasks), paused}
	})
}
