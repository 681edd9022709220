package cli

import (
	"context"
	"encoding/json"
	"fmt"
	"os"
	"strconv"
	"time"

	"github.com/spf13/cobra"

	"github.com/omoi-dev/omoi/config"
	"github.com/omoi-dev/omoi/internal/app"
	"github.com/omoi-dev/omoi/internal/cli/exit"
	"github.com/omoi-dev/omoi/internal/openhands"
	"github.com/omoi-dev/omoi/internal/openhands/bridge"
)

func newOpenHands(g *globals) *cobra.Command {
	cmd := &cobra.Command{
		Use: "openhands", Short: "Start and stop an OpenHands agent server for sandboxes on this machine",
		Long: `Start and stop an OpenHands agent server for sandboxes on this machine (omoi run --provider openhands), and write and check the
configuration of a server that you start yourself. The agent openhands needs none of it: it starts a server of its own in
its sandbox. docs/OPENHANDS.md describes both.`,
	}
	cmd.AddCommand(
		g.openHands("start", "Start the server, and wait until it is ready", app.StartOpenHands),
		g.openHands("stop", "End the server; its sandboxes keep running", app.StopOpenHands),
		g.openHands("status", "Show the server; exit code 1 if it cannot be used", app.OpenHandsStatus),
		newOpenHandsConfig(g), newOpenHandsBridge(),
	)
	return cmd
}

// openHands returns a command that does something to the server and shows it.
func (g *globals) openHands(use, short string, do func(context.Context, *config.Loaded) (app.OpenHandsServer, error)) *cobra.Command {
	return g.command(use, short, func(ctx context.Context, loaded *config.Loaded) error {
		now, err := do(ctx, loaded)
		if err != nil {
			return err
		}
		state := map[bool]string{true: "running", false: "stopped"}[now.Running]
		if now.Fault != "" {
			state += ", and cannot be used: " + now.Fault
		}
		rows := [][]string{{"OPENHANDS", ""}, {"state", state}}
		if now.URL != "" {
			rows = append(rows, []string{"address", now.URL}, []string{"version", now.Version}, []string{"process", strconv.Itoa(now.PID)},
				[]string{"started", now.StartedAt.Format(time.RFC3339)}, []string{"folder", now.Dir})
		}
		if err := g.answer(now, rows); err != nil {
			return err
		}
		if use != "stop" && (!now.Running || now.Fault != "") {
			return exit.With(exit.Failed, nil)
		}
		return nil
	})
}

func newOpenHandsConfig(g *globals) *cobra.Command {
	cmd := &cobra.Command{
		Use: "config <file>", Short: "Check a server's configuration, or write a new one",
		Long: `Check the configuration of a server that you start yourself, or write a new one with random keys if the file does not exist.
The server reads it from the path in ` + openhands.ConfigVariable + `.

Exit code 0: the file was written, or has no fault. 1: it has one.`,
		Args: func(cmd *cobra.Command, args []string) error {
			if len(args) != 1 {
				return exit.Usagef("%s takes the path of one file", cmd.CommandPath())
			}
			return nil
		},
		RunE: func(_ *cobra.Command, args []string) error {
			text, err := os.ReadFile(args[0])
			if os.IsNotExist(err) {
				return g.writeOpenHands(args[0])
			}
			if err != nil {
				return exit.With(exit.Usage, err)
			}
			return g.checkOpenHands(openhands.CheckConfig(text))
		},
	}
	return cmd
}

// writeOpenHands writes a configuration with new keys, which only the user may read.
func (g *globals) writeOpenHands(path string) error {
	text, err := json.MarshalIndent(openhands.NewConfig(openhands.NewKeys()), "", "  ")
	if err != nil {
		return fmt.Errorf("encode the configuration: %w", err)
	}
	if err := os.WriteFile(path, append(text, '\n'), 0o600); err != nil {
		return exit.With(exit.Usage, err)
	}
	_, err = fmt.Fprintf(g.stderr, "Wrote %s with random keys. Next: start the server with %s=%s, and set WORKSPACE_REMOTE_HOST and WORKSPACE_REMOTE_API_KEY\n",
		path, openhands.ConfigVariable, path)
	return err
}

func (g *globals) checkOpenHands(faults []string) error {
	rows := [][]string{{"FAULT"}}
	for _, fault := range faults {
		rows = append(rows, []string{fault})
	}
	if len(faults) == 0 {
		rows = [][]string{{"The configuration has no fault."}}
	}
	if err := g.answer(map[string]any{"faults": append([]string{}, faults...)}, rows); err != nil {
		return err
	}
	if len(faults) > 0 {
		return exit.With(exit.Failed, nil)
	}
	return nil
}

// newOpenHandsBridge is between omoi and a server, as in omoi-agent; omoi check agent openhands uses it.
func newOpenHandsBridge() *cobra.Command {
	return &cobra.Command{
		Use: "bridge <program>", Short: "Speak the Agent Client Protocol with an OpenHands server", Hidden: true, Args: cobra.ExactArgs(1),
		RunE: func(_ *cobra.Command, args []string) error {
			bridge.Main(args[0])
			return nil
		},
	}
}
