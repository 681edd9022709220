package taskcmd

import (
	"context"
	"path/filepath"
	"strings"

	"github.com/omoi-dev/omoi/internal/cli/render"
	"github.com/omoi-dev/omoi/internal/client"
	"github.com/omoi-dev/omoi/internal/scm"
	"github.com/omoi-dev/omoi/internal/task"
)

// rescued says how to get at work that was saved without being on the branch.
func (s *session) rescued(out printer, t client.Task, boxes []client.Sandbox) {
	for _, b := range boxes {
		leftOut(out, b)
		if b.Salvage == nil || b.Salvage.Kind != task.SalvageRef || !plainRef(b.Salvage.Ref) {
			continue
		}
		git := "git"
		if filepath.IsAbs(t.Repo) {
			git = "git -C " + scm.Quoted(render.Clean(t.Repo))
		}
		out("")
		out("Uncommitted work of attempt %d (%s) is saved as %s:", b.Attempt, render.Count(b.Salvage.Files, "file"), b.Salvage.Ref)
		out("  %s show %s", git, b.Salvage.Ref)
		out("  %s branch rescued-%s %s", git, render.Short(b.ID), b.Salvage.Ref)
	}
}

// leftOut says what of a sandbox's work is not there any more, or not as it was.
func leftOut(out printer, b client.Sandbox) {
	if b.Salvage == nil || len(b.Salvage.Notes) == 0 {
		return
	}
	out("")
	out("About the uncommitted work of attempt %d:", b.Attempt)
	for _, note := range b.Salvage.Notes {
		out("  %s", render.OneLine(note, 250))
	}
}

// rescuedOf asks for a task's sandboxes first; an error is passed over, since the result stands without.
func (s *session) rescuedOf(ctx context.Context, api *client.Client, t client.Task) {
	if s.json {
		return
	}
	page, err := api.Sandboxes(ctx, client.SandboxFilter{TaskID: t.ID, Limit: pageLimit})
	if err == nil {
		s.rescued(s.hint, t, page.Items)
	}
}

// plainRef tells refs that can stand on a command line as they are.
func plainRef(ref string) bool {
	return strings.HasPrefix(ref, "refs/") && strings.Trim(ref, "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789/_.-") == ""
}
