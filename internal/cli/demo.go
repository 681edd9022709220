package cli

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"sync"
	"sync/atomic"
	"time"

	"github.com/spf13/cobra"

	"github.com/omoi-dev/omoi/api/client"
	"github.com/omoi-dev/omoi/config"
	"github.com/omoi-dev/omoi/internal/app"
	"github.com/omoi-dev/omoi/internal/cli/exit"
	"github.com/omoi-dev/omoi/internal/cli/render"
	"github.com/omoi-dev/omoi/internal/cli/scenario"
	"github.com/omoi-dev/omoi/internal/cli/taskcmd"
	"github.com/omoi-dev/omoi/internal/devstack"
)

func newDemo(g *globals) *cobra.Command {
	var o demoOptions
	short := "Run one real task and check its result"
	cmd := g.command("demo", short, func(ctx context.Context, loaded *config.Loaded) error {
		if o.timeout <= 0 {
			return exit.Usagef("invalid --timeout %s: must be above 0, for example 10m", o.timeout)
		}
		return g.demo(ctx, loaded, o)
	})
	cmd.Long = `Start everything, or use a running omoi dev, run one real task in a new repository, show each step, check the outcome, and
stop what was started. The agent is scripted: it runs a list of steps, without a model. Everything else is real. With
--agent, the agent is an installed coding agent, and its model is scripted: development builds of omoi contain one. Exit
code 0 means that every check passed.`
	cmd.Flags().StringVar(&o.agent, "agent", "", "run the program of a coding agent, for example codex")
	cmd.Flags().DurationVar(&o.timeout, "timeout", 2*time.Minute, "timeout of the task")
	return cmd
}

// demoOptions are the flags of the demo; env are the variables of the agent's tasks.
type demoOptions struct {
	agent   string
	env     map[string]string
	timeout time.Duration
}

func (g *globals) demo(ctx context.Context, loaded *config.Loaded, o demoOptions) (err error) {
	if o.agent != "" {
		env, stop, err := app.StartDemoAgent(loaded, o.agent, scenario.ExampleCommands())
		if err != nil {
			return err
		}
		defer stop()
		o.env = env
	}
	dir := filepath.Join(loaded.Home, "demo")
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return fmt.Errorf("create the folder of the demo: %w", err)
	}
	path := filepath.Join(dir, "services.log")
	log, err := os.OpenFile(path, os.O_CREATE|os.O_TRUNC|os.O_WRONLY, 0o600)
	if err != nil {
		return fmt.Errorf("create the log of the services: %w", err)
	}
	defer func() { err = errors.Join(err, log.Close()) }()
	info, err := g.demoWith(ctx, loaded, log, o)
	switch {
	case g.json:
	case err == nil:
		g.afterDemo(loaded.Home, info)
	case exit.Code(err) != exit.Interrupted:
		_, _ = fmt.Fprintf(g.stderr, "Log of the services: %s\n", path)
	}
	return err
}

// demoWith starts or finds the services, runs the demo, and stops what it started.
func (g *globals) demoWith(ctx context.Context, loaded *config.Loaded, log *os.File, o demoOptions) (devstack.Info, error) {
	lines := &render.Lines{Style: taskcmd.StyleOf(g.stdout, g.variable), Start: time.Now(), Heartbeats: true}
	var printing sync.Mutex // the services report startup and shutdown from another goroutine
	show := func(line string) {
		printing.Lock()
		defer printing.Unlock()
		if !g.json {
			_, _ = fmt.Fprintln(g.stdout, line)
		}
	}
	var stopping atomic.Bool
	services := scenario.Services{
		Home: loaded.Home, Key: loaded.API.Key.Reveal(),
		Progress: func(step string) {
			word := "startup"
			if stopping.Load() || ctx.Err() != nil {
				word = "shutdown"
			}
			show(lines.Line(time.Now(), lines.Dim(word), step))
		},
		Start: func(ctx context.Context, progress func(string), ready func(devstack.Info)) error {
			return app.RunDev(ctx, loaded, app.Options{Stderr: log, Progress: progress, Ready: ready})
		},
	}
	info, stop, err := services.Open(ctx)
	if err != nil {
		return info, err
	}
	err = g.try(ctx, scenario.Config{API: client.New(info.APIURL, services.Key), Home: loaded.Home, Timeout: o.timeout}, []scenario.Scenario{
		scenario.Demo(scenario.DemoOptions{Lines: lines, Show: show, Agent: o.agent, Env: o.env, History: func(ctx context.Context, taskID string) (int64, error) {
			return app.HistoryLength(ctx, info, taskID)
		}}),
	})
	stopping.Store(true)
	if stopped := stop(); err == nil {
		err = stopped
	}
	return info, err
}

// afterDemo prints two commands as next steps. info tells which process runs the services: another one still does.
func (g *globals) afterDemo(home string, info devstack.Info) {
	if info.PID != os.Getpid() {
		_, _ = fmt.Fprintf(g.stdout, "\nNext: open %s/tasks, where omoi dev shows this task\n", info.APIURL)
		return
	}
	again := calledAs(g.dir)
	if user, err := os.UserHomeDir(); err != nil || home != filepath.Join(user, ".omoi") {
		again = "OMOI_HOME=" + home + " " + again
	}
	_, _ = fmt.Fprintf(g.stdout, `
Next:
  %[1]s dev
      start everything, and print the address of the page with this task
  %[1]s run "Say hello" --script example:hello --repo <path> --wait
      run a task in your own repository, beside omoi dev
`, again)
}

// calledAs returns the name or path by which a user in dir can run this binary.
func calledAs(dir string) string {
	exe, err := os.Executable()
	if err != nil {
		return "omoi"
	}
	if found, err := exec.LookPath("omoi"); err == nil && taskcmd.SameFile(found, exe) {
		return "omoi"
	}
	if rel, err := filepath.Rel(dir, exe); err == nil && filepath.IsLocal(rel) {
		return "." + string(filepath.Separator) + rel
	}
	return exe
}
