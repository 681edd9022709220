package localgit

import (
	"context"
	"fmt"
	"os"
	"path/filepath"

	"github.com/omoi-dev/omoi/internal/task"
)

// throwAway is a repository of our own that is removed when it was used.
type throwAway struct {
	*repository

	folder string
}

// throwAway makes an empty one that belongs to the owner of r and has its kind of ids.
func (h *Host) throwAway(ctx context.Context, r *repository) (*throwAway, error) {
	folder, err := h.cfg.Scratch.Make("omoi-git-")
	if err != nil {
		return nil, task.Errorf(task.CodeUnavailable, "No temporary folder can be made for a copy of %s.", r.path).WithCause(err)
	}
	dir := filepath.Join(folder, "q.git")
	q := &throwAway{folder: folder, repository: &repository{git: r.git, path: folder, dir: dir, objects: filepath.Join(dir, "objects"), owner: r.owner}}
	if err := q.begin(ctx, r); err != nil {
		q.remove()
		return nil, fmt.Errorf("make a copy of %s: %w", r.path, err)
	}
	return q, nil
}

func (q *throwAway) begin(ctx context.Context, r *repository) error {
	if err := q.give(q.folder); err != nil {
		return err
	}
	format, err := r.run(ctx, "rev-parse", "--show-object-format")
	if err != nil {
		return err
	}
	_, err = q.run(ctx, "init", "--quiet", "--bare", "--template=", "--object-format="+format)
	return err
}

func (q *throwAway) remove() { _ = os.RemoveAll(q.folder) }
