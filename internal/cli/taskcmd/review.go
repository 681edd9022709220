package taskcmd

import (
	"context"
	"strings"

	"github.com/spf13/cobra"

	"github.com/omoi-dev/omoi/api/client"
	"github.com/omoi-dev/omoi/internal/cli/exit"
	"github.com/omoi-dev/omoi/internal/cli/render"
)

func newReview(s *session) *cobra.Command {
	var v client.ReviewRequest
	cmd := s.taskVerb("review <task> --approve | --request-changes \"<text>\"", "Review a task's work instead of its validator",
		func(ctx context.Context, api *client.Client, t client.Task) error {
			asked, settled, err := api.Judge(ctx, t.ID, v)
			if err != nil {
				return err
			}
			return s.asked(asked, settled)
		})
	cmd.PreRunE = func(cmd *cobra.Command, _ []string) error {
		changes := cmd.Flags().Changed("request-changes")
		switch {
		case v.Passed == changes:
			return exit.Usagef("give either --approve, or --request-changes \"<text>\"")
		case changes && strings.TrimSpace(v.Feedback) == "":
			return exit.Usagef("--request-changes is empty: describe what is missing or wrong, for the next attempt")
		}
		return nil
	}
	cmd.Flags().BoolVar(&v.Passed, "approve", false, "approve the work: publish it")
	cmd.Flags().StringVar(&v.Feedback, "request-changes", "", "reject the work: `text` that tells the next attempt what is missing or wrong")
	return cmd
}

// showReviews prints the validation rounds of a task.
func (s *session) showReviews(t client.Task) {
	if len(t.Reviews) == 0 {
		return
	}
	s.say("\nValidation")
	for _, r := range t.Reviews {
		s.say("  %s", render.OneLine(r.Words(t.Rounds), 400))
	}
}
