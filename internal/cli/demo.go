package cli

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"time"

	"github.com/spf13/cobra"

	"github.com/omoi-dev/omoi/config"
	"github.com/omoi-dev/omoi/internal/agent/claude"
	"github.com/omoi-dev/omoi/internal/app"
	"github.com/omoi-dev/omoi/internal/cli/exit"
	"github.com/omoi-dev/omoi/internal/cli/scenario"
	"github.com/omoi-dev/omoi/internal/cli/taskcmd"
	"github.com/omoi-dev/omoi/internal/devstack"
	"github.com/omoi-dev/omoi/internal/task"
)

// claudeTimeout is for a model that thinks before it works.
const claudeTimeout = 10 * time.Minute

func newDemo(g *globals) *cobra.Command {
	var timeout time.Duration
	agent := task.AgentScripted
	cmd := &cobra.Command{
		Use: "demo", Short: "Run one real task with a scripted agent and check its result", Args: taskcmd.NoArgs,
		Long: `Start everything (or use the omoi dev that runs already), run one real task in a throw-away repository, show
every step, check what came of it, and stop what was started. Exit code 0 only if everything it says is true.
The agent is scripted: it follows a list of steps and has no model. With --agent claude it is Claude Code, which
needs a key, a subscription's token or the address of a model.`,
		RunE: func(cmd *cobra.Command, _ []string) error {
			if agent == task.AgentClaude && !cmd.Flags().Changed("timeout") {
				timeout = claudeTimeout
			}
			return g.demo(cmd.Context(), agent, timeout)
		},
	}
	cmd.Flags().StringVar(&agent, "agent", agent, "scripted, or claude")
	cmd.Flags().DurationVar(&timeout, "timeout", 2*time.Minute, "how long the task may take; 10m with --agent claude")
	return cmd
}

func (g *globals) demo(ctx context.Context, agent string, timeout time.Duration) (err error) {
	loaded, err := g.load(nil)
	if err != nil {
		return err
	}
	if err := demoAgent(loaded, agent); err != nil {
		return err
	}
	dir := filepath.Join(loaded.Home, "demo")
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return fmt.Errorf("make a place for the demo: %w", err)
	}
	path := filepath.Join(dir, "services.log")
	log, err := os.OpenFile(path, os.O_CREATE|os.O_TRUNC|os.O_WRONLY, 0o600)
	if err != nil {
		return fmt.Errorf("keep the services' log: %w", err)
	}
	defer func() { err = errors.Join(err, log.Close()) }()
	err = scenario.Demo(ctx, scenario.DemoConfig{
		Home: loaded.Home, Key: loaded.API.Key.Reveal(), Program: calledAs(g.dir), Agent: agent, Timeout: timeout,
		Stdout: g.stdout, Style: taskcmd.StyleOf(g.stdout, g.variable), JSON: g.json, History: app.HistoryLength,
		Start: func(ctx context.Context, progress func(string), ready func(devstack.Info)) error {
			return app.RunDev(ctx, loaded, app.Options{Stderr: log, Progress: progress, Ready: ready})
		},
	})
	if err != nil && exit.Code(err) != exit.Interrupted && !g.json {
		_, _ = fmt.Fprintf(g.stderr, "The log of the services is in %s\n", path)
	}
	return err
}

// demoAgent refuses an agent that could not work, and says what is missing.
func demoAgent(cfg *config.Loaded, agent string) error {
	switch agent {
	case task.AgentScripted:
		return nil
	case task.AgentClaude:
	default:
		return exit.Usagef("--agent %s: the demo has scripted and claude", agent)
	}
	if cfg.Anthropic.APIKey == "" && cfg.Anthropic.AuthToken == "" && cfg.Claude.OAuthToken == "" && cfg.Anthropic.BaseURL == "" {
		return exit.With(exit.NeedsYou, errors.New("the agent claude needs a model: set ANTHROPIC_API_KEY or ANTHROPIC_AUTH_TOKEN, or CLAUDE_CODE_OAUTH_TOKEN of a subscription (claude setup-token), or ANTHROPIC_BASE_URL of an endpoint that speaks its API; then run the demo again, or without --agent"))
	}
	if _, err := exec.LookPath(cmp.Or(cfg.Claude.Bin, "claude")); err != nil {
		return exit.With(exit.NeedsYou, errors.New("the program claude is not on this machine. Next: "+claude.Install+", or name the program with OMOI_CLAUDE_BIN; then run the demo again"))
	}
	return nil
}

// calledAs is how a person in this folder calls this very program.
func calledAs(dir string) string {
	exe, err := os.Executable()
	if err != nil {
		return "omoi"
	}
	if found, err := exec.LookPath("omoi"); err == nil && sameProgram(found, exe) {
		return "omoi"
	}
	if rel, err := filepath.Rel(dir, exe); err == nil && filepath.IsLocal(rel) {
		return "." + string(filepath.Separator) + rel
	}
	return exe
}

func sameProgram(a, b string) bool {
	x, errX := os.Stat(a)
	y, errY := os.Stat(b)
	return errX == nil && errY == nil && os.SameFile(x, y)
}
