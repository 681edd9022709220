package cli

import (
	"encoding/json"
	"fmt"
	"text/tabwriter"

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
			if g.json {
				err = json.NewEncoder(g.stdout).Encode(map[string]any{"checks": findings})
			} else {
				err = printFindings(g, findings)
			}
			if err == nil && app.Sick(findings) {
				return exit.With(exit.NeedsYou, nil)
			}
			return err
		},
	}
}

func printFindings(g *globals, findings []app.Finding) error {
	table := tabwriter.NewWriter(g.stdout, 0, 4, 2, ' ', 0)
	for _, f := range findings {
		fmt.Fprintf(table, "%s\t%s\t%s\n", f.Status, f.Check, f.Detail)
		if f.Next != "" {
			fmt.Fprintf(table, "\t\tNext: %s\n", f.Next)
		}
	}
	return table.Flush()
}
