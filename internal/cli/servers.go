package cli

import (
	"context"

	"github.com/spf13/cobra"

	"github.com/omoi-dev/omoi/config"
	"github.com/omoi-dev/omoi/internal/app"
)

func newAPI(g *globals) *cobra.Command {
	cmd := g.command("api", "Serve the HTTP API", func(ctx context.Context, loaded *config.Loaded) error {
		return app.RunAPI(ctx, loaded, app.Options{Stderr: g.stderr})
	})
	g.listenFlags(cmd)
	return cmd
}

func newWorker(g *globals) *cobra.Command {
	short := "Run a Temporal worker with this machine's sandboxes"
	return g.command("worker", short, func(ctx context.Context, loaded *config.Loaded) error {
		return app.RunWorker(ctx, loaded, app.Options{Stderr: g.stderr})
	})
}

func (g *globals) listenFlags(cmd *cobra.Command) {
	cmd.Flags().Func("host", "`address` that the API listens on (default 127.0.0.1)", g.setting("api.host"))
	cmd.Flags().Func("port", "`port` of the API, 0 for a free one (default 18000)", g.setting("api.port"))
}
