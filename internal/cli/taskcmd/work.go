package taskcmd

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/omoi-dev/omoi/api/client"
	"github.com/omoi-dev/omoi/internal/cli/exit"
	"github.com/omoi-dev/omoi/internal/cli/render"
	"github.com/omoi-dev/omoi/internal/savedwork"
	"github.com/omoi-dev/omoi/internal/scm"
	"github.com/omoi-dev/omoi/internal/task"
)

// workAsked holds the flags of the command work.
type workAsked struct {
	attempt int
	patch   string // file to write; - is standard output
}

func newWork(s *session) *cobra.Command {
	var asked workAsked
	cmd := s.taskVerb("work <task>", "Show where each attempt's work is saved, and download it", func(ctx context.Context, api *client.Client, t client.Task) error {
		return s.work(ctx, api, t, asked)
	})
	cmd.Long = `Show where the work of each attempt is: on the task's branch, in a rescue ref of the repository, stored by omoi as a patch
or a Git bundle, or lost. --patch writes what omoi stores: a patch for git apply, or a bundle for git fetch.`
	cmd.PreRunE = func(_ *cobra.Command, args []string) error {
		switch {
		case asked.attempt < 0:
			return exit.Usagef("--attempt %d is not valid: attempts count from 1. Next: omoi work %s", asked.attempt, args[0])
		case asked.patch == "-" && *s.JSON:
			return exit.Usagef("--patch - prints the patch itself, which is not JSON. Next: omit --json, or name a file")
		}
		return nil
	}
	cmd.Flags().IntVar(&asked.attempt, "attempt", 0, "number of the attempt; 0: all, and with --patch the newest with stored work")
	cmd.Flags().StringVar(&asked.patch, "patch", "", "write the stored patch or bundle to this `file`; - is standard output")
	return cmd
}

func (s *session) work(ctx context.Context, api *client.Client, t client.Task, asked workAsked) error {
	found, err := api.Work(ctx, t.ID)
	if err != nil {
		return err
	}
	if asked.attempt > 0 {
		found = slices.DeleteFunc(found, func(one client.SavedWork) bool { return one.Attempt != asked.attempt })
	}
	if asked.patch != "" {
		return s.takeWork(ctx, api, t, found, asked)
	}
	if len(found) == 0 && asked.attempt > 0 {
		return task.Errorf(task.CodeNotFound, "The task has no saved work of attempt %d. Next: omoi work %s", asked.attempt, render.Name(t.Key, t.ID))
	}
	return s.answer(client.Page[client.SavedWork]{Items: found}, nil, func() { s.showWork(t, found) })
}

func (s *session) showWork(t client.Task, found []client.SavedWork) {
	none := "No work yet: no attempt of this task has ended. Next: omoi logs -f " + render.Name(t.Key, t.ID)
	list(s, found, none, "ATTEMPT|KIND|FILES|BYTES|WHERE", func(one client.SavedWork) []string {
		return []string{strconv.Itoa(one.Attempt), one.Kind, count(int64(one.Files)), count(one.Bytes), where(one)}
	})
	var next [][2]string
	for _, one := range found {
		for _, note := range one.Notes {
			s.say("Attempt %d: %s", one.Attempt, render.OneLine(note, 250))
		}
		if one.Next != "" {
			next = append(next, [2]string{render.Clean(shortened(t, one.Next)), purpose(t, one)})
		}
	}
	s.next(s.say, next)
}

// count renders a number; 0 means unknown.
func count(n int64) string {
	if n == 0 {
		return "-"
	}
	return strconv.FormatInt(n, 10)
}

// where renders the location of saved work.
func where(one client.SavedWork) string {
	switch {
	case one.RemovedAt != nil:
		return "removed by retention on " + one.RemovedAt.Local().Format(time.DateTime)
	case one.Kind == savedwork.Lost && one.LostSince != nil:
		return "lost since " + one.LostSince.Local().Format(time.DateTime)
	case one.Kind == savedwork.Lost:
		return "lost"
	case one.Kept():
		return "stored by omoi"
	case one.Kind == savedwork.Saving:
		return "being saved"
	case one.Ref == "":
		return "none"
	case one.Kind == savedwork.Branch:
		return render.Clean(one.Ref) + " at " + render.Clean(one.Head[:min(12, len(one.Head))])
	}
	return render.Clean(one.Ref)
}

// purpose describes the next command of saved work, and where to run it.
func purpose(t client.Task, one client.SavedWork) string {
	if one.Kept() {
		return fmt.Sprintf("write the %s of attempt %d", one.Kind, one.Attempt)
	}
	what := fmt.Sprintf("show the work of attempt %d", one.Attempt)
	if filepath.IsAbs(t.Repo) {
		return what
	}
	return fmt.Sprintf("%s, in a clone of %s", what, render.Clean(t.Repo))
}

// savedWork prints a hint for attempts whose work is not on the branch, or is still being saved.
func (s *session) savedWork(ctx context.Context, api *client.Client, t client.Task, boxes []client.Sandbox, out printer) {
	var beside, saving []string
	restored := restoredAttempts(ctx, api, t)
	for _, b := range boxes {
		switch n := strconv.Itoa(b.Attempt); {
		case !besideBranch(t, b), b.Salvage != nil && len(b.Salvage.Notes) == 0 && restored[b.Attempt]:
		case b.Salvage == nil:
			saving = append(saving, n)
		default:
			beside = append(beside, n)
		}
	}
	hint := func(form string, attempts []string) {
		switch len(attempts) {
		case 0:
		case 1:
			out(form, "attempt "+attempts[0], render.Name(t.Key, t.ID))
		default:
			out(form, "attempts "+strings.Join(attempts, ", "), render.Name(t.Key, t.ID))
		}
	}
	hint("\nNot all work of %s is on the branch. Next: omoi work %s", beside)
	hint("\nThe files of %s are being saved. Next: omoi work %s", saving)
}

