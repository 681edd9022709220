package agent

import (
	"context"
	"log/slog"
	"os"
	"path/filepath"
	"time"

	"github.com/omoi-dev/omoi/internal/agent/diff"
	"github.com/omoi-dev/omoi/internal/agent/gitcmd"
)

// Watch records the state of the work tree. The returned function returns the changes since its last call: at most 100
// changes, their total number, and the paths that could not be read. If its ctx ends early, the next call returns the
// missing changes.
func (e Env) Watch(ctx context.Context) func(ctx context.Context) (changes []diff.Change, total int, skipped []string) {
	nothing := func(context.Context) ([]diff.Change, int, []string) { return nil, 0, nil }
	if e.Files == nil {
		return nothing
	}
	view, err := e.Files.View(ctx)
	if err != nil {
		e.Log.WarnContext(ctx, "read working tree failed, file changes not reported", slog.Any("error", err))
		return nothing
	}
	stored := e.stored(ctx)
	return func(ctx context.Context) ([]diff.Change, int, []string) {
		within, cancel := context.WithTimeout(ctx, lookWait)
		defer cancel()
		before, after, err := view.Look(within)
		if err != nil {
			e.Log.WarnContext(ctx, "read working tree failed, file changes not reported", slog.Any("error", err))
			return nil, 0, nil
		}
		git := e.Files.Shadow().Git
		changes, total, err := diff.Trees(within, git, before, after.Tree, maxChanges)
		if err == nil && stored != nil {
			err = diff.AsWritten(within, git, *stored, changes)
		}
		if err != nil {
			e.Log.WarnContext(ctx, "compare working trees failed, file changes not reported", slog.Any("error", err))
		}
		if within.Err() == nil {
			view.Done()
		}
		return changes, total, after.Skipped
	}
}

// stored returns a repository with the objects that Git stored for the workspace; nil without one.
func (e Env) stored(ctx context.Context) *gitcmd.Git {
	shadow := e.Files.Shadow()
	if !shadow.Own {
		return nil
	}
	s, err := gitcmd.Opening{Dir: filepath.Join(filepath.Dir(shadow.GitDir), "stored.git"), Work: shadow.WorkTree}.Open(ctx)
	if err != nil {
		e.Log.WarnContext(ctx, "open stored objects failed, first changes of converted files are shown as a whole", slog.Any("error", err))
		return nil
	}
	return &s.Git
}

const (
	lookWait   = 30 * time.Second // timeout of one comparison
	maxChanges = 100              // maximum number of changes that are reported individually
)

// Shell returns the command line that runs text in a shell: bash if it exists, else sh.
func Shell(text string) []string {
	if _, err := os.Stat("/bin/bash"); err == nil {
		return []string{"/bin/bash", "-c", text}
	}
	return []string{"/bin/sh", "-c", text}
}
