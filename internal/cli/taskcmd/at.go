package taskcmd

import (
	"cmp"
	"context"
	"fmt"
	"os"
	"os/exec"
	"slices"
	"strings"

	"github.com/omoi-dev/omoi/api/client"
	"github.com/omoi-dev/omoi/internal/agent/checkpoints"
	"github.com/omoi-dev/omoi/internal/agent/gitcmd"
	"github.com/omoi-dev/omoi/internal/checkpoint"
	"github.com/omoi-dev/omoi/internal/cli/exit"
	"github.com/omoi-dev/omoi/internal/cli/render"
	"github.com/omoi-dev/omoi/internal/scm"
	"github.com/omoi-dev/omoi/internal/task"
)

// openCopy returns the working copy around the current folder.
func (s *session) openCopy(ctx context.Context, t client.Task) (*copyOf, error) {
	if t.Branch == nil || strings.HasPrefix(*t.Branch, "-") {
		return nil, task.Errorf(task.CodeConflict, "The task has no branch yet. Next: omoi show %s", render.Name(t.Key, t.ID))
	}
	top, err := gitIn(ctx, s.Dir, "rev-parse", "--show-toplevel")
	if err != nil {
		return nil, exit.Usagef("the current folder is not in a Git working copy. Next: git clone %s <folder>, then repeat the command there", scm.Quoted(t.Repo))
	}
	return &copyOf{session: s, t: t, top: top, branch: *t.Branch}, nil
}

// checkoutAt switches the working copy to the files of a checkpoint.
func (s *session) checkoutAt(ctx context.Context, api *client.Client, t client.Task, at string) error {
	c, err := s.openCopy(ctx, t)
	if err == nil {
		err = c.clean(ctx)
	}
	if err != nil {
		return err
	}
	from, err := c.unpack(ctx, api, at)
	if err != nil {
		return err
	}
	commit, err := c.commitOf(ctx, from)
	if err == nil {
		_, err = c.git(ctx, "switch", "--quiet", "--detach", commit)
	}
	if err != nil {
		return task.Errorf(task.CodeConflict, "Cannot switch to checkpoint %s: %s. Next: git status", from.ID, gitError(err)).WithCause(err)
	}
	if *c.JSON {
		return c.printJSON(map[string]string{"task_id": t.ID, "checkpoint": from.ID, "commit": commit, "folder": c.top})
	}
	c.say("%s has the files of checkpoint %s, as commit %s without a branch", c.top, from.ID, commit[:min(12, len(commit))])
	c.hint("Next: git switch -c <name> keeps the commit, git switch - returns")
	return nil
}

// commitOf makes a commit of the files of a checkpoint, behind the commit that was checked out.
func (c *copyOf) commitOf(ctx context.Context, from client.Checkpoint) (string, error) {
	args := []string{
		"-c", "user.name=omoi", "-c", "user.email=omoi@localhost", "commit-tree", from.Commit + ":work",
		"-m", fmt.Sprintf("Checkpoint %s of %s", from.ID, cmp.Or(c.t.Key, c.t.ID)),
	}
	if from.Head != "" {
		args = append(args, "-p", from.Head)
	}
	return c.git(ctx, args...)
}

// biggestDiff is the size from which Git compares a file as a whole: lines of an agent's file may cost it a hundred times their size.
const biggestDiff = "8m"

// diffBetween prints what changed between two checkpoints; an empty to is the newest one.
func (s *session) diffBetween(ctx context.Context, api *client.Client, t client.Task, from, to string) error {
	c, err := s.openCopy(ctx, t)
	if err != nil {
		return err
	}
	a, err := c.unpack(ctx, api, from)
	if err != nil {
		return err
	}
	b, err := c.unpack(ctx, api, to)
	if err != nil {
		return err
	}
	diff, err := c.raw(ctx, "-c", "core.bigFileThreshold="+biggestDiff, "diff-tree", "-r", "-p", "-M", "--binary", "--no-color", "--no-ext-diff", "--no-textconv", a.Commit+":work", b.Commit+":work")
	if err != nil {
		return fmt.Errorf("compare checkpoints %s and %s: %s", a.ID, b.ID, gitError(err))
	}
	if *s.JSON {
		return s.printJSON(map[string]string{"task_id": t.ID, "from": a.ID, "to": b.ID, "diff": diff})
	}
	if diff == "" {
		s.note("Checkpoints %s and %s have the same files.", a.ID, b.ID)
	}
	return s.printDiff(diff)
}

// raw is git with its output as it is.
func (c *copyOf) raw(ctx context.Context, args ...string) (string, error) {
	cmd := exec.CommandContext(ctx, "git", args...) //nolint:gosec // G204: the arguments are omoi's
	cmd.Dir = c.top
	out, err := cmd.Output()
	return string(out), err
}

