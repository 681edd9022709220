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
	cmd.Long = `Start everything on this machine and keep it running until Ctrl-C: a private PostgreSQL, the Temporal development server
with its Web UI, API and worker. The next start resumes the tasks.

Ctrl-C stops the processes of agents on this machine (SIGSTOP, docker pause), and the next start continues them. The time
between counts neither as silence nor against a budget. Sandboxes of other providers, for example Daytona, keep running;
the command prints them with their price. The shutdown takes at most 10 seconds, and a second Ctrl-C ends it at once. With
--leave-running the agents keep running, unsupervised and without budget.

On a loopback address authentication is disabled, unless api.auth_disabled is set to false. On any other address requests
need an API key, and the command does not start before one exists (OMOI_API_KEY creates the first).

All data is below OMOI_HOME (default ~/.omoi). As root, the database and the files of the sandboxes are in a directory
below /var/lib/omoi that is named after a hash of OMOI_HOME. To reset, stop omoi and delete the data directories that
omoi dev prints at its start.`
	g.listenFlags(cmd)
	f := cmd.Flags()
	f.Func("temporal-port", "`port` of the Temporal server, 0: a free port (default 7233)", g.setting("dev.temporal_port"))
	f.Func("ui-port", "`port` of the Temporal Web UI, 0: a free port (default 8233)", g.setting("dev.temporal_ui_port"))
	f.BoolVar(&leave, "leave-running", false, "keep agents running after Ctrl-C, unsupervised and without budget")
	f.BoolVar(&emulator, "with-daytona-emulator", false,
		"start a Daytona emulator, to try --provider daytona without an account; development builds only")
	return cmd
}

func printReady(g *globals, loaded *config.Loaded, info devstack.Info, leave bool) {
	stop, emulator := "agents are stopped until the next start", ""
	login := "Requests need an API key: OMOI_API_KEY, or one of omoi keys create."
	if leave {
		stop = "agents keep running"
	}
	if info.DaytonaURL != "" {
		emulator = "  Daytona       emulator at " + info.DaytonaURL + ", its key is in dev.json. Next: omoi run ... --provider daytona\n"
	}
	if loaded.API.AuthDisabled {
		login = "Authentication is disabled: users and programs of this machine have access, other machines and web pages do not."
	}
	fmt.Fprintf(g.stdout, `
omoi is running.

  page          %s/tasks
  API           %s
  health        %s/readyz
  Temporal UI   %s
  temporal CLI  temporal --address %s -n %s workflow list
  data          %s
%s
  %s
  Next: omoi run "Say hello" --repo <path of a git repository> --script example:hello --wait
  Stop: Ctrl-C (%s)

`, info.APIURL, info.APIURL, info.APIURL, info.TemporalUIURL, info.TemporalAddress, info.TemporalNamespace, keptIn(loaded), emulator, login, stop)
}

// keptIn returns the directories with the data of an installation, for the output of omoi dev.
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
	cmd.Flags().Func("host", "listen `address` of the API (default 127.0.0.1)", g.setting("api.host"))
	cmd.Flags().Func("port", "`port` of the API, 0: a free port (default 18000)", g.setting("api.port"))
}
