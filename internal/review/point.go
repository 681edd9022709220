package review

import (
	"context"
	"slices"
	"strconv"

	"github.com/omoi-dev/omoi/internal/checkpoint"
	"github.com/omoi-dev/omoi/internal/task"
)

// Names of points that are neither an attempt nor a checkpoint.
const (
	Base   = "base"   // commit from which the branch starts
	Latest = "latest" // newest files that are known
)

// Store reads tasks' checkpoints.
type Store interface {
	// TaskCheckpoint returns a checkpoint. [task.CodeNotFound] if it does not exist, [task.CodeGone] after retention removed it.
	TaskCheckpoint(ctx context.Context, taskID string, id checkpoint.ID) (checkpoint.Checkpoint, error)
	// NewestCheckpoint returns the newest checkpoint of an attempt. [task.CodeNotFound] if the attempt has none.
	NewestCheckpoint(ctx context.Context, taskID string, attempt int) (checkpoint.Checkpoint, error)
	// CheckpointChain returns the checkpoints that a checkpoint needs, in order, and that checkpoint. [task.CodeGone] if one is missing.
	CheckpointChain(ctx context.Context, taskID string, c checkpoint.Checkpoint) ([]checkpoint.Checkpoint, error)
	// CheckpointCommits returns the commits that a checkpoint needs.
	CheckpointCommits(ctx context.Context, taskID string, id checkpoint.ID) (checkpoint.Commits, error)
	// PackChunk returns the bytes of a pack from the end of another chunk on, or from 0.
	PackChunk(ctx context.Context, taskID string, id checkpoint.ID, offset int64) ([]byte, error)
}

// Point returns the point of a task with a name: base, latest, an attempt, or a checkpoint. Errors: [task.CodeInvalid];
// [task.KindNoFiles] if the task has no such files; [task.CodeGone] after retention removed the checkpoint.
func (s *Service) Point(ctx context.Context, t task.Task, name string) (Point, error) {
	attempt, err := strconv.Atoi(name)
	switch {
	case name == Base:
		return base(t)
	case name == Latest:
		return s.latest(ctx, t)
	case err == nil && strconv.Itoa(attempt) == name:
		return s.result(ctx, t, attempt)
	}
	id, err := checkpoint.ParseID(name)
	if err != nil {
		return Point{}, task.Errorf(task.CodeInvalid, "Invalid point %q: expected base, latest, an attempt such as 2, or a checkpoint such as 2.14.", name)
	}
	c, err := s.store.TaskCheckpoint(ctx, t.ID, id)
	return pointOf(c), noFiles(err, "Task %s has no checkpoint %s. Next: omoi checkpoints %[1]s", t.ID, id)
}

func base(t task.Task) (Point, error) {
	switch {
	case t.Repo == "":
		return Point{Name: Base, Final: true}, nil
	case t.Base == nil:
		return Point{}, without("Task %s has no branch yet.", t.ID)
	}
	return Point{Name: Base, Commit: *t.Base, Final: true}, nil
}

// latest returns the newest files of the newest attempt that has some, else the base.
func (s *Service) latest(ctx context.Context, t task.Task) (Point, error) {
	for _, a := range slices.Backward(t.Attempts) {
		p, err := s.result(ctx, t, a.Number)
		if err == nil && p.Checkpoint == "" {
			p, err = s.newer(ctx, t, a, p)
		}
		if task.KindOf(err) != task.KindNoFiles {
			return p, err
		}
	}
	if t.ForkedFrom != nil {
		if p, err := s.newest(ctx, t, 0); task.KindOf(err) != task.KindNoFiles {
			return p, err
		}
	}
	return base(t)
}

// result returns the commit of an attempt that has ended, else its newest checkpoint.
func (s *Service) result(ctx context.Context, t task.Task, number int) (Point, error) {
	n := slices.IndexFunc(t.Attempts, func(a task.Attempt) bool { return a.Number == number })
	if n < 0 {
		return Point{}, without("Task %s has no attempt %d.", t.ID, number)
	}
	a := t.Attempts[n]
	if a.EndedAt != nil && a.HeadCommit != nil {
		return Point{Name: strconv.Itoa(number), Commit: *a.HeadCommit, Attempt: number, Final: true}, nil
	}
	return s.newest(ctx, t, number)
}

// newer returns the newest checkpoint of an attempt that has ended if its files are newer than the commit of the attempt, else the commit.
func (s *Service) newer(ctx context.Context, t task.Task, a task.Attempt, commit Point) (Point, error) {
	c, err := s.store.NewestCheckpoint(ctx, t.ID, a.Number)
	switch code := task.CodeOf(err); {
	case code == task.CodeNotFound, code == task.CodeGone:
		return commit, nil
	case err == nil && !isNewer(c, a):
		return commit, nil
	}
	return pointOf(c), err
}

// isNewer reports whether a checkpoint was stored after the end of its attempt, or has changes on the commit of the attempt. Such changes
// of an attempt that succeeded are not its work, for example those of the setup command: omoi commits what its agent left.
func isNewer(c checkpoint.Checkpoint, a task.Attempt) bool {
	succeeded := a.Outcome == "completed" || a.Outcome == "revised"
	return c.StoredAt.After(*a.EndedAt) || !succeeded && c.Head == *a.HeadCommit && c.Files > 0
}

func (s *Service) newest(ctx context.Context, t task.Task, attempt int) (Point, error) {
	c, err := s.store.NewestCheckpoint(ctx, t.ID, attempt)
	return pointOf(c), noFiles(err, "Attempt %[2]d of task %[1]s has neither a commit nor a checkpoint.", t.ID, attempt)
}

func pointOf(c checkpoint.Checkpoint) Point {
	return Point{Name: c.ID, Commit: c.Commit, Checkpoint: c.ID, Attempt: c.Attempt, Sequence: c.Sequence, Final: true}
}

func without(format string, args ...any) error {
	return task.Errorf(task.CodeNotFound, format, args...).WithKind(task.KindNoFiles)
}

// noFiles returns err with its own kind if it says that something is missing.
func noFiles(err error, format string, args ...any) error {
	if task.CodeOf(err) != task.CodeNotFound {
		return err
	}
	return without(format, args...)
}
