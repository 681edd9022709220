package app

import (
	"cmp"
	"context"
	"slices"
	"time"

	"github.com/omoi-dev/omoi/config"
	"github.com/omoi-dev/omoi/internal/client"
	"github.com/omoi-dev/omoi/internal/task"
)

// knownToAPI is what the running API says; without one err says why.
type knownToAPI struct {
	credentials []client.Credential // its configured ones too
	err         error               // of credentials
	info        *client.Info        // nil: no API answers
}

func askAPI(ctx context.Context, cfg *config.Loaded, api string) (known knownToAPI) {
	ctx, cancel := context.WithTimeout(ctx, 5*time.Second)
	defer cancel()
	c := client.New(cmp.Or(api, apiURL(cfg)), cfg.API.Key.Reveal())
	known.credentials, known.err = c.Credentials(ctx)
	if info, err := c.Info(ctx); err == nil {
		known.info = &info
	}
	return known
}

// checkDefaultAgent takes the word of the running API; without one it looks at the runtimes that work.
func checkDefaultAgent(t config.Task, works []string, info *client.Info) Finding {
	found := Finding{Check: "default agent", Status: FindingOK}
	if info != nil && info.DefaultAgent != "" {
		found.Detail = info.DefaultAgent + ", by the running API"
		return found
	}
	if info != nil {
		works = nil
	}
	var known bool
	if found.Detail, known = defaultAgent(t, works); info == nil && known {
		return found
	}
	found.Status = FindingWarn
	found.Detail += ": no agent runtime is known to work in " + t.Provider + " sandboxes"
	found.Next = "install an agent and set its credential as said above, or name the agent in each task, for example --agent scripted"
	return found
}

// defaultAgent names the agent of tasks that name none, and reports whether it is known to work.
func defaultAgent(t config.Task, works []string) (agent string, known bool) {
	isRuntime := func(r agentRuntime) bool { return r.agent == t.Agent }
	switch {
	case !task.ProviderOf(t.Provider).Machine:
		return task.AgentExternal, true
	case t.Agent != "":
		return t.Agent + ", by the setting task.agent", slices.Contains(works, t.Agent) || !slices.ContainsFunc(agentRuntimes(), isRuntime)
	case len(works) > 0:
		return works[0], true
	}
	return "none", false
}