// savedWorkOf reads the sandboxes of a task and calls [session.savedWork]. On an error there is no hint.
func (s *session) savedWorkOf(ctx context.Context, api *client.Client, t client.Task, out printer) {
	if page, err := api.Sandboxes(ctx, client.SandboxFilter{TaskID: t.ID, Limit: pageLimit}); err == nil {
		s.savedWork(ctx, api, t, page.Items, out)
	}
}

// restoredAttempts returns the attempts with whose last checkpoint a later attempt began: that one has their work. On an
// error there are none.
func restoredAttempts(ctx context.Context, api *client.Client, t client.Task) map[int]bool {
	if !slices.ContainsFunc(t.Attempts, func(a client.Attempt) bool { return a.RestoredFrom != "" }) {
		return nil
	}
	stored, err := api.Checkpoints(ctx, t.ID)
	if err != nil {
		return nil
	}
	restored, last := map[int]bool{}, map[int]client.Checkpoint{}
	for _, c := range stored {
		if c.Number > last[c.Attempt].Number {
			last[c.Attempt] = c
		}
	}
	for n, c := range last {
		restored[n] = slices.ContainsFunc(t.Attempts, func(a client.Attempt) bool { return a.RestoredFrom == c.ID })
	}
	return restored
}

// besideBranch reports whether the work of a sandbox is not all on the branch.
func besideBranch(t client.Task, b client.Sandbox) bool {
	v := b.Salvage
	switch {
	case v == nil: // the cleanup may still save work
		return t.Status.Final() && b.Machine() && b.StartedAt != nil && b.GoneAt == nil
	case v.Files > 0 || len(v.Notes) > 0:
		return true
	case v.Kind != task.SalvagePatch && v.Kind != task.SalvageRef:
		return false
	}
	return v.Head == "" || !slices.ContainsFunc(t.Attempts, func(a client.Attempt) bool {
		return a.Number == b.Attempt && a.HeadCommit != nil && *a.HeadCommit == v.Head
	})
}

// takeWork writes the newest stored work among found. If none is stored, the request returns the server's error, which
// tells where the work is.
func (s *session) takeWork(ctx context.Context, api *client.Client, t client.Task, found []client.SavedWork, asked workAsked) error {
	one := client.SavedWork{Attempt: asked.attempt}
	for _, candidate := range found {
		if candidate.Kept() {
			one = candidate
		}
	}
	if one.Attempt == 0 {
		return task.Errorf(task.CodeNotFound, "omoi stores no patch of this task. Next: omoi work %s", render.Name(t.Key, t.ID))
	}
	if asked.patch == "-" {
		if isTerminal(s.Stdout) { // a terminal executes control characters
			return exit.Usagef("standard output is a terminal. Next: omoi work %s --attempt %d --patch work.%s", render.Name(t.Key, t.ID), one.Attempt, one.Kind)
		}
		_, err := api.WriteWork(ctx, t.ID, one.Attempt, s.Stdout)
		return err
	}
	file, err := s.path(asked.patch)
	if err != nil {
		return err
	}
	size, err := s.writeWork(ctx, api, t.ID, one, file)
	return s.answer(map[string]any{"task_id": t.ID, "attempt": one.Attempt, "kind": one.Kind, "file": file, "bytes": size}, err, func() {
		s.say("Wrote the %s of attempt %d to %s (%s).", one.Kind, one.Attempt, render.Clean(file), render.Bytes(size))
		s.next(s.hint, [][2]string{applyCommand(one, file)})
	})
}

// applyCommand returns the command that applies a patch or fetches a bundle.
func applyCommand(one client.SavedWork, file string) [2]string {
	if one.Kind == savedwork.Bundle {
		return [2]string{fmt.Sprintf("git fetch %s '+refs/*:refs/saved/*'", scm.Quoted(file)), "in a clone of the repository, then git log --all"}
	}
	return [2]string{"git apply " + scm.Quoted(file), "in a working copy of the task's branch"}
}

// writeWork writes a file atomically.
func (s *session) writeWork(ctx context.Context, api *client.Client, taskID string, one client.SavedWork, file string) (size int64, err error) {
	part, err := os.CreateTemp(filepath.Dir(file), ".omoi-work-")
	if path, ok := errors.AsType[*os.PathError](err); ok {
		err = path.Err // hide the name of the temporary file
	}
	if err != nil {
		return 0, exit.Usagef("write %s: %w. Next: name another file", file, err)
	}
	defer func() { _ = os.Remove(part.Name()) }() // after the rename the file does not exist
	size, err = api.WriteWork(ctx, taskID, one.Attempt, part)
	if err = errors.Join(err, part.Close()); err == nil {
		err = os.Rename(part.Name(), file)
	}
	if err != nil {
		return size, fmt.Errorf("write %s: %w", file, err)
	}
	return size, nil
}
