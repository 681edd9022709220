package taskcmd

import (
	"cmp"
	"context"
	"fmt"
	"log/slog"
	"os"
	"path/filepath"
	"strings"

	"github.com/spf13/cobra"

	"github.com/omoi-dev/omoi/api/client"
	"github.com/omoi-dev/omoi/internal/agent/apiclient"
	"github.com/omoi-dev/omoi/internal/agent/checkpoints"
	"github.com/omoi-dev/omoi/internal/agent/gitcmd"
	"github.com/omoi-dev/omoi/internal/agent/transcript"
	"github.com/omoi-dev/omoi/internal/checkpoint"
	"github.com/omoi-dev/omoi/internal/cli/exit"
	"github.com/omoi-dev/omoi/internal/cli/render"
	"github.com/omoi-dev/omoi/internal/redact"
	"github.com/omoi-dev/omoi/internal/task"
)

func newGive(s *session) *cobra.Command {
	var reason string
	cmd := s.verb("give [task] [folder]", "Send a taken task's work and session back as the next attempt", between(0, 2, "at most one task and a folder"),
		func(ctx context.Context, api *client.Client, args []string) error {
			args = append(args, "", "")
			return s.give(ctx, api, args[0], args[1], reason)
		})
	cmd.ValidArgsFunction = s.completeTasks
	cmd.Long = `Send the files, the commits and the Git index of a worktree that omoi take created, and its session of Claude Code, as the
task's next checkpoint. The next attempt begins with it. Without arguments: the worktree around the current folder.

End Claude Code in the worktree first. Files that Git ignores, and other branches of the clone, are not sent. A task that has
continued meanwhile is refused.`
	reasonFlag(cmd, &reason)
	return cmd
}

func (s *session) give(ctx context.Context, api *client.Client, ref, folder, reason string) error {
	folder, err := s.path(folder)
	if err != nil {
		return err
	}
	w, err := s.openTaken(ctx, folder)
	if err != nil {
		return err
	}
	if w.t, err = api.Task(ctx, w.TaskID); err != nil {
		return err
	}
	if err := w.givable(ctx, api, ref); err != nil {
		return err
	}
	given, err := w.upload(ctx, api)
	if err != nil {
		return err
	}
	if err := w.lacking(ctx, api, given); err != nil {
		return err
	}
	asked, settled, err := api.Rewind(ctx, w.TaskID, client.RewindRequest{
		Checkpoint: given, AfterAttempt: w.Attempt, Reason: cmp.Or(reason, "given back by a user"),
	})
	if err != nil {
		return err
	}
	if !*s.JSON {
		asked.Command.Kind = "give of checkpoint " + given
	}
	return s.asked(asked, settled)
}

// lacking prints what the checkpoint that was sent lacks, and notes the checkpoint, since the answer to the request may be lost.
func (w *worktree) lacking(ctx context.Context, api *client.Client, given string) error {
	sent, err := api.Checkpoint(ctx, w.TaskID, given)
	if err != nil {
		return err
	}
	for _, one := range sent.LeftOut {
		w.note("%s", render.OneLine(one, 250))
	}
	if sent.Torn {
		w.note("Files changed while omoi read them: they may be of different moments.")
	}
	w.Given = given
	return w.save()
}

// givable returns the reason why the work cannot continue the task.
func (w *worktree) givable(ctx context.Context, api *client.Client, ref string) error {
	name, last := render.Name(w.t.Key, w.t.ID), w.t.Last()
	if ref != "" {
		if other, err := w.taskOf(ctx, api, ref); err != nil || other.ID != w.TaskID {
			return cmp.Or(err, exit.Usagef("the worktree %s is of task %s. Next: change to the worktree of the other task, or leave the task out", w.folder, name))
		}
	}
	switch {
	case w.Given != "" && last.Number > w.Attempt && last.RestoredFrom == w.Given:
		return task.Errorf(task.CodeConflict, "The work was given: attempt %d of task %s begins with checkpoint %s. Next: omoi show %[2]s", last.Number, name, w.Given).
			WithKind(task.KindContinued)
	case last.Number != w.Attempt || last.EndedAt == nil:
		return task.Errorf(task.CodeConflict, "Task %s has continued since omoi take. Next: omoi take %[1]s <another folder>, and merge your work there", name).
			WithKind(task.KindContinued)
	case w.t.Branch == nil:
		return task.Errorf(task.CodeConflict, "Task %s has no branch. Next: omoi show %[1]s", name)
	case gitcmd.Unfinished(filepath.Dir(w.dir)):
		return exit.With(exit.NeedsYou, fmt.Errorf("a merge, rebase or similar operation is in progress in %s. Next: git status, finish the operation, then repeat omoi give", w.folder))
	}
	w.branch = *w.t.Branch
	return w.ahead(ctx)
}

