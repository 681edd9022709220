package leftovers

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/omoi-dev/omoi/internal/agent/gitcmd"
)

// Found are changes that the agent has left uncommitted.
type Found struct {
	Paths    []string // that omoi would commit, sorted
	Bytes    int64
	LeftOut  []string // what omoi would leave out, one sentence each
	Obstacle string   // why omoi cannot commit; empty: it can

	head, tree string
}

// Find returns what the agent has left uncommitted; nil if that cannot be read.
func (k *Keeper) Find(ctx context.Context) *Found {
	if k == nil {
		return nil
	}
	f, err := k.find(ctx)
	if err != nil {
		k.Log.WarnContext(ctx, "find leftovers failed", slog.Any("error", err))
		return nil
	}
	return f
}

func (k *Keeper) find(ctx context.Context) (*Found, error) {
	at, err := k.checkedOut(ctx)
	if err != nil {
		return nil, err
	}
	f := &Found{head: at.commit, Obstacle: k.obstacle(ctx, at), LeftOut: []string{}}
	s, snap, err := k.take(ctx, at)
	if err != nil {
		return nil, err
	}
	f.tree = snap.Tree
	f.LeftOut = append(f.LeftOut, snap.Skipped...)
	if err := errors.Join(k.dropSetup(ctx, s, f), f.submodules(ctx, s)); err != nil {
		return nil, err
	}
	for _, path := range f.Paths {
		if info, err := os.Lstat(filepath.Join(k.Work, path)); err == nil && !info.IsDir() {
			f.Bytes += info.Size()
		}
	}
	return f, nil
}

// checkout is what is checked out in the workspace.
type checkout struct {
	commit, ref   string // the ref of a detached HEAD is HEAD
	folder, index string // paths of the Git folder and the index
}

// checkedOut reads what is checked out, in one git process. The paths that git prints are relative, because that of the workspace may
// contain line breaks.
func (k *Keeper) checkedOut(ctx context.Context) (checkout, error) {
	text, err := gitcmd.Repository(k.Work).Run(ctx, "rev-parse", "--path-format=relative", "--git-dir", "--git-path", "index",
		"HEAD^{commit}", "--symbolic-full-name", "HEAD")
	lines := strings.Split(text, "\n")
	if err != nil || len(lines) != 4 {
		return checkout{}, errors.Join(errors.New("no commit is checked out"), err)
	}
	work, err := filepath.EvalSymlinks(k.Work)
	return checkout{folder: filepath.Join(work, lines[0]), index: filepath.Join(work, lines[1]), commit: lines[2], ref: lines[3]}, err
}

// take brings a copy of the index up to the work tree.
func (k *Keeper) take(ctx context.Context, at checkout) (*gitcmd.Shadow, gitcmd.Snapshot, error) {
	s := gitcmd.OfWorkspace(k.Work, at.index, k.path("leftovers.index"))
	if err := s.Begin(ctx, at.commit); err != nil {
		return nil, gitcmd.Snapshot{}, err
	}
	snap, err := s.Take(ctx)
	return s, snap, err
}

// obstacle returns why nothing may be committed: the result would be half a merge, or on another branch.
func (k *Keeper) obstacle(ctx context.Context, at checkout) string {
	unmerged, _ := gitcmd.Repository(k.Work).Run(ctx, "ls-files", "--unmerged")
	switch {
	case gitcmd.Unfinished(at.folder):
		return "a merge, rebase or similar operation is unfinished"
	case unmerged != "":
		return "files have unresolved conflicts"
	case at.ref == "HEAD":
		return "HEAD is detached from the branch " + k.Repo.Branch
	case at.ref != "refs/heads/"+k.Repo.Branch:
		return "the branch " + strings.TrimPrefix(at.ref, "refs/heads/") + " is checked out instead of " + k.Repo.Branch
	}
	return ""
}

