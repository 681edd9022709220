package cli

import (
	"github.com/spf13/cobra"

	"github.com/omoi-dev/omoi/internal/app"
	"github.com/omoi-dev/omoi/internal/cli/exit"
	"github.com/omoi-dev/omoi/internal/cli/taskcmd"
)

func newDoctor(g *globals) *cobra.Command {
	return &cobra.Command{
		Use: "doctor", Short: "Check this machine's prerequisites", Args: taskcmd.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			loaded, err := g.load(nil)
			if err != nil {
				return err
			}
			findings := app.Checkup(cmd.Context(), loaded)
			rows := [][]string{{"STATUS", "CHECK", "DETAIL"}}
			for _, f := range findings {
				rows = append(rows, []string{f.Status, f.Check, f.Detail})
				if f.Next != "" {
					rows = append(rows, []string{"", "", "Next: " + f.Next})
				}
			}
			err = g.answer(map[string]any{"checks": findings}, rows)
			if err == nil && app.Sick(findings) {
				return exit.With(exit.NeedsYou, nil)
			}
			return err
		},
	}
}
