package cli

import (
	"encoding/json"
	"fmt"
	"text/tabwriter"

	"github.com/spf13/cobra"

	"github.com/omoi-dev/omoi/config"
	"github.com/omoi-dev/omoi/internal/cli/taskcmd"
)

func newConfig(g *globals) *cobra.Command {
	cmd := &cobra.Command{Use: "config", Short: "Show the configuration"}
	show := &cobra.Command{
		Use: "show", Short: "Print every setting with its value and origin; secrets are masked", Args: taskcmd.NoArgs,
		RunE: func(*cobra.Command, []string) error {
			loaded, err := g.load(nil)
			if err != nil {
				return err
			}
			if g.json {
				return configJSON(g, loaded)
			}
			return configTable(g, loaded)
		},
	}
	cmd.AddCommand(show)
	return cmd
}

func configTable(g *globals, loaded *config.Loaded) error {
	table := tabwriter.NewWriter(g.stdout, 0, 4, 2, ' ', 0)
	fmt.Fprintln(table, "KEY\tVALUE\tORIGIN")
	for _, v := range loaded.Values {
		fmt.Fprintf(table, "%s\t%s\t%s\n", v.Key, v.Value, v.Origin)
	}
	for _, warning := range loaded.Warnings {
		fmt.Fprintln(g.stderr, "warning:", warning)
	}
	return table.Flush()
}

// setting is one line of config show --json.
type setting struct {
	Key    string `json:"key"`
	Value  string `json:"value"`
	Origin string `json:"origin"`
	Secret bool   `json:"secret,omitempty"`
}

func configJSON(g *globals, loaded *config.Loaded) error {
	settings := make([]setting, 0, len(loaded.Values))
	for _, v := range loaded.Values {
		settings = append(settings, setting{Key: v.Key, Value: v.Value, Origin: v.Origin, Secret: v.Secret})
	}
	out := json.NewEncoder(g.stdout)
	out.SetIndent("", "  ")
	return out.Encode(map[string]any{"settings": settings, "warnings": loaded.Warnings})
}
