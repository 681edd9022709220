// Package leftovers commits what an agent that is done has left uncommitted.
//
// The commit is the one that git add and git commit would make in the workspace, without hooks, ignored files, submodules and
// nested repositories, and without what the setup command changed. Large files are left out; see [gitcmd.Caps].
package leftovers

import (
	"cmp"
	"context"
	"fmt"
	"log/slog"
	"path/filepath"
	"strings"

	"github.com/omoi-dev/omoi/internal/agent/agentconfig"
	"github.com/omoi-dev/omoi/internal/agent/gitcmd"
	"github.com/omoi-dev/omoi/internal/agent/statefile"
	"github.com/omoi-dev/omoi/internal/agent/textcut"
	"github.com/omoi-dev/omoi/internal/event"
)

// Trailer is the last line in the message of a commit that omoi made.
const Trailer = "Omoi-Committed-By: omoi"

// Keeper commits in one workspace. A nil Keeper finds and commits nothing.
type Keeper struct {
	Dir, Work string
	Repo      agentconfig.Repo
	Title     string // of the task
	Emit      func(eventType string, data map[string]any)
	Log       *slog.Logger
}

// Made is what omoi has committed so far. A restarted agent reads it.
type Made struct {
	Commit   string   `json:"commit"` // the newest
	Files    int      `json:"files"`
	Bytes    int64    `json:"bytes"`
	LeftOut  []string `json:"left_out"`
	Reported bool     `json:"reported"`
	All      int      `json:"all"` // files of all commits
}

// Made returns what omoi has committed so far.
func (k *Keeper) Made() (m Made) {
	if k != nil {
		_ = statefile.Load(k.path("committed.json"), &m) // not there: nothing
	}
	return m
}

func (k *Keeper) path(name string) string { return filepath.Join(k.Dir, name) }

// Commit commits what was found, and reports the commit once. It returns why it cannot; empty: it has, or nothing was found.
func (k *Keeper) Commit(ctx context.Context, f *Found) (why string) {
	if k == nil || f == nil {
		return ""
	}
	k.report(ctx, k.Made()) // made by a process that was killed
	switch {
	case f.Obstacle != "":
		return f.Obstacle
	case len(f.Paths) == 0:
		return ""
	}
	if err := k.commit(ctx, f); err != nil {
		k.Log.WarnContext(ctx, "commit leftovers failed", slog.Any("error", err))
		return err.Error()
	}
	return ""
}

func (k *Keeper) commit(ctx context.Context, f *Found) error {
	git := gitcmd.Repository(k.Work)
	name, email := cmp.Or(strings.TrimSpace(k.Repo.AuthorName), "omoi"), cmp.Or(strings.TrimSpace(k.Repo.AuthorEmail), "omoi@localhost")
	git.Env = append(git.Env, "GIT_AUTHOR_NAME="+name, "GIT_AUTHOR_EMAIL="+email, "GIT_COMMITTER_NAME="+name, "GIT_COMMITTER_EMAIL="+email)
	title := cmp.Or(textcut.First(strings.Join(strings.Fields(k.Title), " "), 200), "Commit uncommitted work")
	id, err := git.Run(ctx, "commit-tree", f.tree, "-p", f.head, "-m", title, "-m", Trailer)
	if err != nil {
		return err
	}
	m := Made{Commit: id, Files: len(f.Paths), Bytes: f.Bytes, LeftOut: f.LeftOut, All: k.Made().All + len(f.Paths)}
	if err := statefile.Save(k.path("committed.json"), m); err != nil {
		return fmt.Errorf("note the commit: %w", err)
	}
	if _, err := git.Run(ctx, "update-ref", "-m", "commit: "+title, "refs/heads/"+k.Repo.Branch, id, f.head); err != nil {
		return err
	}
	k.report(ctx, m)
	return nil
}

// report brings the workspace's index up to a commit and reports it, unless it was reported, or the branch never got it.
func (k *Keeper) report(ctx context.Context, m Made) {
	git := gitcmd.Repository(k.Work)
	if m.Commit == "" || m.Reported || git.Commit(ctx, "refs/heads/"+k.Repo.Branch) != m.Commit {
		return
	}
	if _, err := git.Run(ctx, "read-tree", "--reset", m.Commit); err != nil {
		k.Log.WarnContext(ctx, "update the index of the workspace failed", slog.Any("error", err))
	}
	k.Emit(event.AgentCommitted, map[string]any{"commit": m.Commit, "files": m.Files, "bytes": m.Bytes, "left_out": m.LeftOut})
	m.Reported = true
	if err := statefile.Save(k.path("committed.json"), m); err != nil {
		k.Log.WarnContext(ctx, "save progress failed, a restart may report a commit twice", slog.Any("error", err))
	}
}
