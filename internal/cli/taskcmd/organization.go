package taskcmd

import (
	"cmp"
	"context"
	"fmt"
	"strconv"
	"strings"

	"github.com/spf13/cobra"

	"github.com/omoi-dev/omoi/internal/cli/exit"
	"github.com/omoi-dev/omoi/internal/client"
	"github.com/omoi-dev/omoi/internal/task"
)

func newOrganization(s *session) *cobra.Command {
	plan, limit := "", 0
	cmd := &cobra.Command{
		Use:   "organization [name]",
		Short: "Show your organization's plan and how many tasks it has at work; --plan and --limit change it",
		Long: `Show your organization's plan and how many of its tasks are at work. Admins of the installation see every organization,
and change a plan (` + strings.Join(task.Plans(), ", ") + `) or set a
limit of its own, which goes before the plan's; --limit -1 takes it away.`,
		Args: cobra.MaximumNArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			var change client.OrganizationPatch
			if cmd.Flags().Changed("plan") {
				change.Plan = &plan
			}
			if cmd.Flags().Changed("limit") {
				change.MaxSlots = &limit
			}
			return s.organization(cmd.Context(), strings.Join(args, ""), change)
		},
	}
	cmd.Flags().StringVar(&plan, "plan", "", "its new `plan`")
	cmd.Flags().IntVar(&limit, "limit", 0, "how many of its tasks may be at work at a time, whatever its plan says")
	return cmd
}

func (s *session) organization(ctx context.Context, name string, change client.OrganizationPatch) error {
	api, err := s.api()
	if err != nil {
		return err
	}
	found, err := api.Organizations(ctx)
	if err != nil {
		return err
	}
	if name != "" {
		if found, err = namedOrganization(found, name); err != nil {
			return err
		}
	}
	if change.Plan != nil || change.MaxSlots != nil {
		if len(found) != 1 {
			return exit.Usagef("there are %d organizations: name the one to change, omoi organization <name> --plan <plan>", len(found))
		}
		if found[0], err = api.PatchOrganization(ctx, found[0].ID, change); err != nil {
			return err
		}
	}
	if s.json {
		return s.printJSON(found)
	}
	s.organizationTable(found)
	if change.MaxSlots != nil && *change.MaxSlots == 0 {
		s.hint("Warning: with a limit of 0 no task of the organization starts. Next: omoi organization %s --limit <n>", found[0].ID)
	}
	return nil
}

func namedOrganization(all []client.Organization, name string) ([]client.Organization, error) {
	for _, o := range all {
		if o.ID == name || o.Name == name {
			return []client.Organization{o}, nil
		}
	}
	return nil, task.Errorf(task.CodeNotFound, "There is no organization %s. Next: omoi organization", name)
}

func (s *session) organizationTable(all []client.Organization) {
	rows := [][]string{{"ORGANIZATION", "PLAN", "AT WORK", "LIMIT", "WAITING", "PAUSED"}}
	for _, o := range all {
		limit := "none"
		if o.Limit != nil {
			limit = strconv.Itoa(*o.Limit)
		}
		if o.MaxSlots != nil {
			limit += " (its own)"
		}
		rows = append(rows, []string{
			o.Name, o.Plan, strconv.Itoa(o.AtWork), limit, strconv.Itoa(o.Waiting), cmp.Or(map[bool]string{true: "yes"}[o.Paused], "no"),
		})
	}
	_, _ = fmt.Fprint(s.Stdout, s.style().Table(rows))
}