// ahead returns an error if the branch of the task has commits that the worktree lacks, since omoi never removes published ones.
func (w *worktree) ahead(ctx context.Context) error {
	tip := "refs/heads/" + w.branch
	if !w.isHost(ctx) {
		if err := w.fetchObjects(ctx); err != nil {
			return err
		}
		tip = "FETCH_HEAD"
	}
	if _, err := w.git(ctx, "merge-base", "--is-ancestor", tip, "HEAD"); err != nil {
		return task.Errorf(task.CodeConflict, "Branch %s has commits that %s lacks. Next: git merge %s, then repeat omoi give", w.branch, w.folder, strings.TrimPrefix(tip, "refs/heads/")).
			WithKind(task.KindInvalidState)
	}
	return nil
}

// upload sends the work as the next checkpoint of the attempt that was taken, and returns its ID.
func (w *worktree) upload(ctx context.Context, api *client.Client) (string, error) {
	all, err := api.Checkpoints(ctx, w.TaskID)
	if err != nil {
		return "", err
	}
	chain, err := chainTo(all, w.Checkpoint)
	if err != nil {
		return "", err
	}
	from := chain[len(chain)-1]
	g := checkpoints.Given{Dir: w.dir, Work: w.folder, Branch: w.branch, From: from, Log: slog.New(slog.DiscardHandler)}
	for _, c := range all {
		if c.Attempt == from.Attempt {
			g.Newest = max(g.Newest, c.Number)
		}
	}
	address, err := BaseURL(w.Env)
	if err != nil {
		return "", err
	}
	if g.Line, err = apiclient.New(apiclient.Config{APIURL: address, Token: w.Env("OMOI_API_KEY"), SandboxID: from.SandboxID}); err != nil {
		return "", err
	}
	defer g.Line.Close()
	if err := w.excludes(ctx); err != nil {
		return "", err
	}
	if g.Session, err = w.grown(g); err != nil {
		return "", err
	}
	number, err := checkpoints.Give(ctx, g)
	if err != nil {
		return "", task.Errorf(task.CodeUnavailable, "Cannot send the work in %s: %s. Next: omoi show %s, then repeat omoi give", w.folder, err, render.Name(w.t.Key, w.t.ID)).WithCause(err)
	}
	return checkpoint.ID{Attempt: from.Attempt, Number: number}.String(), nil
}

// grown returns the session that Claude Code continued in the worktree; nil if it did not.
func (w *worktree) grown(g checkpoints.Given) (checkpoints.Transcript, error) {
	if w.Session == "" {
		return nil, nil //nolint:nilnil // no session was taken
	}
	sum, err := sumOf(w.sessionPath())
	if err != nil || sum == "" || sum == w.Sum {
		return nil, err
	}
	keep := transcript.New(transcript.Config{
		RunID: "give-" + task.NewID(), Secrets: redact.New(w.Env("OMOI_API_KEY"), environ()), Beside: filepath.Join(w.dir, "beside.jsonl"),
	}, g.Line, g.Log)
	keep.Follow(w.sessionPath(), w.Session)
	return keep, nil
}

// excludes has omoi ignore what the user's own Git ignores.
func (w *worktree) excludes(ctx context.Context) error {
	path, err := gitIn(ctx, w.folder, "config", "--get", "--type=path", "core.excludesFile")
	if err != nil || path == "" {
		path = filepath.Join(cmp.Or(w.Env("XDG_CONFIG_HOME"), filepath.Join(w.Env("HOME"), ".config")), "git", "ignore")
	}
	return checkpoints.Exclude(ctx, w.dir, path)
}

func environ() map[string]string {
	all := map[string]string{}
	for _, entry := range os.Environ() {
		name, value, _ := strings.Cut(entry, "=")
		all[name] = value
	}
	return all
}
