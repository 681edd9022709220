package review

import (
	"context"
	"encoding/hex"
	"errors"
	"io"
	"slices"

	"github.com/omoi-dev/omoi/internal/checkpoint"
	"github.com/omoi-dev/omoi/internal/scm"
	"github.com/omoi-dev/omoi/internal/task"
)

// Limits of what is unpacked, in bytes.
const (
	maxFetch = 2 << 30 // commits of the repository
	maxChain = checkpoint.MaxPack
)

// work gets objects for one request.
type work struct {
	*Service
	*objects

	task task.Task
}

// missing are the objects of points that the repository lacks.
type missing struct {
	commits []string
	packs   []checkpoint.Checkpoint
}

// bring gets the objects of points: commits from the host of the repository, packs of checkpoints from the store.
func (w work) bring(ctx context.Context, points []Point) error {
	var need missing
	for _, p := range points {
		if p.Commit == "" || w.has(ctx, p.Commit) {
			continue
		}
		if err := w.plan(ctx, p, &need); err != nil {
			return err
		}
	}
	if err := w.fetch(ctx, need.commits); err != nil {
		return err
	}
	for _, c := range need.packs {
		if err := w.unpack(ctx, c); err != nil {
			return err
		}
	}
	return nil
}

// plan adds what a point needs.
func (w work) plan(ctx context.Context, p Point, need *missing) error {
	if p.Checkpoint == "" {
		need.commits = append(need.commits, p.Commit)
		return nil
	}
	id, err := checkpoint.ParseID(p.Checkpoint)
	if err != nil {
		return err
	}
	chain, err := w.chain(ctx, id)
	if err != nil {
		return err
	}
	need.packs = append(need.packs, chain...)
	commits, err := w.store.CheckpointCommits(ctx, w.task.ID, id)
	if err == nil && commits.Branch != "" && w.task.Repo != "" && !w.has(ctx, commits.Branch) {
		need.commits = append(need.commits, commits.Branch)
	}
	return err
}

// chain returns the checkpoints that one needs, with itself, if their packs are not too large.
func (w work) chain(ctx context.Context, id checkpoint.ID) ([]checkpoint.Checkpoint, error) {
	c, err := w.store.TaskCheckpoint(ctx, w.task.ID, id)
	if err != nil {
		return nil, err
	}
	chain, err := w.store.CheckpointChain(ctx, w.task.ID, c)
	sum := int64(0)
	for _, one := range chain {
		sum += one.PackBytes
	}
	if sum > maxChain {
		return nil, tooLarge("The packs of checkpoint %s have %d bytes, the limit is %d.", id, sum, maxChain)
	}
	return chain, err
}

// fetch gets commits from the host of the repository, with the credential of the task.
func (w work) fetch(ctx context.Context, commits []string) error {
	slices.Sort(commits)
	if commits = slices.Compact(commits); len(commits) == 0 {
		return nil
	}
	host, err := w.hosts.For(w.task.Repo, scm.Owner{UserID: w.task.UserID, ProjectID: w.task.ProjectID})
	if err != nil {
		return err
	}
	pack, in := io.Pipe()
	sent := make(chan error, 1)
	go func() {
		err := host.Pack(ctx, scm.Repo(w.task.Repo), commits, w.fetches, in)
		in.CloseWithError(err)
		sent <- err
	}()
	from := &limited{in: pack, left: w.fetches}
	err = w.pipe(ctx, from, nil, "index-pack", "--stdin", "--threads=1")
	over, ended := from.over(), from.ended
	_ = pack.Close() // the next write of the host fails, which is not its fault
	switch failed := <-sent; {
	case over, errors.Is(failed, scm.ErrTooLarge):
		return tooLarge("The repository has more than %d bytes.", w.fetches)
	case ended && failed != nil:
		return w.unfetched(failed)
	}
	return err
}

