package app

import (
	"cmp"
	"context"
	"fmt"
	"os"
	"os/exec"
	"slices"
	"strings"
	"time"

	"github.com/omoi-dev/omoi/config"
	"github.com/omoi-dev/omoi/internal/agent/proc"
	"github.com/omoi-dev/omoi/internal/client"
	"github.com/omoi-dev/omoi/internal/credential"
)

// checkRuntimes checks program and credential of each agent runtime on this machine, and which one is the default agent.
func checkRuntimes(ctx context.Context, cfg *config.Loaded, api string) (findings []Finding) {
	stored, err := storedCredentials(ctx, cfg, api)
	first := ""
	for _, r := range agentRuntimes() {
		found := r.check(ctx, cfg)
		r.checkCredential(&found, cfg, stored, err)
		findings = append(findings, found)
		if found.Status == FindingOK {
			first = cmp.Or(first, r.agent)
		}
	}
	return append(findings, checkDefaultAgent(cfg.Task.Agent, first))
}

func checkDefaultAgent(configured, first string) Finding {
	const name = "default agent"
	switch {
	case configured != "":
		return Finding{Check: name, Status: FindingOK, Detail: configured + ", by the setting task.agent"}
	case first != "":
		return Finding{Check: name, Status: FindingOK, Detail: first}
	}
	return Finding{
		Check: name, Status: FindingWarn, Detail: "none: no agent runtime is known to work in local sandboxes of this machine",
		Next: "install an agent and set its credential as said above, or name the agent in each task: --agent scripted, command or external",
	}
}

// check checks that the program works, and that local sandboxes of this machine can run it.
func (r agentRuntime) check(ctx context.Context, cfg *config.Loaded) Finding {
	found := Finding{Check: "agent " + r.agent, Status: FindingOK}
	path, err := r.runnable(cfg)
	if path == "" {
		found.Status, found.Detail, found.Next = FindingWarn, err.Error(), r.install+", then restart omoi"
		return found
	}
	version, broken := r.ask(ctx, path)
	switch {
	case broken != nil:
		found.Status, found.Detail, found.Next = FindingWarn, firstLine(broken), r.install+", then restart omoi"
	case err != nil:
		found.Status, found.Detail = FindingWarn, fmt.Sprintf("version %s; %s", version, err)
		found.Next = fmt.Sprintf("%s, set %s=/usr/local/bin/%s, then restart omoi", r.install, r.setting, r.program)
	default:
		found.Detail = fmt.Sprintf("%s, version %s, sandboxes can see it", path, version)
	}
	return found
}

// ask runs the program for its version, in an empty home and without the credentials of this process.
func (r agentRuntime) ask(ctx context.Context, path string) (version string, err error) {
	home, err := os.MkdirTemp("", "omoi-doctor-")
	if err != nil {
		return "", err
	}
	defer os.RemoveAll(home) //nolint:errcheck // what the program leaves there is of no use
	ctx, cancel := context.WithTimeout(ctx, 10*time.Second)
	defer cancel()
	cmd := exec.CommandContext(ctx, path, r.versionArg) //nolint:gosec // G204: the operator's own program
	cmd.Dir, cmd.Env, cmd.WaitDelay = home, []string{"PATH=" + os.Getenv("PATH"), "HOME=" + home}, time.Second
	out, err := cmd.CombinedOutput()
	if cmd.ProcessState == nil || ctx.Err() != nil {
		return "", fmt.Errorf("%s %s gave no answer: %w", path, r.versionArg, cmp.Or(ctx.Err(), err))
	}
	return r.version(path, proc.Result{Outcome: proc.Exited, ExitCode: cmd.ProcessState.ExitCode(), Output: string(out)})
}

// storedCredentials are those that the running API knows, its configured ones too.
func storedCredentials(ctx context.Context, cfg *config.Loaded, api string) ([]client.Credential, error) {
	ctx, cancel := context.WithTimeout(ctx, 5*time.Second)
	defer cancel()
	return client.New(cmp.Or(api, apiURL(cfg)), cfg.API.Key.Reveal()).Credentials(ctx)
}

// checkCredential adds to a finding with which credential the agent logs in.
func (r agentRuntime) checkCredential(found *Finding, cfg *config.Loaded, stored []client.Credential, err error) {
	if what := r.credential(cfg, stored); what != "" {
		found.Detail += "; credential: " + what
		return
	}
	found.Status = FindingWarn
	found.Detail += "; no credential"
	set := "omoi credentials set " + r.credentials[len(r.credentials)-1]
	if err != nil {
		found.Detail += " configured, and no API lists stored ones"
		set = "while omoi runs: " + set
	}
	if found.Next == "" {
		found.Next = set
	} else {
		found.Next += "; " + set
	}
}

// credential names what the agent logs in with; empty: nothing is known.
func (r agentRuntime) credential(cfg *config.Loaded, stored []client.Credential) string {
	for _, kind := range r.credentials {
		at := slices.IndexFunc(stored, func(c client.Credential) bool {
			return c.Kind == kind && c.State == credential.StateGood && c.Scope != credential.ScopeProject
		})
		if at >= 0 {
			return strings.Join([]string{kind, "of the", stored[at].Scope}, " ")
		}
	}
	own := installed(cfg)
	for _, kind := range r.credentials {
		if own[kind].Secret != "" {
			return kind + " of the configuration"
		}
	}
	if base := own[credential.Anthropic].BaseURL; base != "" {
		return "none, the model's endpoint " + base + " asks for none"
	}
	return ""
}
