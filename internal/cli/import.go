package cli

import (
	"context"
	"fmt"
	"strconv"
	"strings"

	"github.com/spf13/cobra"

	"github.com/omoi-dev/omoi/config"
	"github.com/omoi-dev/omoi/internal/app"
	"github.com/omoi-dev/omoi/internal/cli/exit"
)

func newImport(g *globals) *cobra.Command {
	cmd := &cobra.Command{Use: "import", Short: "Import the data of another system"}
	cmd.AddCommand(newImportOmoiOS(g))
	return cmd
}

func newImportOmoiOS(g *globals) *cobra.Command {
	var o app.ImportOptions
	cmd := g.command("omoios", "Import organizations, tasks and events of OmoiOS", func(ctx context.Context, loaded *config.Loaded) error {
		if o.DSN == "" {
			return exit.Usagef("missing --dsn: the address of the database of OmoiOS")
		}
		return g.importOmoiOS(ctx, loaded, o)
	})
	cmd.Long = `Import organizations, users, credentials, projects, tickets, tasks, transcripts and events of OmoiOS, and say of each
table how many rows were imported, existed already, and were skipped, with the reason. The database of OmoiOS is only read.

Repeat the command at any time: an interrupted import continues, and imported rows stay as they are. Tasks that had not
ended are imported as failed; omoi retry runs them. --set task.agent and --set task.provider choose how.

CREDENTIAL_ENCRYPTION_KEY is the key of OmoiOS for credentials. The database of omoi is that of DATABASE_URL, else that of
the running omoi dev.`
	cmd.Flags().StringVar(&o.DSN, "dsn", "", "`URL` of the database of OmoiOS")
	cmd.Flags().StringVar(&o.Into, "into", "", "import all into the organization `NAME` of omoi, as default of omoi dev")
	cmd.Flags().BoolVar(&o.DryRun, "dry-run", false, "show what would be imported, and write nothing")
	return cmd
}

func (g *globals) importOmoiOS(ctx context.Context, loaded *config.Loaded, o app.ImportOptions) error {
	o.Key = g.variable(app.ImportKeyVariable)
	o.Progress = func(text string) { _, _ = fmt.Fprintln(g.stderr, text) }
	report, err := app.ImportOmoiOS(ctx, loaded, o)
	if err != nil {
		return err
	}
	if err := g.answer(report, importRows(report)); err != nil || g.json {
		return err
	}
	for _, k := range report.Kinds {
		for _, n := range k.Reasons {
			fmt.Fprintf(g.stdout, "%s, %d skipped: %s%s\n", k.Table, n.Rows, n.Text, importExamples(n.Examples))
		}
		for _, n := range k.Changes {
			fmt.Fprintf(g.stdout, "%s, %d changed: %s%s\n", k.Table, n.Rows, n.Text, importExamples(n.Examples))
		}
	}
	if report.DryRun {
		fmt.Fprintln(g.stdout, "Nothing was written. Next: repeat without --dry-run")
	}
	return nil
}

func importRows(report app.ImportReport) [][]string {
	rows := [][]string{{"TABLE", "ROWS", "IMPORTED", "EXISTING", "SKIPPED"}}
	for _, k := range report.Kinds {
		if k.Missing {
			rows = append(rows, []string{k.Table, "no table", "", "", ""})
			continue
		}
		line := []string{k.Table}
		for _, n := range []int64{k.Rows, k.Imported, k.Existing, k.Skipped} {
			line = append(line, strconv.FormatInt(n, 10))
		}
		rows = append(rows, line)
	}
	return rows
}

func importExamples(ids []string) string {
	if len(ids) == 0 {
		return ""
	}
	return " (" + strings.Join(ids, ", ") + ")"
}