// Notes of changes.
const (
	setupNote    = "setup.changes"    // of the setup command
	restoredNote = "restored.changes" // after the restore of a checkpoint that followed
)

// AfterSetup notes what the setup command has changed: that is not the agent's work.
func (k *Keeper) AfterSetup(ctx context.Context) error {
	if k == nil {
		return nil
	}
	return k.note(ctx, setupNote)
}

// AfterRestore notes what a checkpoint made of the new files of the setup command: they are of the setup command of an earlier attempt,
// unless the agent changed them since.
func (k *Keeper) AfterRestore(ctx context.Context) error {
	if k == nil || len(k.noted(setupNote)) == 0 {
		return nil
	}
	return k.note(ctx, restoredNote)
}

// note writes how the files differ from the head.
func (k *Keeper) note(ctx context.Context, name string) error {
	at, err := k.checkedOut(ctx)
	if err != nil {
		return err
	}
	s, _, err := k.take(ctx, at)
	if err != nil {
		return err
	}
	var changes bytes.Buffer
	if err := s.Stream(ctx, nil, &changes, "diff-index", "--cached", "--raw", "-z", "--no-renames", at.commit); err != nil {
		return err
	}
	if err := os.WriteFile(k.path(name), changes.Bytes(), 0o600); err != nil {
		return fmt.Errorf("write %s: %w", name, err)
	}
	return nil
}

// noted reads a note; none: empty.
func (k *Keeper) noted(name string) map[string]gitcmd.Change {
	raw, _ := os.ReadFile(k.path(name))
	return gitcmd.Changes(string(raw))
}

// dropSetup lists the changed paths, without those that are as the setup command left them. It names those that are as the setup
// command of an earlier attempt left them.
func (k *Keeper) dropSetup(ctx context.Context, s *gitcmd.Shadow, f *Found) error {
	var raw, back bytes.Buffer
	if err := s.Stream(ctx, nil, &raw, "diff-index", "--cached", "--raw", "-z", "--no-renames", f.head); err != nil {
		return err
	}
	before, restored, now := k.noted(setupNote), k.noted(restoredNote), gitcmd.Changes(raw.String())
	for _, path := range slices.Sorted(maps.Keys(now)) {
		c, old := now[path], before[path]
		replaced := old.OldMode == gitcmd.NoFile && restored[path].Same(c)
		if !replaced && !old.Same(c) {
			continue
		}
		if replaced && !old.Same(c) {
			f.leaveOut(fmt.Sprintf("%q was left out: the setup command makes it, and the checkpoint had another one", path))
		}
		back.WriteString(c.Undo(path))
		delete(now, path)
	}
	f.Paths = slices.Sorted(maps.Keys(now))
	if back.Len() == 0 {
		return nil
	}
	err := s.Stream(ctx, &back, nil, "update-index", "-z", "--index-info")
	if err == nil {
		f.tree, err = s.Run(ctx, "write-tree", "--missing-ok")
	}
	return err
}

// maxLeftOut is how many changes that are left out are named, as of a [gitcmd.Snapshot].
const maxLeftOut = 20

// submodules names those that have changed.
func (f *Found) submodules(ctx context.Context, s *gitcmd.Shadow) error {
	var raw bytes.Buffer
	if err := s.Stream(ctx, nil, &raw, "diff-files", "--raw", "-z", "--ignore-submodules=none"); err != nil {
		return err
	}
	changed := gitcmd.Changes(raw.String())
	for _, path := range slices.Sorted(maps.Keys(changed)) {
		note := fmt.Sprintf("%q was left out: it is a submodule", path)
		if changed[path].OldMode == "160000" && !slices.Contains(f.LeftOut, note) {
			f.leaveOut(note)
		}
	}
	return nil
}

// leaveOut names a change that is left out.
func (f *Found) leaveOut(note string) {
	if len(f.LeftOut) < maxLeftOut {
		f.LeftOut = append(f.LeftOut, note)
	}
}
