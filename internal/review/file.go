package review

import (
	"context"
	"slices"
	"strings"

	"github.com/omoi-dev/omoi/internal/task"
)

// FileQuery asks for a piece of a file.
type FileQuery struct {
	Path          string
	Offset, Limit int // bytes
}

// File returns a piece of the text of a file. [task.KindPathNotFound] if the point has no such file.
func (s *Service) File(ctx context.Context, t task.Task, at Point, q FileQuery) (out File, err error) {
	err = s.use(ctx, t, []Point{at}, func(o *objects) error {
		tree, err := o.treeOf(ctx, at)
		if err == nil {
			out, err = o.file(ctx, tree, q)
		}
		return err
	})
	out.TaskID, out.At, out.Path = t.ID, at, q.Path
	return out, err
}

func (o *objects) file(ctx context.Context, tree string, q FileQuery) (out File, err error) {
	none := task.Errorf(task.CodeNotFound, "There is no file %q.", clip(q.Path)).WithKind(task.KindPathNotFound)
	if !plain(q.Path) {
		return out, none
	}
	line, err := o.git(ctx, "ls-tree", "-z", tree, "--", q.Path)
	entry, path, _ := strings.Cut(strings.TrimSuffix(line, "\x00"), "\t")
	parts := strings.Fields(entry)
	switch {
	case err != nil:
		return out, err
	case len(parts) != 3 || path != q.Path || parts[1] == "tree":
		return out, none
	}
	out.Mode, out.Object = parts[0], parts[2]
	if parts[1] == "commit" {
		out.Submodule = out.Object
		return out, nil
	}
	err = o.content(ctx, &out, q)
	return out, err
}

// plain reports whether a path can be in a tree.
func plain(path string) bool {
	return !strings.ContainsRune(path, 0) && !slices.ContainsFunc(strings.Split(path, "/"), func(name string) bool {
		return name == "" || name == "." || name == ".."
	})
}
