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
			dirty := ""
			if b.Modified {
				dirty = " with changes"
			}
			_, err := fmt.Fprintf(g.stdout, "omoi %s%s, %s %s, agent protocol %d\n", b, dirty, b.Go, b.Platform, b.Protocol)
			return err
		},
	}
}
