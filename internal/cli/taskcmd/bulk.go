package taskcmd

import (
	"cmp"
	"context"
	"fmt"
	"time"

	"github.com/spf13/cobra"

	"github.com/omoi-dev/omoi/api/client"
	"github.com/omoi-dev/omoi/internal/cli/exit"
	"github.com/omoi-dev/omoi/internal/cli/render"
	"github.com/omoi-dev/omoi/internal/task"
)

// bulk holds the flags of a command that cancels many tasks.
type bulk struct {
	olderThan time.Duration
	yes       bool
	reason    string
	next      string // next step after a list; empty: repeat with --yes
}

func (b *bulk) flags(cmd *cobra.Command, what string) {
	cmd.Flags().DurationVar(&b.olderThan, "older-than", 0, what+" older than this, for example 24h")
	cmd.Flags().BoolVar(&b.yes, "yes", false, "cancel the tasks; without --yes they are listed")
}

// old reports whether at is longer ago than --older-than. Without the flag every time is.
func (b *bulk) old(at time.Time) bool { return b.olderThan <= 0 || time.Since(at) > b.olderThan }

// cancelled is the JSON form of one task's outcome.
type cancelled struct {
	TaskID  string      `json:"task_id"`
	TaskKey string      `json:"task_key"`
	Title   string      `json:"title"`
	Status  task.Status `json:"status"` // before the command
	Outcome string      `json:"outcome"`
}

// cancelOld cancels every open task older than --older-than. The server refuses to cancel an ended task, also if the
// task ends during the command.
func (s *session) cancelOld(ctx context.Context, b bulk) error {
	if b.olderThan <= 0 {
		return exit.Usagef("invalid --older-than %s: must be above 0, for example 24h", b.olderThan)
	}
	api, err := s.api()
	if err != nil {
		return err
	}
	tasks, err := newest(ctx, api, client.TaskFilter{}, 0, true)
	if err != nil {
		return err
	}
	var old []client.Task
	for _, t := range tasks.Items {
		if !t.Status.Final() && b.old(t.CreatedAt) {
			old = append(old, t)
		}
	}
	return s.cancelAll(ctx, api, old, b)
}

// cancelAll cancels tasks one after the other and prints the outcome of each. Without --yes it lists them.
func (s *session) cancelAll(ctx context.Context, api *client.Client, tasks []client.Task, b bulk) error {
	rows, failed := make([]cancelled, 0, len(tasks)), 0
	for _, t := range tasks {
		row := cancelled{TaskID: t.ID, TaskKey: t.Key, Title: t.Title, Status: t.Status, Outcome: "would be cancelled"}
		if b.yes {
			asked, settled, err := api.Cancel(ctx, t.ID, b.reason)
			switch {
			case err != nil && task.CodeOf(err) != task.CodeConflict:
				row.Outcome = "not cancelled: " + task.MessageOf(err)
				failed++
			case err != nil: // the task has ended
				row.Outcome = "unchanged: " + task.MessageOf(err)
			case settled:
				row.Outcome = receipt(asked.Command)
			default:
				row.Outcome = "accepted and in progress"
			}
		}
		rows = append(rows, row)
	}
	err := s.answer(rows, nil, func() {
		none := "No open task matches; ended tasks are never changed."
		list(s, rows, none, "TASK|STATUS|TITLE|OUTCOME", func(r cancelled) []string {
			return []string{render.Name(r.TaskKey, r.TaskID), s.style().Status(r.Status), render.OneLine(r.Title, 50), render.OneLine(r.Outcome, 100)}
		})
	})
	switch {
	case err != nil:
		return err
	case failed > 0:
		return exit.With(exit.Failed, fmt.Errorf("%s could not be cancelled. Next: repeat the command", task.Count(failed, "task")))
	case len(rows) > 0 && !b.yes:
		return exit.With(exit.NeedsYou, fmt.Errorf("%s would be cancelled, with their work saved. Next: %s",
			task.Count(len(rows), "task"), cmp.Or(b.next, "repeat the command with --yes")))
	}
	return nil
}

func (s *session) sandboxesCleanup() *cobra.Command {
	b := bulk{reason: "omoi sandbox cleanup"}
	var all bool
	cmd := s.verb("cleanup [sandbox ...]", "Delete sandboxes by cancelling their tasks", cobra.ArbitraryArgs, func(ctx context.Context, api *client.Client, args []string) error {
		return s.cleanup(ctx, api, args, all, b)
	})
	cmd.Long = `Delete sandboxes by cancelling the tasks that run in them. Work is saved, and each deletion is verified. Name sandboxes,
or give --all or --older-than, and --yes; without --yes the command lists what it would do. Ended tasks are not changed:
the cleanup of their sandboxes runs already.`
	cmd.Flags().BoolVarP(&all, "all", "a", false, "all sandboxes with a running task")
	b.flags(cmd, "sandboxes")
	return cmd
}

func (s *session) cleanup(ctx context.Context, api *client.Client, refs []string, all bool, b bulk) error {
	list := len(refs) == 0 && !all && b.olderThan == 0
	switch {
	case len(refs) > 0 && all:
		return exit.Usagef("name sandboxes or give --all, not both")
	case b.olderThan < 0:
		return exit.Usagef("invalid --older-than %s: must be above 0, for example 24h", b.olderThan)
	case list && b.yes:
		return exit.Usagef("--yes needs sandboxes: name them, or give --all or --older-than")
	case list:
		b.next = "omoi sandbox cleanup <sandbox> --yes, or omoi sandbox cleanup --all --yes"
	}
	chosen, err := s.chosenBoxes(ctx, api, refs)
	if err != nil {
		return err
	}
	var tasks []client.Task
	for _, box := range chosen {
		if box.TaskID == "" || !b.old(box.CreatedAt) {
			continue
		}
		t, err := api.Task(ctx, box.TaskID)
		switch {
		case err != nil:
			return err
		case t.Status.Final() || t.SandboxID == nil || *t.SandboxID != box.ID: // the attempt has ended
			s.hint("Sandbox %s (%s): its attempt has ended, and its cleanup is running. Next: omoi receipt %s", render.Short(box.ID), box.State, render.Name(t.Key, t.ID))
		default:
			tasks = append(tasks, t)
		}
	}
	return s.cancelAll(ctx, api, tasks, b)
}

// chosenBoxes returns the sandboxes that refs name. Without refs it returns all whose deletion is not verified.
func (s *session) chosenBoxes(ctx context.Context, api *client.Client, refs []string) (chosen []client.Sandbox, err error) {
	if len(refs) == 0 {
		return listBoxes(ctx, api, client.SandboxFilter{Unverified: true}, 0)
	}
	for _, ref := range refs {
		box, err := s.boxOf(ctx, api, ref)
		if err != nil {
			return nil, err
		}
		chosen = append(chosen, box)
	}
	return chosen, nil
}
