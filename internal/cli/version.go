package cli

import (
	"fmt"

	"github.com/spf13/cobra"

	"github.com/omoi-dev/omoi/internal/app"
	"github.com/omoi-dev/omoi/internal/cli/render"
	"github.com/omoi-dev/omoi/internal/cli/taskcmd"
)

func newVersion(g *globals) *cobra.Command {
	return &cobra.Command{
		Use: "version", Short: "Print the version and build of this binary", Args: taskcmd.NoArgs,
		RunE: func(*cobra.Command, []string) error {
			b := app.ReadBuild()
			if g.json {
				return render.JSON(g.stdout, b)
			}
			_, err := fmt.Fprintln(g.stdout, b.Describe())
			return err
		},
	}
}
