package app

import (
	"cmp"
	"context"
	"fmt"
	"os"
	"slices"
	"strings"
	"time"

	"github.com/omoi-dev/omoi/api/client"
	"github.com/omoi-dev/omoi/config"
	"github.com/omoi-dev/omoi/internal/credential"
)

// checkRuntimes checks the program and the credential of each agent runtime on this machine. If an API runs,
// checkRuntimes also reports its default agent.
func checkRuntimes(ctx context.Context, cfg *config.Loaded, api string) (findings []Finding) {
	asking, cancel := context.WithTimeout(ctx, 5*time.Second)
	defer cancel()
	c := client.New(cmp.Or(api, apiURL(cfg)), cfg.API.Key.Reveal())
	stored, unknown := c.Credentials(asking) // includes the configured credentials
	info, err := c.Info(asking)
	for _, r := range agentRuntimes() {
		if r.optional && r.find(cfg) == "" {
			continue
		}
		found := r.check(ctx, cfg)
		r.checkCredential(&found, cfg, stored, unknown)
		findings = append(findings, found)
	}
	if err == nil {
		findings = append(findings, checkDefaultAgent(cfg.Task.Provider, info.DefaultAgent))
	}
	return findings
}

// checkDefaultAgent returns the finding on the default agent of the running API.
func checkDefaultAgent(provider, agent string) Finding {
	if agent != "" {
		return Finding{Check: "default agent", Status: FindingOK, Detail: agent + ", by the running API"}
	}
	return Finding{
		Check: "default agent", Status: FindingWarn, Detail: "none: no agent runtime is known to work in " + provider + " sandboxes",
		Next: "install an agent and set its credential as said above, or name the agent in each task, for example --agent scripted",
	}
}

// check checks that the program works, and that local sandboxes of this machine can run the program.
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
		found.Detail = fmt.Sprintf("%s, version %s, readable by sandboxes", path, version)
	}
	return found
}

// mend returns the next step for a program that does not work. The install command may use a folder that is not first
// on PATH.
func (r agentRuntime) mend() string {
	if r.setting == "" {
		return r.install + ", then restart omoi"
	}
	return fmt.Sprintf("%s, set %s=/usr/local/bin/%s, then restart omoi", r.install, r.setting, r.program)
}

// versionTime is the time for a program to name its version.
const versionTime = 20 * time.Second

// ask runs the program for its version, with an empty home and without the credentials of this process.
func (r agentRuntime) ask(ctx context.Context, path string) (version string, err error) {
	home, err := os.MkdirTemp("", "omoi-doctor-")
	if err != nil {
		return "", err
	}
	defer os.RemoveAll(home) //nolint:errcheck // what the program leaves there is of no use
	ctx, cancel := context.WithTimeout(ctx, versionTime)
	defer cancel()
	return r.version(ctx, path, home)
}

// checkCredential adds the credential of the agent to a finding. The error unknown says why the API did not list the
// stored ones.
func (r agentRuntime) checkCredential(found *Finding, cfg *config.Loaded, stored []client.Credential, unknown error) {
	if what := r.credential(cfg, stored); what != "" {
		found.Detail += "; credential: " + what
		return
	}
	found.Status = FindingWarn
	found.Detail += "; no credential"
	set := "omoi credentials set " + r.credentials[len(r.credentials)-1]
	if unknown != nil {
		found.Detail += " configured, and no API lists stored ones"
		set = "while omoi runs: " + set
	}
	if found.Next != "" {
		found.Next += "; "
	}
	found.Next += set
}

// credential returns the credential with which the agent logs in; empty: none was found.
func (r agentRuntime) credential(cfg *config.Loaded, stored []client.Credential) string {
	for _, kind := range r.credentials {
		at := slices.IndexFunc(stored, func(c client.Credential) bool {
			return c.Kind == kind && c.State == credential.StateValid && c.Scope != credential.ScopeProject
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
	if base := own[credential.Anthropic].BaseURL; base != "" && !r.optional {
		return "none, the model's endpoint " + base + " asks for none"
	}
	return ""
}
