package review_test

import (
	"bytes"
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/omoi-dev/omoi/internal/checkpoint"
	"github.com/omoi-dev/omoi/internal/review"
	"github.com/omoi-dev/omoi/internal/scm"
	"github.com/omoi-dev/omoi/internal/scm/localgit"
	"github.com/omoi-dev/omoi/internal/scm/tempdir"
	"github.com/omoi-dev/omoi/internal/task"
)

// rig is a task whose repository has one commit, and whose first attempt leaves checkpoints.
type rig struct {
	t       *testing.T
	repo    string // also the workspace of the agent
	task    task.Task
	store   *store
	scratch *tempdir.Dir
	service *review.Service
}

func setup(t *testing.T, initArgs ...string) *rig {
	t.Helper()
	dir, err := filepath.EvalSymlinks(t.TempDir())
	require.NoError(t, err)
	r := &rig{t: t, repo: filepath.Join(dir, "repo"), store: &store{packs: map[string][]byte{}}, scratch: tempdir.Open(dir)}
	r.git(nil, append([]string{"init", "--quiet", "--initial-branch=main", r.repo}, initArgs...)...)
	r.write("a.txt", "one\ntwo\nthree\n")
	base := r.commit()
	r.task = task.Task{
		ID: task.NewID(), Repo: r.repo, Base: &base,
		Attempts: []task.Attempt{{Number: 1, StartedAt: time.Now()}},
	}
	r.store.branch = base
	r.service = review.New(r.store, scm.Hosts{Local: localgit.New(localgit.Config{Scratch: r.scratch})}, r.scratch)
	t.Cleanup(func() { require.NoError(t, r.scratch.Close()) })
	return r
}

// git runs git in the workspace.
func (r *rig) git(in []byte, args ...string) string {
	r.t.Helper()
	cmd := exec.CommandContext(r.t.Context(), "git", args...)
	if _, err := os.Stat(r.repo); err == nil {
		cmd.Dir = r.repo
	}
	var out, said bytes.Buffer
	cmd.Stdin, cmd.Stdout, cmd.Stderr = bytes.NewReader(in), &out, &said
	cmd.Env = append(os.Environ(), "GIT_CONFIG_GLOBAL=/dev/null", "GIT_CONFIG_NOSYSTEM=1",
		"GIT_AUTHOR_NAME=a", "GIT_AUTHOR_EMAIL=a@example.invalid", "GIT_COMMITTER_NAME=a", "GIT_COMMITTER_EMAIL=a@example.invalid")
	require.NoError(r.t, cmd.Run(), "git %v: %s", args, said.String())
	return strings.TrimRight(out.String(), "\n")
}

func (r *rig) write(path, content string) {
	r.t.Helper()
	full := filepath.Join(r.repo, path)
	require.NoError(r.t, os.MkdirAll(filepath.Dir(full), 0o750))
	require.NoError(r.t, os.WriteFile(full, []byte(content), 0o600))
}

func (r *rig) commit() string {
	r.t.Helper()
	r.git(nil, "add", "--all")
	r.git(nil, "commit", "--quiet", "--allow-empty", "-m", "Work")
	return r.git(nil, "rev-parse", "HEAD")
}

// checkpoint stores the files of the workspace as omoi-agent does.
func (r *rig) checkpoint() checkpoint.Checkpoint {
	r.t.Helper()
	r.git(nil, "add", "--all")
	return r.seal(r.git(nil, "write-tree"))
}

// seal stores a checkpoint with this tree.
func (r *rig) seal(tree string) checkpoint.Checkpoint {
	r.t.Helper()
	top := r.git([]byte("040000 tree "+tree+"\twork\x00"), "mktree", "-z")
	head := r.git(nil, "rev-parse", "HEAD")
	c := checkpoint.Checkpoint{Attempt: 1, Number: len(r.store.all) + 1, Sequence: int64(10 * (len(r.store.all) + 1))}
	c.ID = checkpoint.ID{Attempt: c.Attempt, Number: c.Number}.String()
	c.Base, c.Head, c.Commit = c.Number-1, head, r.git(nil, "commit-tree", top, "-m", "checkpoint", "-p", head)
	revs := c.Commit + "\n^" + r.store.branch + "\n"
	if c.Base > 0 {
		revs += "^" + r.store.all[c.Base-1].Commit + "\n"
	}
	r.store.packs[c.ID] = []byte(r.pack(revs))
	c.PackBytes = int64(len(r.store.packs[c.ID]))
	r.store.all = append(r.store.all, c)
	return c
}

