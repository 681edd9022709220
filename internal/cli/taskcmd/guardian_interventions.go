package taskcmd

import (
	"cmp"
	"context"
	"strconv"
	"strings"

	"github.com/spf13/cobra"

	"github.com/omoi-dev/omoi/internal/cli/render"
	"github.com/omoi-dev/omoi/internal/client"
)

func (s *session) guardianInterventions() *cobra.Command {
	return s.ofTask("interventions [task]", "List interventions of the guardian, in shadow mode too, newest first", 50,
		func(ctx context.Context, api *client.Client, f client.GuardianFilter) error {
			page, err := api.Interventions(ctx, f)
			return s.answer(page.Items, err, func() { s.showInterventions(page.Items) })
		})
}

// ofTask returns a command that lists what there is of a task, or without an argument of all tasks.
func (s *session) ofTask(use, short string, limit int, list func(context.Context, *client.Client, client.GuardianFilter) error) *cobra.Command {
	f := client.GuardianFilter{}
	cmd := s.verb(use, short, cobra.MaximumNArgs(1), func(ctx context.Context, api *client.Client, args []string) error {
		if len(args) > 0 {
			t, err := s.taskOf(ctx, api, args[0])
			if err != nil {
				return err
			}
			f.TaskID = t.ID
		}
		return list(ctx, api, f)
	})
	cmd.ValidArgsFunction = s.completeTasks
	cmd.Flags().IntVarP(&f.Limit, "limit", "n", limit, "how many at most, up to 500")
	return cmd
}

func (s *session) showInterventions(all []client.Intervention) {
	heading := "INTERVENTION|WHEN|TASK|ATTEMPT|LEVEL|STATE|MESSAGE"
	list(s, all, "No interventions. Next: omoi guardian status", heading, func(iv client.Intervention) []string {
		return []string{
			render.Short(iv.ID), iv.PlannedAt.Local().Format("01-02 15:04:05"), render.Short(iv.TaskID), strconv.Itoa(iv.Attempt), string(iv.Level),
			stateOf(iv), render.OneLine(iv.Content, 90),
		}
	})
}

// stateOf is the state of an intervention: in shadow mode none, else what its receipt says.
func stateOf(iv client.Intervention) string {
	receipt := cmp.Or(iv.MessageState, iv.CommandState)
	switch {
	case iv.Shadow && iv.Level != "observe":
		return "shadow"
	case iv.State == "sent" && receipt != "":
		return stateWords(receipt)
	}
	return iv.State
}

func (s *session) guardianWithdraw() *cobra.Command {
	return s.verb("withdraw <intervention>", "Withdraw a message of the guardian that was not delivered yet",
		exactly(1, "the id of an intervention, or 4 or more characters of its beginning or end"),
		func(ctx context.Context, api *client.Client, args []string) error {
			id, err := interventionOf(ctx, api, plain(args[0]))
			if err != nil {
				return err
			}
			iv, err := api.Withdraw(ctx, id)
			return s.answer(iv, err, func() { s.say("Withdrew intervention %s; it was not delivered.", render.Short(iv.ID)) })
		})
}

// interventionOf returns the ID of the intervention that ref names: whole, or by a part among the newest ones.
func interventionOf(ctx context.Context, api *client.Client, ref string) (string, error) {
	if len(ref) == uuidLength {
		return ref, nil
	}
	page, err := api.Interventions(ctx, client.GuardianFilter{Limit: pageLimit})
	if err != nil {
		return "", err
	}
	found, err := kind[client.Intervention]{
		noun: "intervention", list: "omoi guardian interventions", id: func(iv client.Intervention) string { return iv.ID },
	}.pick(page.Items, ref)
	return found.ID, err
}

// stateWords is a state of the wire as text.
func stateWords(state string) string {
	switch state {
	case client.MessageTakenUp:
		return "acknowledged"
	case "carried_out":
		return "applied"
	}
	return strings.ReplaceAll(state, "_", " ")
}
