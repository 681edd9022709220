package taskcmd

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/omoi-dev/omoi/api/client"
	"github.com/omoi-dev/omoi/internal/cli/render"
	"github.com/omoi-dev/omoi/internal/scm"
	"github.com/omoi-dev/omoi/internal/task"
	"github.com/omoi-dev/omoi/internal/wait"
)

func newTake(s *session) *cobra.Command {
	cmd := s.verb("take <task> [folder]", "Suspend a task, and get its work and session into a new worktree", between(1, 2, "one task, and optionally a new folder"),
		func(ctx context.Context, api *client.Client, args []string) error {
			t, err := s.taskOf(ctx, api, args[0])
			if err != nil {
				return err
			}
			return s.take(ctx, api, t, append(args, "")[1])
		})
	cmd.ValidArgsFunction = s.completeTasks
	cmd.Long = `Suspend a task, then create a Git worktree of the clone around the current folder: with a branch of its own, and the files
and the Git index of the task's newest checkpoint. The session of Claude Code is stored where claude --resume finds it, with
the paths of the new folder. The default folder is next to the clone.

omoi runs nothing of the worktree, and lists changed files that can run programs on this machine: read them first. omoi give
sends the work back. omoi retry continues the task without it.`
	return cmd
}

func (s *session) take(ctx context.Context, api *client.Client, t client.Task, folder string) error {
	c, err := s.openCopy(ctx, t)
	if err != nil {
		return err
	}
	if folder, err = s.path(cmp.Or(folder, filepath.Join(filepath.Dir(c.top), filepath.Base(c.top)+"-"+render.Name(t.Key, t.ID)))); err != nil {
		return err
	}
	if c.t, err = s.suspended(ctx, api, t); err != nil {
		return err
	}
	all, err := api.Checkpoints(ctx, t.ID)
	if err != nil {
		return err
	}
	if len(all) == 0 {
		name := render.Name(t.Key, t.ID)
		return task.Errorf(task.CodeNotFound, "Task %s left no checkpoint to take. Next: omoi checkout %[1]s, or omoi retry %[1]s", name)
	}
	from, err := c.unpack(ctx, api, continuesFrom(c.t, all))
	if err != nil {
		return err
	}
	w, err := c.placed(ctx, from, folder)
	if err != nil {
		return err
	}
	if err = w.takeSession(ctx, api); err == nil {
		err = w.save()
	}
	if err != nil {
		return errors.Join(err, w.undo(ctx))
	}
	return w.told(ctx)
}

// continuesFrom returns the checkpoint with which the task would continue: a rewound attempt may have left none.
func continuesFrom(t client.Task, newestFirst []client.Checkpoint) string {
	for _, a := range slices.Backward(t.Attempts) {
		for _, c := range newestFirst {
			if c.Attempt == a.Number {
				return c.ID
			}
		}
		if a.Kind == "rewound" {
			return a.RestoredFrom
		}
	}
	return ""
}

// suspended suspends the task, and returns the task once its work is saved.
func (s *session) suspended(ctx context.Context, api *client.Client, t client.Task) (client.Task, error) {
	if !t.Status.Final() && t.Blocked != task.BlockedSuspended {
		if _, _, err := api.Suspend(ctx, t.ID, "taken by a user"); err != nil {
			return t, err
		}
	}
	const patience, pause = 5 * time.Second, 300 * time.Millisecond
	for since := time.Now(); ; {
		t, err := api.Task(ctx, t.ID)
		last, name := t.Last(), render.Name(t.Key, t.ID)
		ended := t.Status.Final() || t.Blocked == task.BlockedSuspended
		switch {
		case err != nil:
			return t, err
		case ended && (last.Number == 0 || last.Salvage != nil || last.SandboxState == task.SandboxGone || last.SandboxState == task.SandboxLost):
			return t, nil
		case !ended && t.PendingCommand == nil:
			return t, task.Errorf(task.CodeConflict, "Task %s was not suspended: it is %s. Next: omoi show %[1]s", name, t.Status)
		case !since.IsZero() && time.Since(since) > patience:
			s.note("Waiting until the work of task %s is saved. After Ctrl-C, omoi take continues here.", name)
			since = time.Time{}
		}
		if err := wait.For(ctx, pause); err != nil {
			return t, err
		}
	}
}

