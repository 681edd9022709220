package agent

import (
	"context"
	"log/slog"
	"os"
	"time"

	"github.com/omoi-dev/omoi/internal/agent/diff"
)

// Watch notes how the work tree is now. The returned function tells what has changed since,
// or since its last call: at most 100 changes, how many there are in all, and what could not be looked at. What
// a call does not see because its ctx has ended the next one sees.
func (e Env) Watch(ctx context.Context) func(ctx context.Context) (changes []diff.Change, total int, skipped []string) {
	nothing := func(context.Context) ([]diff.Change, int, []string) { return nil, 0, nil }
	if e.Shadow == nil {
		return nothing
	}
	before, err := e.Shadow.Take(ctx)
	if err != nil {
		e.Log.WarnContext(ctx, "read working tree failed, file changes not reported", slog.Any("error", err))
		return nothing
	}
	return func(ctx context.Context) ([]diff.Change, int, []string) {
		within, cancel := context.WithTimeout(ctx, lookWait)
		defer cancel()
		after, err := e.Shadow.Take(within)
		if err != nil {
			e.Log.WarnContext(ctx, "read working tree failed, file changes not reported", slog.Any("error", err))
			return nil, 0, nil
		}
		changes, total, err := diff.Trees(within, e.Shadow.Git, before.Tree, after.Tree, maxChanges)
		if err != nil {
			e.Log.WarnContext(ctx, "compare working trees failed, file changes not reported", slog.Any("error", err))
		}
		if within.Err() == nil {
			before = after
		}
		return changes, total, after.Skipped
	}
}

const (
	lookWait   = 30 * time.Second // one look at the work tree may take
	maxChanges = 100              // maximum number of changes that are reported individually
)

// Shell is the command line that runs text in a shell.
func Shell(text string) []string {
	if _, err := os.Stat("/bin/bash"); err == nil {
		return []string{"/bin/bash", "-c", text}
	}
	return []string{"/bin/sh", "-c", text}
}
