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
	"github.com/omoi-dev/omoi/internal/task"
)

// checkRuntimes checks program and credential of each agent runtime on this machine, and which one is the default agent.
func checkRuntimes(ctx context.Context, cfg *config.Loaded, api string) (findings []Finding) {
	known := askAPI(ctx, cfg, api)
	var works []string
	for _, r := range agentRuntimes() {
		found := r.check(ctx, cfg)
		program := found.Status == FindingOK || cfg.Task.Provider != task.ProviderLocal // whose images bring it
		if r.checkCredential(&found, cfg, known) && program {
			works = append(works, r.agent)
		}
		findings = append(findings, found)
	}
	return append(findings, checkDefaultAgent(cfg.Task, works, known.info))
}

// check checks that the program works, and that local sandboxes of this machine can run it.
func (r agentRuntime) check(ctx context.Context, cfg *config.Loaded) Finding {
	found := Finding{Check: "agent " + r.agent, Status: FindingOK}
	path, err := r.runnable(cfg)
	if path == "" {
		found.Status, found.Detail, found.Next = FindingWarn, err.Error(), r.mend()
		return found
	}
	version, broken := r.ask(ctx, path)
	switch {
	case broken != nil:
		found.Status, found.Detail, found.Next = FindingWarn, firstLine(broken), r.mend()
	case err != nil:
		found.Status, found.Detail = FindingWarn, fmt.Sprintf("version %s; %s", version, err)
		found.Next = r.mend()
	default:
		found.Detail = fmt.Sprintf("%s, version %s, sandboxes can see it", path, version)
	}
	return found
}

// mend returns the advice for a program that does not work: the command installs into a folder that need not come first on PATH.
func (r agentRuntime) mend() string {
	return fmt.Sprintf("%s, set %s=/usr/local/bin/%s, then restart omoi", r.install, r.setting, r.program)
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

// checkCredential adds to a finding with which credential the agent logs in, and reports whether there is one.
func (r agentRuntime) checkCredential(found *Finding, cfg *config.Loaded, known knownToAPI) bool {
	if what := r.credential(cfg, known.credentials); what != "" {
		found.Detail += "; credential: " + what
		return true
	}
	found.Status = FindingWarn
	found.Detail += "; no credential"
	set := "omoi credentials set " + r.credentials[len(r.credentials)-1]
	if known.err != nil {
		found.Detail += " configured, and no API lists stored ones"
		set = "while omoi runs: " + set
	}
	if found.Next == "" {
		found.Next = set
	} else {
		found.Next += "; " + set
	}
	return false
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
