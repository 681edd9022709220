package taskcmd

import (
	"strings"

	"github.com/spf13/cobra"

	"github.com/omoi-dev/omoi/internal/cli/exit"
	"github.com/omoi-dev/omoi/internal/cli/render"
	"github.com/omoi-dev/omoi/internal/client"
)

func newVerdict(s *session) *cobra.Command {
	var passed bool
	var failed string
	cmd := &cobra.Command{
		Use:   "verdict <task> --passed | --failed \"<what is missing>\"",
		Short: "Judge the work of a task in the place of its validator: publish it, or have it revised",
		Args:  oneTask, ValidArgsFunction: s.completeTasks,
		RunE: func(cmd *cobra.Command, args []string) error {
			if passed == cmd.Flags().Changed("failed") {
				return exit.Usagef("give either --passed, or --failed with what is missing or wrong")
			}
			if !passed && strings.TrimSpace(failed) == "" {
				return exit.Usagef("--failed is empty: say what is missing or wrong, the next agent is given it")
			}
			api, t, err := s.taskOf(cmd.Context(), args[0])
			if err != nil {
				return err
			}
			asked, settled, err := api.Judge(cmd.Context(), t.ID, client.PersonVerdict{Passed: passed, Feedback: failed})
			if err != nil {
				return err
			}
			return s.asked(asked, settled)
		},
	}
	cmd.Flags().BoolVar(&passed, "passed", false, "the work does what was asked: publish it")
	cmd.Flags().StringVar(&failed, "failed", "", "the work does not: `what` is missing or wrong")
	return cmd
}

// showReviews tells of the rounds of validation.
func (s *session) showReviews(t client.Task) {
	if len(t.Reviews) == 0 {
		return
	}
	s.say("\nValidation")
	for _, r := range t.Reviews {
		s.say("  %s", render.OneLine(r.Words(t.Rounds), 400))
	}
}
