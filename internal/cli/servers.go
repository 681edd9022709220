package cli

import (
	"context"
	"fmt"
	"path/filepath"
	"time"

	"github.com/spf13/cobra"

	"github.com/omoi-dev/omoi/config"
	"github.com/omoi-dev/omoi/internal/app"
	"github.com/omoi-dev/omoi/internal/devstack"
)

func newDev(g *globals) *cobra.Command {
	var emulator, leave bool
	short := "Start everything on this machine until Ctrl-C"
	cmd := g.command("dev", short, func(ctx context.Context, loaded *config.Loaded) error {
		begun := time.Now()
		return app.RunDev(ctx, loaded, app.Options{
			Stderr:   g.stderr,
			Progress: func(step string) { fmt.Fprintf(g.stderr, "%6.1fs  %s\n", time.Since(begun).Seconds(), step) },
			Ready:    func(info devstack.Info) { printReady(g, loaded, info, leave) },

			LeaveRunning: leave, DaytonaEmulator: emulator,
		})
	})
	cmd.Long = `Start everything on this machine and keep it running until Ctrl-C: a private PostgreSQL, the Temporal
development server with its Web UI, API and worker. A second start goes on where the first one stopped.

Ctrl-C freezes the agents of this machine: their sandboxes do nothing until the next start thaws them, and this time
counts neither as silence nor against a budget. Sandboxes elsewhere, as at Daytona, keep running; the stop names them
with their price. It takes 10 seconds at most, and a second Ctrl-C ends it at once. With --leave-running the agents
keep running, unsupervised and without budget.

On a loopback address it serves without login, unless api.auth_disabled is set to false; on any other address it asks for
an API key, and does not start before one exists (OMOI_API_KEY makes the first).

Everything that is kept is below OMOI_HOME (default ~/.omoi). As root, the database and the sandboxes' files are in the
folder below /var/lib/omoi that is named after a hash of OMOI_HOME. To reset, stop omoi and delete the data directories
that it prints at its start.`
	g.listenFlags(cmd)
	f := cmd.Flags()
	f.Func("temporal-port", "`port` of the Temporal server, 0 for a free one (default 7233)", g.setting("dev.temporal_port"))
	f.Func("ui-port", "`port` of the Temporal Web UI, 0 for a free one (default 8233)", g.setting("dev.temporal_ui_port"))
	f.BoolVar(&leave, "leave-running", false, "keep agents of this machine running after Ctrl-C, unsupervised and without budget")
	f.BoolVar(&emulator, "with-daytona-emulator", false,
		"start a Daytona emulator on this machine, to try --provider daytona without an account; development builds only")
	return cmd
}

func printReady(g *globals, loaded *config.Loaded, info devstack.Info, leave bool) {
	stop, emulator := "agents are frozen until the next start", ""
	login := "Every request needs an API key: OMOI_API_KEY, or one made by omoi keys create."
	if leave {
		stop = "agents keep running"
	}
	if info.DaytonaURL != "" {
		emulator = "  Daytona       an emulator at " + info.DaytonaURL + "; its key is in dev.json. Try: omoi run ... --provider daytona\n"
	}
	if loaded.API.AuthDisabled {
		login = "No login is asked of this machine's users and programs; other machines and web pages are refused."
	}
	fmt.Fprintf(g.stdout, `
omoi is running.

  API           %s
  health        %s/readyz
  Temporal UI   %s
  temporal CLI  temporal --address %s -n %s workflow list
  kept in       %s
%s
  %s
  Try it:  omoi run "Say hello" --repo <path of a git repository> --script example:hello --wait
  Stop it: Ctrl-C (%s)

`, info.APIURL, info.APIURL, info.TemporalUIURL, info.TemporalAddress, info.TemporalNamespace, keptIn(loaded), emulator, login, stop)
}

// keptIn names the folders that hold all of an installation.
func keptIn(loaded *config.Loaded) string {
	place := devstack.Config{Home: loaded.Home, DataRoot: loaded.Dev.PostgresDataRoot}
	if other := filepath.Clean(place.PrivateDir("")); other != filepath.Clean(loaded.Home) {
		return loaded.Home + " and " + other
	}
	return loaded.Home
}

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
