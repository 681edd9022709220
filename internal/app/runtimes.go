package app

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"maps"
	"os"
	"os/exec"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/omoi-dev/omoi/api"
	"github.com/omoi-dev/omoi/api/client"
	"github.com/omoi-dev/omoi/config"
	"github.com/omoi-dev/omoi/internal/agent/acp"
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
	setting        string                          // environment variable of the path; empty: none
	version        func(ctx context.Context, path, home string) (string, error)
	install        string   // install command
	credentials    []string // kinds of which the agent needs one
	optional       bool     // omoi doctor says nothing of it unless it is installed
}

// agentRuntimes returns the agent runtimes, the preferred one first.
func agentRuntimes() []agentRuntime {
	all := []agentRuntime{{
		agent: task.AgentClaude, program: "claude", find: claudeBin, setting: "OMOI_CLAUDE_BIN", version: claudeVersion, install: claude.Install,
		credentials: []string{credential.ClaudeOAuth, credential.Anthropic},
	}}
	for _, r := range task.Runtimes {
		if d, ok := acp.Of(r.Name); ok && r.ACP {
			all = append(all, agentRuntime{
				agent: r.Name, program: d.Program, find: func(*config.Loaded) string { return onPath(d.Program) },
				version: func(ctx context.Context, path, home string) (string, error) {
					return d.Version(ctx, path, home, bare(home))
				},
				install: d.Install, credentials: []string{r.Credential}, optional: true,
			})
		}
	}
	return all
}

// claudeVersion asks Claude Code for its version.
func claudeVersion(ctx context.Context, path, home string) (string, error) {
	cmd := exec.CommandContext(ctx, path, "--version")
	cmd.Dir, cmd.Env, cmd.WaitDelay = home, bare(home), time.Second
	out, err := cmd.CombinedOutput()
	if cmd.ProcessState == nil || ctx.Err() != nil {
		return "", fmt.Errorf("%s --version gave no answer: %w", path, cmp.Or(ctx.Err(), err))
	}
	return claude.VersionOf(path, proc.Result{Outcome: proc.Exited, ExitCode: cmd.ProcessState.ExitCode(), Output: string(out)})
}

// bare returns an environment as in a local sandbox, without the credentials of this process.
func bare(home string) []string { return []string{"PATH=" + local.StandardPath, "HOME=" + home} }

// runnable returns the path of the program, and why local sandboxes of this machine cannot run the program; nil: they
// can.
func (r agentRuntime) runnable(cfg *config.Loaded) (path string, err error) {
	if path = r.find(cfg); path == "" {
		return "", fmt.Errorf("%s is not on PATH", r.program)
	}
	if _, err := exec.LookPath(path); err != nil {
		return "", fmt.Errorf("%s cannot be run: %w", path, err)
	}
	if r.optional && cfg.Sandbox.Isolation != string(local.IsolationNone) && !strings.HasPrefix(path, "/usr/") && isScript(path) {
		return path, fmt.Errorf("sandboxes cannot read the files of %s: of the host they see programs of several files below /usr only", path)
	}
	shut, err := local.Closed(path)
	if err == nil && shut != "" {
		err = fmt.Errorf("sandboxes cannot read %s: they run as separate users, and %s is closed to these", path, shut)
	}
	return path, err
}

// isScript reports whether a program needs an interpreter, and so most often further files.
func isScript(path string) bool {
	file, err := os.Open(path)
	if err != nil {
		return false
	}
	defer func() { _ = file.Close() }()
	start := make([]byte, 2)
	_, _ = io.ReadFull(file, start)
	return string(start) == "#!"
}

// runnableAgents returns the runtimes whose program local sandboxes of this machine can run.
func (c *core) runnableAgents() (agents []string) {
	if _, ok := c.found[task.ProviderLocal]; !ok {
		return nil
	}
	all := agentRuntimes()
	usable := make([]bool, len(all))
	var wg sync.WaitGroup
	for i, r := range all {
		wg.Go(func() { usable[i] = c.usable(r) })
	}
	wg.Wait()
	for i, r := range all {
		if usable[i] {
			agents = append(agents, r.agent)
		}
	}
	return agents
}

// usable reports whether local sandboxes of this machine can run the program, and that it is not too old.
func (c *core) usable(r agentRuntime) bool {
	path, err := r.runnable(c.cfg)
	if err == nil && r.optional {
		_, err = r.ask(context.Background(), path)
	}
	if errors.Is(err, context.DeadlineExceeded) { // unknown: the machine may be busy
		return true
	}
	if err != nil && path != "" {
		c.log.Warn("agent program not usable", slog.String("agent", r.agent), slog.Any("error", err), slog.String("next", "omoi doctor"))
	}
	return err == nil
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
	only := work.Agent
	for _, known := range agentRuntimes() {
		if only != "" && only != known.agent {
			continue
		}
		found := api.AgentRuntime{Agent: known.agent}
		if work.Provider == task.ProviderLocal {
			found.Missing = known.missingOn(hosts)
		}
		work.Agent = known.agent
		switch env, err := r.credentials.ForTask(ctx, work); task.CodeOf(err) {
		case "":
			if !credential.ReachesModel(known.agent, env) && !credential.ReachesModel(known.agent, work.Execution.Env) {
				found.Missing = append(found.Missing, fmt.Sprintf("execution_config.credentials names no credential for %s. Next: add %q to it.", known.agent, credential.ForAgent(known.agent)))
			} else if why := lacksModel(known.agent, env, work.Execution.Env); why != "" {
				found.Missing = append(found.Missing, why)
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

// lacksModel says that an agent needs the name of a model, and neither its stored credential nor the task has one; empty: all is
// there.
func lacksModel(agent string, stored, execution map[string]string) string {
	d, ok := acp.Of(agent)
	if !ok || !task.RuntimeOf(agent).ACP {
		return ""
	}
	vars := maps.Clone(execution)
	if vars == nil {
		vars = map[string]string{}
	}
	maps.Copy(vars, stored)
	_, err := d.Environ(acp.Place{}, vars)
	if task.CodeOf(err) != task.CodeInvalid {
		return ""
	}
	return task.MessageOf(err)
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
	return []string{fmt.Sprintf("The program %s is missing, too old or not readable on %d of %d hosts. Next: omoi doctor on them, or %s and restart omoi.", r.program, lack, len(hosts), r.install)}
}
