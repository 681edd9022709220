// Command omoi-agent runs a coding agent in a sandbox of omoi and reports its events.
package main

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"io"
	"log/slog"
	"os"
	"os/signal"
	"path/filepath"
	"runtime/debug"
	"syscall"
	"time"

	"github.com/omoi-dev/omoi/internal/agent"
	"github.com/omoi-dev/omoi/internal/agent/acp"
	"github.com/omoi-dev/omoi/internal/agent/agentconfig"
	"github.com/omoi-dev/omoi/internal/agent/checkpoints"
	"github.com/omoi-dev/omoi/internal/agent/claude"
	"github.com/omoi-dev/omoi/internal/agent/command"
	"github.com/omoi-dev/omoi/internal/agent/hook"
	"github.com/omoi-dev/omoi/internal/agent/proc"
	"github.com/omoi-dev/omoi/internal/agent/salvage"
	"github.com/omoi-dev/omoi/internal/agent/scripted"
	"github.com/omoi-dev/omoi/internal/agent/spool"
	"github.com/omoi-dev/omoi/internal/agent/testsides"
	"github.com/omoi-dev/omoi/internal/openhands/bridge"
	"github.com/omoi-dev/omoi/internal/redact"
	"github.com/omoi-dev/omoi/internal/sandbox/local"
	"github.com/omoi-dev/omoi/internal/sandbox/place"
	"github.com/omoi-dev/omoi/internal/task"
)

const usage = `omoi-agent runs a coding agent inside a sandbox of omoi.

  omoi-agent run --config PATH       run the agent to its end
  omoi-agent collect --config PATH   collect the work; prints one JSON object
  omoi-agent flush --config PATH     send the remaining events of an ended agent
  omoi-agent checkpoint --config PATH   take the checkpoint of an agent that ended without one
  omoi-agent discard --config PATH   delete what an ended agent has stored outside of its sandbox
  omoi-agent hook --dir DIR          check a tool call, which standard input has; exit code 2: refused
  omoi-agent tests --config PATH     check out work whose tests are repeated; prints one JSON object
  omoi-agent probe --dir DIR         inspect the agent's spool; prints one JSON object
  omoi-agent openhands bridge PATH    speak the Agent Client Protocol with an OpenHands agent server, whose program is at PATH
  omoi-agent place [FILE]    carry out a call of a sandbox provider on this machine; prints the answer
  omoi-agent version
`

// Exit codes other than those of a run.
const (
	exitFailed = 1
	exitUsage  = 2
)

func main() {
	// A lower GC target saves memory, which omoi-agent shares with the work in the sandbox.
	debug.SetGCPercent(50)
	os.Exit(start(os.Args[1:], os.Stdout, os.Stderr))
}

func start(args []string, out, errs io.Writer) int {
	if len(args) == 0 {
		_, _ = io.WriteString(errs, usage)
		return exitUsage
	}
	switch args[0] {
	case "shim": // between the local provider and a sandbox
		return local.ShimMain(args[1:])
	case "place":
		return place.Main(args[1:], os.Stdin, out)
	case "run":
		return withConfig(args[1:], errs, run)
	case "collect":
		return withConfig(args[1:], errs, func(cfg agentconfig.Config, errs io.Writer) int { return collect(cfg, out, errs) })
	case "flush":
		return withConfig(args[1:], errs, func(cfg agentconfig.Config, errs io.Writer) int { return afterwards("flush", agent.Flush, cfg, errs) })
	case "checkpoint":
		return withConfig(args[1:], errs, func(cfg agentconfig.Config, errs io.Writer) int {
			return afterwards("checkpoint", agent.KeepCheckpoint, cfg, errs)
		})
	case "discard":
		return withConfig(args[1:], errs, discard)
	case "hook":
		return checkCall(args[1:], errs)
	case "tests":
		return withConfig(args[1:], errs, func(cfg agentconfig.Config, errs io.Writer) int { return tests(cfg, out, errs) })
	case "openhands":
		return connectOpenHands(args[1:], errs)
	case "probe":
		return probe(args[1:], out, errs)
	case "version":
		_, _ = fmt.Fprintf(out, "omoi-agent %s protocol %d\n", version(), agentconfig.Protocol)
		return 0
	}
	_, _ = io.WriteString(errs, usage)
	return exitUsage
}

