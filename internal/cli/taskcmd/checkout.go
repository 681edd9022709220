package taskcmd

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strings"

	"github.com/spf13/cobra"

	"github.com/omoi-dev/omoi/api/client"
	"github.com/omoi-dev/omoi/internal/agent/gitcmd"
	"github.com/omoi-dev/omoi/internal/cli/exit"
	"github.com/omoi-dev/omoi/internal/cli/render"
	"github.com/omoi-dev/omoi/internal/scm"
	"github.com/omoi-dev/omoi/internal/task"
)

func newCheckout(s *session) *cobra.Command {
	at := ""
	cmd := s.taskVerb("checkout <task>", "Get a task's branch or a checkpoint into your working copy", func(ctx context.Context, api *client.Client, t client.Task) error {
		if at != "" {
			return s.checkoutAt(ctx, api, t, at)
		}
		return removedBranch(ctx, api, t, s.checkout(ctx, t))
	})
	cmd.Long = `Fetch a task's branch into the repository around the current folder and switch to it. If the working copy has changes,
the branch is fetched and the working copy stays as it is.

With --at the working copy gets the files of a checkpoint, as a commit without a branch. omoi runs none of these files.`
	cmd.Flags().StringVar(&at, "at", "", "`checkpoint`, for example 2.14; omoi checkpoints lists them")
	return cmd
}

// removedBranch returns the server's error instead of err if retention removed the branch.
func removedBranch(ctx context.Context, api *client.Client, t client.Task, err error) error {
	if task.CodeOf(err) != task.CodeConflict || t.Branch == nil {
		return err
	}
	if gone := api.Diff(ctx, t.ID, io.Discard); task.CodeOf(gone) == task.CodeGone {
		return gone
	}
	return err
}

// copyOf is the user's working copy, with the task whose branch is fetched.
type copyOf struct {
	*session

	t      client.Task
	top    string
	branch string
}

func (s *session) checkout(ctx context.Context, t client.Task) error {
	c, err := s.openCopy(ctx, t)
	if err != nil {
		return err
	}
	if err := c.fetch(ctx); err != nil {
		return err
	}
	return c.switchTo(ctx)
}

// fetch fetches the branch into the user's repository, fast-forward only. If the task works on this repository, the
// branch already exists.
func (c *copyOf) fetch(ctx context.Context) error {
	if c.isHost(ctx) {
		return nil
	}
	if c.t.Base != nil {
		if _, err := c.git(ctx, "cat-file", "-e", *c.t.Base+"^{commit}"); err != nil {
			return task.Errorf(task.CodeConflict, "The task works on %s, and this working copy lacks commit %s, from which the task started: it is not a clone of that repository, or behind it. Next: %s",
				render.Clean(c.t.Repo), (*c.t.Base)[:min(12, len(*c.t.Base))], c.rightCopy(ctx)).WithCause(err)
		}
	}
	if on, err := c.git(ctx, "symbolic-ref", "--quiet", "--short", "HEAD"); err == nil && on == c.branch {
		return c.forward(ctx)
	}
	refspec := "refs/heads/" + c.branch + ":refs/heads/" + c.branch
	if _, err := c.git(ctx, "fetch", "--quiet", "--no-tags", c.source(), refspec); err != nil {
		return task.Errorf(task.CodeConflict, "Cannot fetch branch %s from %s: %s. Next: omoi diff %s",
			c.branch, render.Clean(c.t.Repo), gitError(err), render.Name(c.t.Key, c.t.ID)).WithCause(err)
	}
	return nil
}

// rightCopy returns the command that runs the checkout where the task works, or that updates the working copy.
func (c *copyOf) rightCopy(ctx context.Context) string {
	again, place := "omoi checkout "+render.Name(c.t.Key, c.t.ID), scm.Quoted(render.Clean(c.t.Repo))
	bare := func() bool {
		out, err := gitIn(ctx, c.t.Repo, "rev-parse", "--is-bare-repository")
		return err != nil || out == "true"
	}
	switch {
	case !filepath.IsAbs(c.t.Repo):
		return "git fetch, or in a clone of " + render.Clean(c.t.Repo) + ": " + again
	case bare():
		return "git clone " + place + " <folder>, then in that folder: " + again
	}
	return "cd " + place + " && " + again
}

// forward fast-forwards the branch that is checked out.
func (c *copyOf) forward(ctx context.Context) error {
	if err := c.clean(ctx); err != nil {
		return err
	}
	_, err := c.git(ctx, "fetch", "--quiet", "--no-tags", c.source(), "refs/heads/"+c.branch)
	if err == nil {
		_, err = c.git(ctx, "merge", "--quiet", "--ff-only", "FETCH_HEAD")
	}
	if err != nil {
		return task.Errorf(task.CodeConflict, "Cannot update branch %s: %s. Next: git log %s..FETCH_HEAD", c.branch, gitError(err), c.branch).WithCause(err)
	}
	return nil
}