// told prints what was taken.
func (w *worktree) told(ctx context.Context) error {
	files, err := w.runnable(ctx)
	if err != nil {
		return err
	}
	command := "cd " + scm.Quoted(w.folder)
	if w.Session != "" {
		command += " && claude --resume " + w.Session
	}
	if *w.JSON {
		return w.printJSON(map[string]any{
			"task_id": w.TaskID, "checkpoint": w.Checkpoint, "folder": w.folder, "branch_name": w.local, "session_id": w.Session,
			"runnable_files": files, "command": command,
		})
	}
	name := render.Name(w.t.Key, w.t.ID)
	w.say("Task %s is in %s, on branch %s, as of checkpoint %s (%s ago).", name, w.folder, w.local, w.from.ID, render.Elapsed(time.Since(w.from.TakenAt)))
	w.say("Files that Git ignores are not in a checkpoint.")
	for _, one := range w.from.LeftOut {
		w.say("%s", render.OneLine(one, 250))
	}
	if w.from.GitState {
		w.say("A merge, rebase or similar operation was in progress: its files are here, the operation is not.")
	}
	if w.Session == "" {
		w.say("No session: %s", w.without)
	}
	if len(files) > 0 {
		w.say("The task changed files that can run programs on this machine. Read them first:")
		for _, file := range files[:min(len(files), mostListed)] {
			w.say("  %s", render.OneLine(file, 200))
		}
		if more := len(files) - mostListed; more > 0 {
			w.say("  and %d more", more)
		}
	}
	w.next(w.say, [][2]string{
		{command, "continue the work"},
		{"omoi give", "in the worktree: send the work back; the next attempt begins with it"},
		{"omoi retry " + name, "continue the task without it"},
	})
	return nil
}

// mostListed is the number of files that take prints.
const mostListed = 50

// runnable lists the files that differ from the base of the task and that programs of a user may run.
func (w *worktree) runnable(ctx context.Context) ([]string, error) {
	files := w.from.Commit + ":work"
	args := []string{"ls-tree", "-r", "-z", "--name-only", "--full-tree", files}
	if w.t.Base != nil {
		args = []string{"diff-tree", "-r", "-z", "--no-renames", "--diff-filter=d", "--name-only", *w.t.Base, files}
	}
	out, err := w.repo.Run(ctx, args...)
	if err != nil {
		return nil, fmt.Errorf("list changed files: %w", err)
	}
	set, _ := gitIn(ctx, w.folder, "config", "--get-all", "core.hooksPath")
	hooks := strings.Split(set, "\n")
	return slices.DeleteFunc(strings.Split(out, "\x00"), func(path string) bool { return path == "" || !runs(path, hooks) }), nil
}

// runs reports whether programs of a user may run a file with this path. Folders count at any depth, since each may be opened.
func runs(path string, hooks []string) bool {
	for _, folder := range hooks {
		if folder == "" {
			continue
		}
		folder = filepath.Clean(folder)
		if filepath.IsLocal(folder) && strings.HasPrefix(path, folder+"/") || folder == "." && !strings.Contains(path, "/") {
			return true
		}
	}
	for name := range strings.SplitSeq(strings.ToLower(path), "/") {
		switch name {
		case ".claude", ".mcp.json", ".envrc", "mise.toml", ".mise.toml", "package.json", ".npmrc", ".yarnrc.yml",
			".vscode", ".idea", ".cursor", ".zed", ".devcontainer",
			".husky", ".githooks", ".pre-commit-config.yaml", "lefthook.yml", "lefthook.yaml", ".lefthook.yml", ".gitattributes":
			return true
		}
		if strings.HasSuffix(name, ".code-workspace") {
			return true
		}
	}
	return false
}