func version() string {
	info, ok := debug.ReadBuildInfo()
	if !ok {
		return "unknown"
	}
	for _, s := range info.Settings {
		if s.Key == "vcs.revision" {
			return s.Value
		}
	}
	return info.Main.Version
}

// option parses --name VALUE or --name=VALUE as the only argument.
func option(args []string, name string) (string, bool) {
	flags := flag.NewFlagSet("", flag.ContinueOnError)
	flags.SetOutput(io.Discard)
	value := flags.String(name, "", "")
	err := flags.Parse(args)
	return *value, err == nil && *value != "" && flags.NArg() == 0
}

func withConfig(args []string, errs io.Writer, do func(agentconfig.Config, io.Writer) int) int {
	path, ok := option(args, "config")
	if !ok {
		_, _ = io.WriteString(errs, usage)
		return exitUsage
	}
	cfg, err := readConfig(path)
	if err != nil {
		_, _ = fmt.Fprintf(errs, "omoi-agent: %s\n", err)
		return exitFailed
	}
	return do(cfg, errs)
}

// readConfig reads a configuration of the current or the previous protocol version.
func readConfig(path string) (agentconfig.Config, error) {
	b, err := os.ReadFile(path)
	if err != nil {
		return agentconfig.Config{}, fmt.Errorf("read configuration: %w", err)
	}
	var cfg agentconfig.Config
	if err := json.Unmarshal(b, &cfg); err != nil {
		return agentconfig.Config{}, fmt.Errorf("read configuration %s: %w", path, err)
	}
	if cfg.Protocol < agentconfig.Protocol-1 || cfg.Protocol > agentconfig.Protocol {
		return agentconfig.Config{}, fmt.Errorf("the configuration has protocol %d, and this program supports %d", cfg.Protocol, agentconfig.Protocol)
	}
	if cfg.SandboxID == "" {
		return agentconfig.Config{}, errors.New("the configuration has no sandbox_id")
	}
	return cfg, nil
}

// runtimes returns the runtimes of [task.Runtimes] that omoi-agent starts.
func runtimes() map[string]agent.Runtime {
	all := map[string]agent.Runtime{
		task.AgentClaude: claude.Runtime{}, task.AgentScripted: scripted.Runtime{}, task.AgentCommand: command.Runtime{},
	}
	for _, r := range task.Runtimes {
		if d, ok := acp.Of(r.Name); ok && r.ACP {
			all[r.Name] = acp.Runtime{Dialect: d}
		}
	}
	return all
}

func run(cfg agentconfig.Config, errs io.Writer) int {
	ctx, stop := signal.NotifyContext(context.Background(), syscall.SIGTERM, syscall.SIGINT)
	defer stop()
	log := slog.New(slog.NewTextHandler(errs, nil))
	if err := proc.Adopt(); err != nil {
		log.Warn("become subreaper failed, orphaned processes may outlive the agent", slog.Any("error", err))
	}
	program, err := os.Executable()
	if err != nil {
		log.Warn("find omoi-agent failed, not checking tool calls", slog.Any("error", err))
	}
	code, err := agent.Run(ctx, cfg, agent.Deps{
		Runtimes: runtimes(), Procs: &proc.Runner{}, Log: log, Version: version(), Program: program, Output: errs,
	})
	if err != nil {
		log.Error("run agent failed", slog.Any("error", err))
	}
	return code
}

// collectTime is the timeout of collect. collectTime is shorter than the caller's, so that the caller gets a partial
// result.
const collectTime = 3*time.Minute + 30*time.Second

// afterwards runs what follows an agent that has ended, until it is done or ended: who runs it sets the limit.
func afterwards(name string, do func(context.Context, agentconfig.Config, agent.Deps) error, cfg agentconfig.Config, errs io.Writer) int {
	ctx, stop := signal.NotifyContext(context.Background(), syscall.SIGTERM, syscall.SIGINT)
	defer stop()
	if err := do(ctx, cfg, agent.Deps{Log: slog.New(slog.NewTextHandler(errs, nil))}); err != nil {
		_, _ = fmt.Fprintf(errs, "omoi-agent: %s: %s\n", name, err)
		return exitFailed
	}
	return 0
}