func (r *rig) pack(revs string) string {
	r.t.Helper()
	cmd := exec.CommandContext(r.t.Context(), "git", "pack-objects", "--revs", "--thin", "--shallow", "--stdout", "--quiet")
	cmd.Dir, cmd.Stdin = r.repo, strings.NewReader(revs)
	out, err := cmd.Output()
	require.NoError(r.t, err)
	return string(out)
}

func (r *rig) point(name string) review.Point {
	r.t.Helper()
	p, err := r.service.Point(r.t.Context(), r.task, name)
	require.NoError(r.t, err)
	return p
}

func (r *rig) changes(from, to string) review.Changes {
	r.t.Helper()
	found, err := r.service.Changes(r.t.Context(), r.task, r.point(from), r.point(to))
	require.NoError(r.t, err)
	return found
}

func (r *rig) diff(path string, q review.DiffQuery) review.FileDiff {
	r.t.Helper()
	q.Path = path
	found, err := r.service.Diff(r.t.Context(), r.task, r.point("base"), r.point("latest"), q)
	require.NoError(r.t, err)
	return found
}

// refused asks for the changes since the base, and returns the kind of the error.
func (r *rig) refused() (task.Kind, string) {
	r.t.Helper()
	_, err := r.service.Changes(r.t.Context(), r.task, r.point("base"), r.point("latest"))
	require.Error(r.t, err)
	return task.KindOf(err), task.MessageOf(err)
}

// store has the checkpoints of one attempt.
type store struct {
	all    []checkpoint.Checkpoint
	packs  map[string][]byte
	branch string
	reads  atomic.Int64
	down   atomic.Bool
}

func (s *store) TaskCheckpoint(_ context.Context, _ string, id checkpoint.ID) (checkpoint.Checkpoint, error) {
	for _, c := range s.all {
		if c.ID == id.String() {
			return c, nil
		}
	}
	return checkpoint.Checkpoint{}, task.Errorf(task.CodeNotFound, "There is no checkpoint %s.", id)
}

func (s *store) NewestCheckpoint(_ context.Context, _ string, attempt int) (checkpoint.Checkpoint, error) {
	for n := len(s.all); n > 0; n-- {
		if s.all[n-1].Attempt == attempt {
			return s.all[n-1], nil
		}
	}
	return checkpoint.Checkpoint{}, task.Errorf(task.CodeNotFound, "There is none.")
}

func (s *store) CheckpointChain(_ context.Context, _ string, c checkpoint.Checkpoint) ([]checkpoint.Checkpoint, error) {
	return checkpoint.ChainTo(c, s.all), nil
}

func (s *store) CheckpointCommits(context.Context, string, checkpoint.ID) (checkpoint.Commits, error) {
	return checkpoint.Commits{Branch: s.branch}, nil
}

func (s *store) PackChunk(_ context.Context, _ string, id checkpoint.ID, offset int64) ([]byte, error) {
	s.reads.Add(1)
	if s.down.Load() {
		return nil, task.Errorf(task.CodeUnavailable, "The database does not answer.")
	}
	pack := s.packs[id.String()]
	if offset >= int64(len(pack)) {
		return nil, task.Errorf(task.CodeNotFound, "The pack of checkpoint %s is missing.", id)
	}
	return pack[offset:min(offset+checkpoint.MaxChunk, int64(len(pack)))], nil
}

func numbered(lines int) string {
	var b strings.Builder
	for n := range lines {
		fmt.Fprintf(&b, "line %d\n", n+1)
	}
	return b.String()
}