// source returns the remote of the branch: the path of a local repository, else origin.
func (c *copyOf) source() string {
	if filepath.IsAbs(c.t.Repo) {
		return c.t.Repo
	}
	return "origin"
}

// isHost reports whether the task works on the user's own repository.
func (c *copyOf) isHost(ctx context.Context) bool {
	mine, err := c.git(ctx, "rev-parse", "--path-format=absolute", "--git-common-dir")
	if err != nil || !filepath.IsAbs(c.t.Repo) {
		return false
	}
	theirs, err := gitIn(ctx, c.t.Repo, "rev-parse", "--path-format=absolute", "--git-common-dir")
	return err == nil && SameFile(mine, theirs)
}

// SameFile reports whether two paths name the same file.
func SameFile(a, b string) bool {
	x, errX := os.Stat(a)
	y, errY := os.Stat(b)
	return errX == nil && errY == nil && os.SameFile(x, y)
}

// detach returns the option --detach unless the task is completed: an agent may still push to the branch in the same
// repository, and git refuses to update a branch that is checked out.
func (c *copyOf) detach() []string {
	if c.t.Status == task.StatusCompleted {
		return nil
	}
	return []string{"--detach"}
}

// worktreeCommand returns the command that checks the branch out into a folder of its own.
func (c *copyOf) worktreeCommand() string {
	return strings.Join(append(append([]string{"git worktree add"}, c.detach()...), "<folder>", c.branch), " ")
}

// clean returns an error with the next step if the working copy has changes.
func (c *copyOf) clean(ctx context.Context) error {
	changes, err := c.git(ctx, "status", "--porcelain")
	switch {
	case err != nil:
		return fmt.Errorf("read the state of the working copy: %s", gitError(err))
	case changes != "":
		return exit.With(exit.NeedsYou, fmt.Errorf("the working copy %s has changes, so it stays as it is. "+
			"Next: commit or stash them and repeat the command, or %s", c.top, c.worktreeCommand()))
	}
	return nil
}

func (c *copyOf) switchTo(ctx context.Context) error {
	if err := c.clean(ctx); err != nil {
		return err
	}
	if _, err := c.git(ctx, append(append([]string{"switch", "--quiet"}, c.detach()...), c.branch)...); err != nil {
		return task.Errorf(task.CodeConflict, "Cannot switch to branch %s: %s. Next: %s", c.branch, gitError(err), c.worktreeCommand()).WithCause(err)
	}
	return c.told()
}

func (c *copyOf) told() error {
	if *c.JSON {
		return c.printJSON(map[string]string{"task_id": c.t.ID, "branch_name": c.branch, "folder": c.top})
	}
	c.say("%s is on branch %s", c.top, c.branch)
	switch {
	case c.t.Status == task.StatusCompleted:
	case c.t.Status.Final():
		c.hint("The task is %s and a retry continues on its branch, so HEAD is detached. Next: git switch -c <name>", c.t.Status)
	default:
		c.hint("The task is %s, so HEAD is detached. Next: repeat the command when the task has ended", c.t.Status)
	}
	var next [][2]string
	if c.t.Base != nil {
		next = append(next, [2]string{fmt.Sprintf("git log -p %s..", (*c.t.Base)[:min(12, len(*c.t.Base))]), "show the commits of the task"})
	}
	c.next(c.hint, append(next, [2]string{"git switch -", "return to your branch"}))
	return nil
}

func (c *copyOf) git(ctx context.Context, args ...string) (string, error) {
	return gitIn(ctx, c.top, args...)
}

// gitIn runs git in a folder, with the user's configuration, without prompts, and without hooks, which may be files of an agent.
func gitIn(ctx context.Context, dir string, args ...string) (string, error) {
	args = append([]string{"-c", "core.hooksPath=/dev/null"}, args...)
	cmd := exec.CommandContext(ctx, "git", args...) //nolint:gosec // G204: git validated the name of the branch
	cmd.Dir = dir
	cmd.Env = append(os.Environ(), "GIT_TERMINAL_PROMPT=0")
	out, err := cmd.Output()
	return strings.TrimSpace(string(out)), err
}

// gitError returns the error output of git.
func gitError(err error) string {
	text := err.Error()
	if e, ok := errors.AsType[*exec.ExitError](err); ok && len(e.Stderr) > 0 {
		text = string(e.Stderr)
	}
	if e, ok := errors.AsType[*gitcmd.Error](err); ok {
		text = e.Stderr
	}
	return strings.TrimRight(strings.TrimPrefix(render.OneLine(text, 300), "fatal: "), ".")
}
