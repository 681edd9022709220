package github

import (
	"context"
	"fmt"
	"strings"

	gh "github.com/google/go-github/v66/github"
)

// Probe asks GitHub whether it knows the App, and says where it is installed.
func (a *App) Probe(ctx context.Context) (says string, err error) {
	ctx, stop := context.WithTimeout(ctx, callTimeout)
	defer stop()
	me, err := a.self(ctx)
	if err != nil {
		return "", err
	}
	known := fmt.Sprintf("GitHub knows the App %s (%d)", me.GetName(), a.cfg.ID)
	all, _, err := a.client().Apps.ListInstallations(ctx, &gh.ListOptions{PerPage: pageSize})
	if err != nil {
		return "", a.told(err, "list its installations")
	}
	if len(all) == 0 {
		return known + ". It is installed nowhere. Next: install it at " + me.GetHTMLURL() + "/installations/new", nil
	}
	names := make([]string, len(all))
	for i, one := range all {
		names[i] = one.GetAccount().GetLogin()
		if one.SuspendedAt != nil {
			names[i] += " (suspended)"
		}
	}
	return known + "; it is installed for " + strings.Join(names, ", ") + ".", nil
}

// Name is what the App is called before GitHub is asked.
func (a *App) Name() string { return fmt.Sprintf("GitHub App %d", a.cfg.ID) }
