package taskcmd

import (
	"cmp"
	"context"
	"fmt"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/omoi-dev/omoi/api/client"
	"github.com/omoi-dev/omoi/internal/cli/render"
	"github.com/omoi-dev/omoi/internal/credential"
	"github.com/omoi-dev/omoi/internal/scm"
	"github.com/omoi-dev/omoi/internal/task"
)

// plan describes how a new task will run, in one line: agent, model, sandbox with its isolation, branch and budget.
func (s *session) plan(ctx context.Context, api *client.Client, t client.Task) string {
	where := fmt.Sprintf("in a sandbox of provider %s%s", t.Provider, s.isolation(ctx, api, t.Provider))
	if t.SelfConnecting() {
		where = "where it connects from"
	}
	branch := cmp.Or(text(t.Branch), scm.BranchName(scm.BranchRequest{TaskID: t.ID, Key: t.Key, TicketID: t.TicketID, Title: t.Title, Priority: t.Priority}))
	if t.Repo == "" {
		return fmt.Sprintf("Agent %s%s will run %s, %s.", t.Agent, modelOf(ctx, api, t), where, budgetText(t.Budget))
	}
	return fmt.Sprintf("Agent %s%s will run %s, on branch %s of %s, %s.", t.Agent, modelOf(ctx, api, t), where, branch, render.Clean(t.Repo), budgetText(t.Budget))
}

// isolation renders the isolation features of a provider: those of its newest sandbox. Without a sandbox they are those
// of this machine, if the server runs here.
func (s *session) isolation(ctx context.Context, api *client.Client, provider string) string {
	const looked = 20
	var features []string
	page, _ := api.Sandboxes(ctx, client.SandboxFilter{Limit: looked}) // an unknown isolation is not shown
	if n := slices.IndexFunc(page.Items, func(b client.Sandbox) bool { return b.Provider == provider && len(b.Isolation) > 0 }); n >= 0 {
		features = page.Items[n].Isolation
	} else if s.Provider != nil && s.Env("OMOI_API_URL") == "" {
		own, _ := s.Provider(provider)
		if known, ok := own.(interface{ Isolation() []string }); ok {
			features = known.Isolation()
		}
	}
	return render.Clean(suffix(" with ", strings.Join(features, ", ")))
}

// modelOf renders the model of an agent that needs one: that of the first credential that the task would use.
func modelOf(ctx context.Context, api *client.Client, t client.Task) string {
	if !task.RuntimeOf(t.Agent).NeedsModel {
		return ""
	}
	stored, _ := api.Credentials(ctx)
	for _, scope := range []string{credential.ScopeUser, credential.ScopeProject, credential.ScopeOrganization, credential.ScopeInstallation} {
		for _, kind := range credential.KindsOf(credential.ForAgent(t.Agent)) {
			n := slices.IndexFunc(stored, func(c client.Credential) bool {
				return c.Kind == kind && c.Scope == scope && (c.ProjectID == "" || c.ProjectID == t.ProjectID)
			})
			if n >= 0 {
				return " with " + cmp.Or(suffix("model ", render.Clean(stored[n].Model)), "its default model")
			}
		}
	}
	return " with its default model"
}

// budgetText renders the limits of a budget.
func budgetText(b client.Budget) string {
	var parts []string
	for _, limit := range []struct {
		set  bool
		text string
	}{
		{b.USD > 0, fmt.Sprintf("$%.2f", b.USD)},
		{b.Tokens > 0, fmt.Sprintf("%d tokens", b.Tokens)},
		{b.WallClockS > 0, render.Elapsed(time.Duration(b.WallClockS) * time.Second)},
		{b.SandboxSeconds > 0, render.Elapsed(time.Duration(b.SandboxSeconds)*time.Second) + " of sandbox time"},
	} {
		if limit.set {
			parts = append(parts, limit.text)
		}
	}
	if parts == nil {
		return "without a budget"
	}
	return "with a budget of " + strings.Join(parts, ", ")
}

// remote returns the GitHub repository that is the origin of a working copy; empty if the origin is elsewhere.
func remote(ctx context.Context, top string) string {
	origin, err := gitIn(ctx, top, "config", "--get", "remote.origin.url")
	if err != nil || filepath.IsAbs(origin) {
		return ""
	}
	name := scm.Hosts{Web: "https://github.com"}.Name(origin)
	if _, _, ok := scm.OwnerName(name); !ok {
		return ""
	}
	return name
}
