package cli

import (
	"github.com/spf13/cobra"

	"github.com/omoi-dev/omoi/internal/app"
	"github.com/omoi-dev/omoi/internal/cli/taskcmd"
)

func newAPI(g *globals) *cobra.Command {
	var host, port string
	cmd := &cobra.Command{
		Use: "api", Short: "Serve the HTTP API", Args: taskcmd.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			loaded, err := g.load(map[string]string{"api.host": host, "api.port": port})
			if err != nil {
				return err
			}
			return app.RunAPI(cmd.Context(), loaded, app.Options{Stderr: g.stderr})
		},
	}
	listenFlags(cmd, &host, &port)
	return cmd
}

func newWorker(g *globals) *cobra.Command {
	return &cobra.Command{
		Use: "worker", Short: "Run a Temporal worker with this machine's sandboxes", Args: taskcmd.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			loaded, err := g.load(nil)
			if err != nil {
				return err
			}
			return app.RunWorker(cmd.Context(), loaded, app.Options{Stderr: g.stderr})
		},
	}
}

func listenFlags(cmd *cobra.Command, host, port *string) {
	cmd.Flags().StringVar(host, "host", "", "address that the API listens on (default 127.0.0.1)")
	cmd.Flags().StringVar(port, "port", "", "port of the API, 0 for a free one (default 18000)")
}