func collect(cfg agentconfig.Config, out, errs io.Writer) int {
	ctx, cancel := context.WithTimeout(context.Background(), collectTime)
	defer cancel()
	dir, work := cmp.Or(cfg.Dir, agent.DefaultDir), cmp.Or(cfg.Workspace, agent.DefaultWorkspace)
	secrets := redact.New(cfg.Token, cfg.Env)
	found, err := salvage.Collect(ctx, salvage.Config{Dir: dir, Workspace: work, Repo: cfg.Repo})
	if err != nil {
		_, _ = fmt.Fprintf(errs, "omoi-agent: collect: %s\n", secrets.Text(err.Error()))
		return exitFailed
	}
	found.Notes = secrets.Texts(found.Notes)
	if left, err := spool.Look(filepath.Join(dir, agent.SpoolName), spool.Clock()); err == nil {
		found.Unsent = left.Unsent
	}
	found.Unsent += int64(hook.Left(dir))
	found.Unkept = checkpoints.Unfinished(dir)
	return printJSON(out, errs, found)
}

// checkCall is the hook before a tool call. Without its folder, the call runs unchecked.
func checkCall(args []string, errs io.Writer) int {
	dir, ok := option(args, "dir")
	if !ok {
		_, _ = io.WriteString(errs, usage)
		return hook.ExitUnchecked
	}
	return hook.Run(dir, os.Stdin, errs)
}

// connectOpenHands connects an OpenHands agent server until standard input ends.
func connectOpenHands(args []string, errs io.Writer) int {
	if len(args) != 2 || args[0] != "bridge" {
		_, _ = io.WriteString(errs, usage)
		return exitUsage
	}
	bridge.Main(args[1])
	return 0
}

// discard deletes what an ended agent has stored outside of its sandbox. What remains is an event, also if the sandbox is deleted then.
func discard(cfg agentconfig.Config, errs io.Writer) int {
	err := bridge.Discard(context.Background(), cfg.Env, cmp.Or(cfg.Env["SANDBOX_ID"], cfg.SandboxID))
	if err == nil {
		return 0
	}
	said := redact.New(cfg.Token, cfg.Env).Text(err.Error())
	_, _ = fmt.Fprintf(errs, "omoi-agent: discard: %s\n", said)
	return max(exitFailed, afterwards("discard", func(ctx context.Context, cfg agentconfig.Config, deps agent.Deps) error {
		ctx, cancel := context.WithTimeout(ctx, noteTime)
		defer cancel()
		return agent.Note(ctx, cfg, deps, map[string]any{"subtype": "not_discarded", "line_type": "omoi_discard", "metadata": said})
	}, cfg, errs))
}

// noteTime is the time for the event of discard to reach the API.
const noteTime = 10 * time.Second

func tests(cfg agentconfig.Config, out, errs io.Writer) int {
	ctx, cancel := context.WithTimeout(context.Background(), collectTime)
	defer cancel()
	sides, err := testsides.Prepare(ctx, cmp.Or(cfg.Dir, agent.DefaultDir), cmp.Or(cfg.Workspace, agent.DefaultWorkspace), cfg.Repo, cfg.TestsOf)
	if err != nil {
		_, _ = fmt.Fprintf(errs, "omoi-agent: tests: %s\n", err)
		return exitFailed
	}
	return printJSON(out, errs, sides)
}

func probe(args []string, out, errs io.Writer) int {
	dir, ok := option(args, "dir")
	if !ok {
		_, _ = io.WriteString(errs, usage)
		return exitUsage
	}
	found, err := spool.Look(filepath.Join(dir, agent.SpoolName), spool.Clock())
	if err != nil {
		_, _ = fmt.Fprintf(errs, "omoi-agent: probe: %s\n", err)
		return exitFailed
	}
	return printJSON(out, errs, found)
}

func printJSON(out, errs io.Writer, value any) int {
	if err := json.NewEncoder(out).Encode(value); err != nil {
		_, _ = fmt.Fprintf(errs, "omoi-agent: %s\n", err)
		return exitFailed
	}
	return 0
}
