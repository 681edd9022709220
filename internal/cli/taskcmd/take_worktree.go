package taskcmd

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strconv"

	"github.com/omoi-dev/omoi/api/client"
	"github.com/omoi-dev/omoi/internal/agent/checkpoints"
	"github.com/omoi-dev/omoi/internal/agent/gitcmd"
	"github.com/omoi-dev/omoi/internal/agent/statefile"
	"github.com/omoi-dev/omoi/internal/cli/exit"
	"github.com/omoi-dev/omoi/internal/cli/render"
	"github.com/omoi-dev/omoi/internal/task"
)

// taken is what omoi give knows of a worktree.
type taken struct {
	TaskID     string `json:"task_id"`
	Checkpoint string `json:"checkpoint"`
	Attempt    int    `json:"attempt"`           // the task's newest one
	Session    string `json:"session,omitempty"` // ID of the session; empty: none was taken
	Sum        string `json:"sum,omitempty"`     // of the session as it was taken
	Given      string `json:"given,omitempty"`   // checkpoint that omoi give sent last
}

// worktree is a Git worktree of the user with the work of a task.
type worktree struct {
	*copyOf
	taken

	folder  string
	dir     string // folder of omoi, in the Git folder of the worktree
	local   string // the user's branch
	from    client.Checkpoint
	repo    gitcmd.Git
	without string // why there is no session
}

// Names in the Git folder of a worktree.
const (
	omoiFolder = "omoi"
	takenName  = "taken.json"
)

// placed creates the worktree with the files of a checkpoint, and leaves nothing of it after an error.
func (c *copyOf) placed(ctx context.Context, from client.Checkpoint, folder string) (w *worktree, err error) {
	w = &worktree{
		copyOf: c, from: from, folder: folder, local: "take/" + render.Name(c.t.Key, c.t.ID) + "-" + from.ID, repo: gitcmd.Repository(folder),
		taken: taken{TaskID: c.t.ID, Checkpoint: from.ID, Attempt: c.t.Last().Number},
	}
	mine := gitcmd.Git{Dir: c.top}
	for name, n := w.local, 2; mine.Commit(ctx, "refs/heads/"+w.local) != ""; n++ { // of an earlier omoi take
		w.local = name + "-" + strconv.Itoa(n)
	}
	if _, err := mine.Run(ctx, "worktree", "add", "--quiet", "--no-checkout", "-b", w.local, folder, from.Head); err != nil {
		_, _ = mine.Run(ctx, "branch", "--quiet", "-D", w.local) // Git may have created it
		return nil, task.Errorf(task.CodeConflict, "Cannot create the worktree %s: %s. Next: name another folder, or git worktree remove", folder, gitError(err)).WithCause(err)
	}
	if err = w.open(ctx); err == nil {
		err = checkpoints.Place(ctx, w.dir, folder, from)
	}
	if err != nil {
		return nil, errors.Join(fmt.Errorf("write the files of checkpoint %s: %w", from.ID, err), w.undo(ctx))
	}
	return w, nil
}

// undo removes a worktree that placed created, and its branch.
func (w *worktree) undo(ctx context.Context) error {
	mine := gitcmd.Git{Dir: w.top}
	ctx = context.WithoutCancel(ctx)
	_, removed := mine.Run(ctx, "worktree", "remove", "--force", w.folder)
	_, deleted := mine.Run(ctx, "branch", "--quiet", "-D", w.local)
	return errors.Join(removed, deleted)
}

// open sets the folder of omoi, and creates it.
func (w *worktree) open(ctx context.Context) error {
	folder, err := w.repo.Run(ctx, "rev-parse", "--absolute-git-dir")
	if err == nil {
		w.dir = filepath.Join(folder, omoiFolder)
		err = os.MkdirAll(w.dir, 0o700)
	}
	if err != nil {
		return fmt.Errorf("find the Git folder of %s: %w", w.folder, err)
	}
	return nil
}

func (w *worktree) save() error { return statefile.Save(filepath.Join(w.dir, takenName), w.taken) }

// openTaken returns the worktree around a folder that omoi take made.
func (s *session) openTaken(ctx context.Context, folder string) (*worktree, error) {
	top, err := gitIn(ctx, folder, "rev-parse", "--show-toplevel")
	if err == nil {
		w := &worktree{copyOf: &copyOf{session: s, top: top}, folder: top, repo: gitcmd.Repository(top)}
		if err := w.open(ctx); err != nil {
			return nil, err
		}
		if statefile.Load(filepath.Join(w.dir, takenName), &w.taken) && w.TaskID != "" {
			return w, nil
		}
	}
	return nil, exit.Usagef("the folder %s is not in a worktree that omoi take created. Next: change to one, or run omoi take <task>", folder)
}
