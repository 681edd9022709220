package taskcmd

import (
	"context"
	"fmt"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/omoi-dev/omoi/internal/cli/render"
	"github.com/omoi-dev/omoi/internal/client"
	"github.com/omoi-dev/omoi/internal/scm"
	"github.com/omoi-dev/omoi/internal/task"
)

// rescued says how to get at work that was saved without being on the branch.
func (s *session) rescued(out printer, t client.Task, boxes []client.Sandbox, removed map[string]time.Time) {
	for _, b := range boxes {
		leftOut(out, b)
		if beingSaved(t, b) {
			out("")
			out("Uncommitted work of attempt %d is being saved. Next: omoi work %s", b.Attempt, render.Short(t.ID))
		}
		words := savedWords(t, b)
		if words == "" {
			continue
		}
		out("")
		if at, gone := removed[b.ID]; gone {
			out("%s gone: retention removed it on %s.", words, at.Local().Format(day))
			continue
		}
		if b.Salvage.Kind == task.SalvagePatch {
			out("%s kept by omoi:", words)
			out("  omoi work %s --attempt %d", render.Short(t.ID), b.Attempt)
			continue
		}
		out("%s saved as %s:", words, b.Salvage.Ref)
		for _, line := range gitLines(t, b) {
			out("  %s", line)
		}
	}
}

// removedWork says of the sandboxes whose saved work retention removed when it did. An error is passed over: the work may be there.
func removedWork(ctx context.Context, api *client.Client, t client.Task, boxes []client.Sandbox) map[string]time.Time {
	if !slices.ContainsFunc(boxes, func(b client.Sandbox) bool { return savedWords(t, b) != "" }) {
		return nil
	}
	found, _ := api.Work(ctx, t.ID)
	removed := map[string]time.Time{}
	for _, one := range found {
		if one.RemovedAt != nil {
			removed[one.SandboxID] = *one.RemovedAt
		}
	}
	return removed
}

// beingSaved reports whether a task has ended before the work in its sandbox was saved.
func beingSaved(t client.Task, b client.Sandbox) bool {
	return t.Status.Final() && b.Provider != task.ProviderExternal && b.StartedAt != nil && b.GoneAt == nil && b.Salvage == nil
}

// savedWords says what was saved beside the branch; empty: nothing that is not on the branch by now.
func savedWords(t client.Task, b client.Sandbox) string {
	v := b.Salvage
	if v == nil || v.Kind != task.SalvagePatch && (v.Kind != task.SalvageRef || !plainRef(v.Ref)) {
		return ""
	}
	commits := v.Head != "" && !onBranch(t, b)
	switch {
	case commits && v.Files > 0:
		return fmt.Sprintf("Commits of attempt %d that did not get to the branch, and %s that were not committed, are", b.Attempt, render.Count(v.Files, "file"))
	case commits:
		return fmt.Sprintf("Commits of attempt %d that did not get to the branch are", b.Attempt)
	case v.Files > 0:
		return fmt.Sprintf("Uncommitted work of attempt %d (%s) is", b.Attempt, render.Count(v.Files, "file"))
	case v.Head == "": // other branches, stashes
		return fmt.Sprintf("Work of attempt %d beside its branch is", b.Attempt)
	}
	return ""
}

// onBranch tells whether saved commits came to the branch later.
func onBranch(t client.Task, b client.Sandbox) bool {
	for _, a := range t.Attempts {
		if a.Number == b.Attempt {
			return a.HeadCommit != nil && *a.HeadCommit == b.Salvage.Head
		}
	}
	return false
}

// gitLines show a saved commit and make a branch of it. A local repository has it; from another one it is fetched first.
func gitLines(t client.Task, b client.Sandbox) []string {
	git, ref := "git", b.Salvage.Ref
	var lines []string
	if filepath.IsAbs(t.Repo) {
		git = "git -C " + scm.Quoted(render.Clean(t.Repo))
	} else {
		lines, ref = []string{"git fetch origin " + ref}, "FETCH_HEAD"
	}
	return append(lines, fmt.Sprintf("%s show %s", git, ref), fmt.Sprintf("%s branch rescued-%s %s", git, render.Short(b.ID), ref))
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
		s.rescued(s.hint, t, page.Items, removedWork(ctx, api, t, page.Items))
	}
}

// plainRef tells refs that can stand on a command line as they are.
func plainRef(ref string) bool {
	return strings.HasPrefix(ref, "refs/") && strings.Trim(ref, "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789/_.-") == ""
}
