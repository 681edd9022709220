package app

import (
	"context"
	"fmt"
	"log/slog"
	"os/exec"
	"slices"

	"github.com/omoi-dev/omoi/api"
	"github.com/omoi-dev/omoi/api/client"
	"github.com/omoi-dev/omoi/config"
	"github.com/omoi-dev/omoi/internal/agent/claude"
	"github.com/omoi-dev/omoi/internal/agent/proc"
	"github.com/omoi-dev/omoi/internal/credential"
	"github.com/omoi-dev/omoi/internal/sandbox/local"
	"github.com/omoi-dev/omoi/internal/task"
)

// agentRuntime is an agent runtime whose program is not part of omoi.
type agentRuntime struct {
	agent, program string
	find           func(cfg *config.Loaded) string // path on this machine; empty: not found
	setting        string                          // environment variable of the path
	versionArg     string
	version        func(path string, res proc.Result) (string, error)
	install        string   // install command
	credentials    []string // kinds of which the agent needs one
}

// agentRuntimes returns the agent runtimes, the preferred one first.
func agentRuntimes() []agentRuntime {
	return []agentRuntime{{
		agent: task.AgentClaude, program: "claude", find: claudeBin, setting: "OMOI_CLAUDE_BIN",
		versionArg: "--version", version: claude.VersionOf, install: claude.Install,
		credentials: []string{credential.ClaudeOAuth, credential.Anthropic},
	}}
}

// runnable returns the path of the program, and why local sandboxes of this machine cannot run the program; nil: they
// can.
func (r agentRuntime) runnable(cfg *config.Loaded) (path string, err error) {
	if path = r.find(cfg); path == "" {
		return "", fmt.Errorf("%s is not on PATH", r.program)
	}
	if _, err := exec.LookPath(path); err != nil {
		return "", fmt.Errorf("%s cannot be run: %w", path, err)
	}
	shut, err := local.Closed(path)
	if err == nil && shut != "" {
		err = fmt.Errorf("sandboxes cannot read %s: they run as separate users, and %s is closed to these", path, shut)
	}
	return path, err
}

// runnableAgents returns the runtimes whose program local sandboxes of this machine can run.
func (c *core) runnableAgents() []string {
	var agents []string
	for _, r := range agentRuntimes() {
		path, err := r.runnable(c.cfg)
		if err == nil {
			agents = append(agents, r.agent)
		} else if path != "" {
			c.log.Warn("agent program not usable", slog.String("agent", r.agent), slog.Any("error", err), slog.String("next", "omoi doctor"))
		}
	}
	return agents
}

// runtimes implements [api.Runtimes] from host reports and stored credentials.
type runtimes struct {
	hosts interface {
		Hosts(ctx context.Context) ([]client.Host, error)
	}
	credentials interface {
		ForTask(ctx context.Context, work task.Work) (map[string]string, error)
	}
}

// AgentRuntimes implements [api.Runtimes]. Sandboxes of other providers than local get the program from an image or a
// setup step, which is unknown before they run. For these only the credential decides.
func (r runtimes) AgentRuntimes(ctx context.Context, work task.Work) (all []api.AgentRuntime, err error) {
	hosts, err := r.localHosts(ctx, work.Provider)
	if err != nil {
		return nil, err
	}
	for _, known := range agentRuntimes() {
		found := api.AgentRuntime{Agent: known.agent}
		if work.Provider == task.ProviderLocal {
			found.Missing = known.missingOn(hosts)
		}
		work.Agent = known.agent
		switch env, err := r.credentials.ForTask(ctx, work); task.CodeOf(err) {
		case "":
			if !credential.ReachesModel(env) && !credential.ReachesModel(work.Execution.Env) {
				found.Missing = append(found.Missing, fmt.Sprintf("execution_config.credentials names no credential for %s. Next: add %q to it.", known.agent, credential.Model))
			}
		case task.CodeNotFound:
			found.Missing = append(found.Missing, task.MessageOf(err)+".")
		default:
			return nil, err
		}
		all = append(all, found)
	}
	return all, nil
}

// localHosts returns the hosts on which a local sandbox may be created: the hosts that are online, else the host that
// reported last.
func (r runtimes) localHosts(ctx context.Context, provider string) ([]client.Host, error) {
	if provider != task.ProviderLocal {
		return nil, nil
	}
	hosts, err := r.hosts.Hosts(ctx)
	if err != nil {
		return nil, err
	}
	hosts = slices.DeleteFunc(hosts, func(h client.Host) bool { return h.LostAt != nil || !slices.Contains(h.Providers, provider) })
	if len(hosts) > 0 && !hosts[0].Online {
		return hosts[:1], nil
	}
	return slices.DeleteFunc(hosts, func(h client.Host) bool { return !h.Online }), nil
}

// missingOn returns on how many hosts the program is missing, because a task may run on any of them. The text contains
// no host names, because only admins may read them.
func (r agentRuntime) missingOn(hosts []client.Host) []string {
	if len(hosts) == 0 {
		return []string{"No host with local sandboxes has reported. Next: omoi worker (or omoi dev)."}
	}
	lack := 0
	for _, h := range hosts {
		if !slices.Contains(h.Agents, r.agent) {
			lack++
		}
	}
	if lack == 0 {
		return nil
	}
	return []string{fmt.Sprintf("The program %s is missing on %d of %d hosts. Next: omoi doctor on them, or %s and restart omoi.", r.program, lack, len(hosts), r.install)}
}
