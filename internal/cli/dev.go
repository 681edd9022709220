package cli

import (
	"fmt"
	"time"

	"github.com/spf13/cobra"

	"github.com/omoi-dev/omoi/internal/app"
	"github.com/omoi-dev/omoi/internal/devstack"
)

func newDev(g *globals) *cobra.Command {
	var host, port, temporalPort, uiPort string
	cmd := &cobra.Command{
		Use: "dev", Short: "Start everything on this machine and keep it running until Ctrl-C", Args: cobra.NoArgs,
		Long: `Start everything on this machine and keep it running until Ctrl-C: a private PostgreSQL, the Temporal
development server with its Web UI, API and worker. A second start goes on where the first one stopped.
Serves loopback without login. Everything that is kept is below OMOI_HOME (default ~/.omoi).`,
		RunE: func(cmd *cobra.Command, _ []string) error {
			loaded, err := g.load(map[string]string{
				"api.host": host, "api.port": port, "dev.temporal_port": temporalPort, "dev.temporal_ui_port": uiPort,
			})
			if err != nil {
				return err
			}
			begun := time.Now()
			return app.RunDev(cmd.Context(), loaded, app.Options{
				Stderr:   g.stderr,
				Progress: func(step string) { fmt.Fprintf(g.stderr, "%6.1fs  %s\n", time.Since(begun).Seconds(), step) },
				Ready:    func(info devstack.Info) { printReady(g, info) },
			})
		},
	}
	listenFlags(cmd, &host, &port)
	cmd.Flags().StringVar(&temporalPort, "temporal-port", "", "port of the Temporal server, 0 for a free one (default 7233)")
	cmd.Flags().StringVar(&uiPort, "ui-port", "", "port of the Temporal Web UI, 0 for a free one (default 8233)")
	return cmd
}

func printReady(g *globals, info devstack.Info) {
	fmt.Fprintf(g.stdout, `
omoi is running.

  API           %s
  health        %s/readyz
  Temporal UI   %s
  temporal CLI  temporal --address %s -n %s workflow list

  No login is asked of this machine; other machines and web pages are refused.
  Try it:  omoi run "Write hello.txt" --repo <path of a git repository>
  Stop it: Ctrl-C

`, info.APIURL, info.APIURL, info.TemporalUIURL, info.TemporalAddress, info.TemporalNamespace)
}
