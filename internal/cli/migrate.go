package cli

import (
	"strconv"
	"time"

	"github.com/spf13/cobra"

	"github.com/omoi-dev/omoi/internal/app"
	"github.com/omoi-dev/omoi/internal/cli/taskcmd"
)

func newMigrate(g *globals) *cobra.Command {
	cmd := &cobra.Command{
		Use: "migrate", Short: "Migrate the database schema, or show its version",
		Long: `Bring the database's schema up to date, or look at it. Any number of processes may do it at once.
The database is that of DATABASE_URL, else that of a running omoi dev.`,
	}
	cmd.AddCommand(&cobra.Command{
		Use: "up", Short: "Migrate the schema to the newest version", Args: taskcmd.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error { return migrate(cmd, g, app.MigrateUp) },
	}, &cobra.Command{
		Use: "status", Short: "List the migrations and their state", Args: taskcmd.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error { return migrate(cmd, g, app.MigrateStatus) },
	})
	return cmd
}

func migrate(cmd *cobra.Command, g *globals, do app.Migration) error {
	loaded, err := g.load(nil)
	if err != nil {
		return err
	}
	steps, err := do(cmd.Context(), loaded)
	if err != nil {
		return err
	}
	rows := [][]string{{"VERSION", "NAME", "STATE"}}
	for _, step := range steps {
		state := "not applied"
		if step.AppliedAt != nil {
			state = "applied " + step.AppliedAt.UTC().Format(time.RFC3339)
		}
		rows = append(rows, []string{strconv.FormatInt(step.Version, 10), step.Name, state})
	}
	return g.answer(map[string]any{"steps": steps}, rows)
}