// unfetched returns the error of a host. Readers of a task do not name the repository in their request.
func (w work) unfetched(err error) error {
	var refused *task.Error
	switch code := task.CodeOf(err); {
	case errors.Is(err, scm.ErrNoCommit):
		refused = task.Errorf(task.CodeConflict, "Repository %s no longer has a commit of the task. Next: compare with a checkpoint, or retry the task", w.task.Repo)
	case code == task.CodeInvalid, code == task.CodeForbidden, code == task.CodeNotFound, code == task.CodeConflict:
		refused = task.Errorf(task.CodeConflict, "Cannot read the commits of the task. %s", task.MessageOf(err))
	default:
		return err
	}
	return refused.WithKind(task.KindCommitMissing).WithCause(err)
}

// unpack reads the pack of a checkpoint. Git checks each object. If the pack needs newer commits than those with which the attempt
// began, the commit that was checked out has them.
func (w work) unpack(ctx context.Context, c checkpoint.Checkpoint) error {
	if w.has(ctx, c.Commit) {
		return nil
	}
	err := w.index(ctx, c)
	if task.KindOf(err) == task.KindDamaged && c.Head != "" && w.task.Repo != "" && !w.has(ctx, c.Head) && w.fetch(ctx, []string{c.Head}) == nil {
		err = w.index(ctx, c)
	}
	return err
}

// index reads the pack of a checkpoint into the repository, after a check of the sizes in it.
func (w work) index(ctx context.Context, c checkpoint.Checkpoint) error {
	if c.PackBytes > 0 {
		err := w.readPack(ctx, c, func(pack io.Reader) error { return checkpoint.CheckPack(pack, hex.DecodedLen(len(c.Commit))) })
		if err == nil {
			err = w.readPack(ctx, c, func(pack io.Reader) error {
				return w.pipe(ctx, pack, nil, "index-pack", "--stdin", "--fix-thin", "--strict", "--threads=1")
			})
		}
		if err != nil {
			return err
		}
	}
	if !w.has(ctx, c.Commit) {
		return damaged("checkpoint "+c.ID, nil)
	}
	return nil
}

// readPack passes a stored pack to use, and tells faults of the store and of this host from those of the pack.
func (w work) readPack(ctx context.Context, c checkpoint.Checkpoint, use func(io.Reader) error) error {
	pack := &packReader{work: w, ctx: ctx, id: checkpoint.ID{Attempt: c.Attempt, Number: c.Number}, size: c.PackBytes}
	err := use(pack)
	switch {
	case pack.err != nil && task.CodeOf(pack.err) != task.CodeNotFound:
		return pack.err
	case err == nil:
		return nil
	case errors.Is(err, checkpoint.ErrInflates):
		return tooLarge("The objects of checkpoint %s are too large.", c.ID).WithCause(err)
	case pack.err == nil && (task.CodeOf(err) == task.CodeUnavailable || ctx.Err() != nil):
		return err
	}
	return damaged("checkpoint "+c.ID, errors.Join(pack.err, err))
}

// packReader reads the stored pack of a checkpoint.
type packReader struct {
	work

	ctx   context.Context //nolint:containedctx // of one request
	id    checkpoint.ID
	size  int64
	at    int64
	chunk []byte
	err   error // of the store
}

// Read implements [io.Reader].
func (r *packReader) Read(p []byte) (int, error) {
	if len(r.chunk) == 0 && r.at >= r.size {
		return 0, io.EOF
	}
	if len(r.chunk) == 0 {
		if r.chunk, r.err = r.store.PackChunk(r.ctx, r.task.ID, r.id, r.at); r.err != nil {
			return 0, r.err
		}
		r.at += int64(len(r.chunk))
	}
	n := copy(p, r.chunk)
	r.chunk = r.chunk[n:]
	return n, nil
}

func damaged(what string, cause error) error {
	return task.Errorf(task.CodeConflict, "The files of %s cannot be read: a pack is missing, damaged, or was refused by Git. Next: choose another checkpoint", what).
		WithKind(task.KindDamaged).WithCause(cause)
}

func tooLarge(format string, args ...any) *task.Error {
	return task.Errorf(task.CodeConflict, format+" Next: fetch the branch, and run git diff", args...).WithKind(task.KindFilesTooLarge)
}
