package taskcmd

import (
	"context"
	"strconv"
	"strings"

	"github.com/spf13/cobra"

	"github.com/omoi-dev/omoi/internal/cli/exit"
	"github.com/omoi-dev/omoi/internal/cli/render"
	"github.com/omoi-dev/omoi/internal/client"
)

func newInterventions(s *session) *cobra.Command {
	var limit int
	cmd := &cobra.Command{
		Use:               "interventions [task]",
		Short:             "List what the guardian did, or in shadow would have done, newest first, with its receipts",
		Args:              noneOrOneTask,
		ValidArgsFunction: s.completeTasks,
		RunE: func(cmd *cobra.Command, args []string) error {
			api, filter, err := s.ofTask(cmd.Context(), args)
			if err != nil {
				return err
			}
			filter.Limit = limit
			page, err := api.Interventions(cmd.Context(), filter)
			if err != nil {
				return err
			}
			if s.json {
				return s.printJSON(page.Items)
			}
			s.showInterventions(page.Items)
			return nil
		},
	}
	cmd.Flags().IntVarP(&limit, "limit", "n", 50, "how many at most, up to 500")
	cmd.AddCommand(s.interventionsWithdraw())
	return cmd
}

func (s *session) ofTask(ctx context.Context, args []string) (*client.Client, client.GuardianFilter, error) {
	if len(args) == 0 {
		api, err := s.api()
		return api, client.GuardianFilter{}, err
	}
	api, t, err := s.taskOf(ctx, args[0])
	return api, client.GuardianFilter{TaskID: t.ID}, err
}

func (s *session) showInterventions(all []client.Intervention) {
	if len(all) == 0 {
		s.hint("The guardian has found nothing to do. Next: omoi guardian status")
		return
	}
	rows := [][]string{{"INTERVENTION", "WHEN", "TASK", "ATTEMPT", "STEP", "STATE", "WHAT"}}
	for _, iv := range all {
		rows = append(rows, []string{
			render.Short(iv.ID), iv.PlannedAt.Local().Format("01-02 15:04:05"), render.Short(iv.TaskID), strconv.Itoa(iv.Attempt), string(iv.Level),
			stateOf(iv), render.OneLine(iv.Content, 90),
		})
	}
	s.say("%s", strings.TrimRight(s.style().Table(rows), "\n"))
}

// stateOf is what became of a step: in shadow nothing, else what its receipt says.
func stateOf(iv client.Intervention) string {
	receipt := iv.MessageState
	if receipt == "" {
		receipt = iv.CommandState
	}
	switch {
	case iv.Shadow && iv.Level != "observe":
		return "shadow"
	case iv.State == "sent" && receipt != "":
		return strings.ReplaceAll(receipt, "_", " ")
	}
	return iv.State
}

func (s *session) interventionsWithdraw() *cobra.Command {
	return &cobra.Command{
		Use: "withdraw <intervention>", Short: "Take a message of the guardian back that its agent was not given yet",
		Args: exactly(1, "the id of an intervention, or 4 or more characters of its beginning or end"),
		RunE: func(cmd *cobra.Command, args []string) error {
			api, err := s.api()
			if err != nil {
				return err
			}
			id, err := findIntervention(cmd.Context(), api, args[0])
			if err != nil {
				return err
			}
			iv, err := api.Withdraw(cmd.Context(), id)
			switch {
			case err != nil:
				return err
			case s.json:
				return s.printJSON(iv)
			}
			s.say("%s  is withdrawn; nobody was told.", render.Short(iv.ID))
			return nil
		},
	}
}

// findIntervention resolves what a person typed, among the newest ones.
func findIntervention(ctx context.Context, api *client.Client, ref string) (string, error) {
	if len(ref) == uuidLength {
		return ref, nil
	}
	page, err := api.Interventions(ctx, client.GuardianFilter{Limit: 500})
	if err != nil {
		return "", err
	}
	var found []string
	for _, iv := range page.Items {
		if len(ref) >= minFragment && partOf(iv.ID, ref) {
			found = append(found, iv.ID)
		}
	}
	if len(found) != 1 {
		return "", exit.Usagef("%q fits %d of the newest interventions; give more of the id (omoi interventions lists them)", ref, len(found))
	}
	return found[0], nil
}

// showSteps is the part of omoi show that tells of the guardian; without steps it says nothing.
func (s *session) showSteps(steps []client.Intervention) {
	if len(steps) == 0 {
		return
	}
	s.say("")
	s.showInterventions(steps)
}
