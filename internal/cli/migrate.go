package cli

import (
	"context"
	"strconv"
	"time"

	"github.com/spf13/cobra"

	"github.com/omoi-dev/omoi/config"
	"github.com/omoi-dev/omoi/internal/app"
)

func newMigrate(g *globals) *cobra.Command {
	cmd := &cobra.Command{
		Use: "migrate", Short: "Migrate the database schema, or show its version",
		Long: `Migrate the database schema, or show its version. Several processes may run the command at the same time. The database is
that of DATABASE_URL, else that of the running omoi dev.`,
	}
	cmd.AddCommand(g.migrate("up", "Migrate the schema to the newest version", app.MigrateUp),
		g.migrate("status", "List the migrations and their state", app.MigrateStatus))
	return cmd
}

func (g *globals) migrate(use, short string, do app.Migration) *cobra.Command {
	return g.command(use, short, func(ctx context.Context, loaded *config.Loaded) error {
		steps, err := do(ctx, loaded)
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
	})
}
