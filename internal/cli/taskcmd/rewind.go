package taskcmd

import (
	"context"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/omoi-dev/omoi/api/client"
	"github.com/omoi-dev/omoi/internal/checkpoint"
	"github.com/omoi-dev/omoi/internal/cli/exit"
	"github.com/omoi-dev/omoi/internal/cli/render"
	"github.com/omoi-dev/omoi/internal/task"
)

func newRewind(s *session) *cobra.Command {
	var to, reason string
	cmd := s.taskVerb("rewind <task> --to <checkpoint>", "Start the next attempt from an earlier checkpoint", func(ctx context.Context, api *client.Client, t client.Task) error {
		return s.rewind(ctx, api, t, to, reason)
	})
	cmd.Long = `Start the next attempt of a task with the files and the session of an earlier checkpoint. A running attempt ends for it,
and its work is saved. If the branch has commits that the checkpoint lacks, the task continues on a new branch.

` + checkpointWords("--to")
	cmd.Flags().StringVar(&to, "to", "", "checkpoint, attempt, event, time or age")
	_ = cmd.MarkFlagRequired("to") // the flag exists
	reasonFlag(cmd, &reason)
	cmd.PreRunE = func(*cobra.Command, []string) error {
		_, err := notAfter("--to", to, time.Now())
		return err
	}
	return cmd
}

func (s *session) rewind(ctx context.Context, api *client.Client, t client.Task, to, reason string) error {
	c, err := s.checkpointAt(ctx, api, t, "--to", to)
	if err != nil {
		return err
	}
	asked, settled, err := api.Rewind(ctx, t.ID, client.RewindRequest{Checkpoint: c.ID, Reason: reason})
	if err != nil {
		return err
	}
	if !*s.JSON {
		asked.Command.Kind = "rewind"
	}
	return s.asked(asked, settled)
}

// checkpointWords describes the values of a flag that names a checkpoint.
func checkpointWords(flag string) string {
	return flag + ` names a checkpoint: 2.14 by its ID; 2 the last one of attempt 2; 2:231 the newest one not after event 231 of
attempt 2; a time (RFC 3339) or an age, for example 15m, the newest one not after it.`
}

// checkpointAt returns the checkpoint that a flag names.
func (s *session) checkpointAt(ctx context.Context, api *client.Client, t client.Task, flag, to string) (c client.Checkpoint, err error) {
	now := time.Now()
	matches, err := notAfter(flag, to, now)
	if err != nil {
		return c, err
	}
	all, err := api.Checkpoints(ctx, t.ID)
	if err != nil {
		return c, err
	}
	i := slices.IndexFunc(all, matches) // newest first
	if i < 0 {
		return c, task.Errorf(task.CodeNotFound, "None of the %d checkpoints of task %s matches %s %s. Next: omoi checkpoints %[2]s",
			len(all), render.Name(t.Key, t.ID), flag, to)
	}
	c = all[i]
	s.hint("Checkpoint %s: %s%s ago, changed files: %d.", c.ID, eventOf(c), render.Elapsed(now.Sub(c.TakenAt)), c.Files)
	return c, nil
}

func eventOf(c client.Checkpoint) string {
	if c.Sequence == 0 {
		return ""
	}
	return fmt.Sprintf("event %d:%d, ", c.Attempt, c.Sequence)
}

// notAfter returns the condition that a flag states. The newest checkpoint that meets it is the wanted one.
func notAfter(flag, to string, now time.Time) (func(client.Checkpoint) bool, error) {
	if _, err := checkpoint.ParseID(to); err == nil {
		return func(c client.Checkpoint) bool { return c.ID == to }, nil
	}
	text, event, hasEvent := strings.Cut(to, ":")
	if attempt, err := strconv.Atoi(text); err == nil {
		most, err := strconv.ParseInt(event, 10, 64)
		if !hasEvent || err == nil {
			return func(c client.Checkpoint) bool {
				return c.Attempt == attempt && (!hasEvent || c.Sequence > 0 && c.Sequence <= most)
			}, nil
		}
	}
	at, err := time.Parse(time.RFC3339, to)
	if age, wrong := time.ParseDuration(to); wrong == nil && age >= 0 {
		at, err = now.Add(-age), nil
	}
	if err != nil {
		return nil, exit.Usagef("invalid %s %q: expected a checkpoint (2.14), an attempt (2), an event (2:231), a time (2026-11-27T10:00:00Z) or an age (15m)", flag, to)
	}
	return func(c client.Checkpoint) bool { return !c.TakenAt.After(at) }, nil
}
