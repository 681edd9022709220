package activities

import (
	"context"
	"fmt"
	"log/slog"
	"time"

	"github.com/omoi-dev/omoi/internal/contract"
	"github.com/omoi-dev/omoi/internal/retention"
	"github.com/omoi-dev/omoi/internal/scm"
	"github.com/omoi-dev/omoi/internal/task"
)

const (
	retentionCalls = 20 // maximum number of removals by one activity
	retentionTasks = 50 // maximum number of tasks whose repositories one activity changes
)

// Retention removes expired data from the store.
type Retention interface {
	// Clock returns the database's time.
	Clock(ctx context.Context) (time.Time, error)
	Retain(ctx context.Context, kind string, now, before time.Time) (retention.Step, error)
	// ExpiredGit lists ended tasks after an ID that may have branches or refs to remove.
	ExpiredGit(ctx context.Context, kind string, before time.Time, after string, most int) ([]retention.ExpiredGit, error)
	// NoteRemoval records that a kind of a task's data was removed.
	NoteRemoval(ctx context.Context, kind, taskID string, now time.Time) error
}

// BeginRetention returns the kinds of data that a pass removes, and the age limit of each.
func (a *Activities) BeginRetention(ctx context.Context) (contract.RetentionBegun, error) {
	now, err := a.deps.Retention.Clock(ctx)
	if err != nil {
		return contract.RetentionBegun{}, fmt.Errorf("start retention pass: %w", err)
	}
	now = now.Add(a.cfg.Retention.Ahead)
	out := contract.RetentionBegun{Kinds: []contract.RetentionStep{}}
	for _, kind := range retention.Kinds() {
		if keep := a.cfg.Retention.Keep[kind]; keep > 0 {
			out.Kinds = append(out.Kinds, contract.RetentionStep{Kind: kind, Now: now, Before: now.Add(-keep)})
		} else if kind == retention.Checkpoints { // nothing ended before the zero time, but packs are tidied
			out.Kinds = append(out.Kinds, contract.RetentionStep{Kind: kind, Now: now})
		}
	}
	return out, nil
}

// RemoveExpired removes a limited amount of one kind of data. Its heartbeat holds the counts, so that a retry continues
// them.
func (a *Activities) RemoveExpired(ctx context.Context, in contract.RetentionStep) (contract.RetentionDone, error) {
	at, stop := beating[contract.RetentionDone](ctx)
	defer stop()
	if in.Kind == retention.Branches || in.Kind == retention.Refs {
		return a.forgetGit(ctx, in, at)
	}
	for range retentionCalls {
		step, err := a.deps.Retention.Retain(ctx, in.Kind, in.Now, in.Before)
		if err != nil {
			return contract.RetentionDone{}, fmt.Errorf("remove expired %s: %w", in.Kind, err)
		}
		done := at.get()
		done.Subjects += step.Subjects
		done.Rows += step.Rows
		done.Partitions += step.Partitions
		done.More = step.More
		at.set(done)
		if !step.More {
			break
		}
	}
	return at.get(), nil
}

// forgetGit removes branches or refs of some tasks. It lists each task right before its removal, so that a task retried
// in between keeps its own. The next pass repeats failures, and what is left after a rate limit.
func (a *Activities) forgetGit(ctx context.Context, in contract.RetentionStep, at *progress[contract.RetentionDone]) (contract.RetentionDone, error) {
	done := at.get()
	for range retentionTasks {
		found, err := a.deps.Retention.ExpiredGit(ctx, in.Kind, in.Before, max(in.After, done.After), 1)
		if err != nil {
			return done, fmt.Errorf("list expired %s: %w", in.Kind, err)
		}
		if done.More = len(found) > 0; !done.More {
			break
		}
		err = a.forget(ctx, in, found[0])
		if err != nil && ctx.Err() != nil {
			return done, err
		}
		a.count(ctx, in.Kind, found[0].TaskID, err, &done)
		at.set(done)
		if !done.More {
			break
		}
	}
	return done, nil
}

// count adds the result of one task. A rate limit ends the pass.
func (a *Activities) count(ctx context.Context, kind, taskID string, err error, done *contract.RetentionDone) {
	done.After = taskID
	if err == nil {
		done.Subjects++
		return
	}
	done.Failed++
	done.More = task.CodeOf(err) != task.CodeExhausted
	a.log.WarnContext(ctx, "remove expired refs failed", slog.String("task_id", taskID), slog.String("kind", kind), slog.String("error", a.brief(err.Error())))
}

func (a *Activities) forget(ctx context.Context, in contract.RetentionStep, one retention.ExpiredGit) error {
	host, err := a.deps.Git.For(one.Repo, scm.Owner{UserID: one.UserID, ProjectID: one.ProjectID})
	if err != nil {
		return err
	}
	remove := host.RemoveRefs
	if in.Kind == retention.Branches {
		remove = host.RemoveEmptyBranch
	}
	for n := range one.Earlier + 1 {
		if err := remove(ctx, scm.Repo(one.Repo), task.BranchOwner(one.TaskID, n)); err != nil {
			return err
		}
	}
	return a.deps.Retention.NoteRemoval(ctx, in.Kind, one.TaskID, in.Now)
}
