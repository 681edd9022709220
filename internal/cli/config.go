package cli

import (
	"context"
	"fmt"

	"github.com/spf13/cobra"

	"github.com/omoi-dev/omoi/config"
)

// setting is one setting in the output of config show --json.
type setting struct {
	Key    string `json:"key"`
	Value  string `json:"value"`
	Origin string `json:"origin"`
	Secret bool   `json:"secret,omitempty"`
}

func newConfig(g *globals) *cobra.Command {
	cmd := &cobra.Command{Use: "config", Short: "Show the configuration"}
	cmd.AddCommand(g.command("show", "Print all settings with value and origin, secrets masked", g.showConfig))
	return cmd
}

func (g *globals) showConfig(_ context.Context, loaded *config.Loaded) error {
	settings := make([]setting, 0, len(loaded.Values))
	rows := [][]string{{"KEY", "VALUE", "ORIGIN"}}
	for _, v := range loaded.Values {
		settings = append(settings, setting{Key: v.Key, Value: v.Value, Origin: v.Origin, Secret: v.Secret})
		rows = append(rows, []string{v.Key, v.Value, v.Origin})
	}
	for _, warning := range loaded.Warnings {
		if !g.json {
			_, _ = fmt.Fprintln(g.stderr, "warning:", warning)
		}
	}
	return g.answer(map[string]any{"settings": settings, "warnings": loaded.Warnings}, rows)
}
