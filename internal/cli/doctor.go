package cli

import (
	"context"

	"github.com/spf13/cobra"

	"github.com/omoi-dev/omoi/config"
	"github.com/omoi-dev/omoi/internal/app"
	"github.com/omoi-dev/omoi/internal/cli/exit"
)

func newDoctor(g *globals) *cobra.Command {
	return g.command("doctor", "Check this machine's prerequisites", func(ctx context.Context, loaded *config.Loaded) error {
		findings := app.Checkup(ctx, loaded)
		rows := [][]string{{"STATUS", "CHECK", "DETAIL"}}
		for _, f := range findings {
			rows = append(rows, []string{f.Status, f.Check, f.Detail})
			if f.Next != "" {
				rows = append(rows, []string{"", "", "Next: " + f.Next})
			}
		}
		err := g.answer(map[string]any{"checks": findings}, rows)
		if err == nil && app.Sick(findings) {
			return exit.With(exit.NeedsYou, nil)
		}
		return err
	})
}