// unpack gets the objects of a checkpoint into the user's repository; an empty at is the newest one.
func (c *copyOf) unpack(ctx context.Context, api *client.Client, at string) (client.Checkpoint, error) {
	all, err := api.Checkpoints(ctx, c.t.ID)
	if err != nil {
		return client.Checkpoint{}, err
	}
	chain, err := chainTo(all, at)
	if err != nil {
		return client.Checkpoint{}, err
	}
	last := chain[len(chain)-1]
	if _, err := c.git(ctx, "cat-file", "-e", last.Commit+"^{commit}"); err != nil {
		if err := c.fetchObjects(ctx); err != nil {
			return last, err
		}
		for _, one := range chain {
			if err := c.unpackOne(ctx, api, one); err != nil {
				return last, err
			}
		}
	}
	return last, c.unreadable(last, checkpoints.Bounded(ctx, gitcmd.Repository(c.top), last, task.Deref(c.t.Base)))
}

// unreadable returns the error for a checkpoint that cannot be read; nil for none.
func (c *copyOf) unreadable(one client.Checkpoint, err error) error {
	if err == nil {
		return nil
	}
	return task.Errorf(task.CodeConflict, "Cannot read checkpoint %s: %s. Next: choose another one from omoi checkpoints %s",
		one.ID, gitError(err), render.Name(c.t.Key, c.t.ID)).WithCause(err)
}

// fetchObjects gets the commits of the task's branches, on which packs rely, and changes no branch. FETCH_HEAD is the tip of the
// present branch.
func (c *copyOf) fetchObjects(ctx context.Context) error {
	if c.isHost(ctx) {
		return nil
	}
	if _, err := c.git(ctx, "fetch", "--quiet", "--no-tags", c.source(), "refs/heads/"+c.branch); err != nil {
		return task.Errorf(task.CodeConflict, "Cannot fetch branch %s from %s: %s. Next: git fetch, or change to a clone of the repository",
			c.branch, render.Clean(c.t.Repo), gitError(err)).WithCause(err)
	}
	for _, earlier := range c.t.Earlier { // without the branch, the checkpoints that need it cannot be read
		_, _ = c.git(ctx, "fetch", "--quiet", "--no-tags", "--no-write-fetch-head", c.source(), "refs/heads/"+earlier)
	}
	return nil
}

// unpackOne reads the pack of a checkpoint, whose sizes are checked first. Git checks each object.
func (c *copyOf) unpackOne(ctx context.Context, api *client.Client, one client.Checkpoint) error {
	if one.PackBytes == 0 {
		return nil
	}
	pack, err := os.CreateTemp("", "omoi-*.pack")
	if err != nil {
		return fmt.Errorf("store the pack: %w", err)
	}
	defer func() { _, _ = pack.Close(), os.Remove(pack.Name()) }()
	if err := api.CheckpointPack(ctx, c.t.ID, one.ID, pack); err != nil {
		return err
	}
	if err := checkpoints.Inflates(pack, one.Commit); err != nil {
		return c.unreadable(one, err)
	}
	cmd := exec.CommandContext(ctx, "git", "index-pack", "--stdin", "--fix-thin", "--strict") // may fetch a missing object of a partial clone
	cmd.Dir, cmd.Stdin, cmd.Env = c.top, pack, append(os.Environ(), "GIT_ALLOC_LIMIT=1g")
	_, err = cmd.Output()
	return c.unreadable(one, err)
}

// chainTo returns the checkpoints that one needs, in order, and that checkpoint; an empty at is the newest one.
func chainTo(newestFirst []client.Checkpoint, at string) ([]client.Checkpoint, error) {
	for n, c := range newestFirst {
		if at != "" && c.ID != at {
			continue
		}
		own := slices.DeleteFunc(slices.Clone(newestFirst[n:]), func(o client.Checkpoint) bool { return o.Attempt != c.Attempt })
		if chain := checkpoint.ChainTo(c, own); len(chain) > 0 {
			return chain, nil
		}
		return nil, task.Errorf(task.CodeGone, "Checkpoint %s cannot be restored: a part of it was deleted. Next: choose a newer one.", c.ID)
	}
	if at == "" {
		return nil, task.Errorf(task.CodeNotFound, "The task has no checkpoints. Next: omoi logs shows what its agents did")
	}
	if _, err := checkpoint.ParseID(at); err != nil {
		return nil, err
	}
	return nil, task.Errorf(task.CodeNotFound, "The task has no checkpoint %s. Next: omoi checkpoints lists them", at)
}
