package review

import (
	"context"
	"slices"
	"strings"
	"unicode/utf8"

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

// content reads a piece of the content of a file.
func (o *objects) content(ctx context.Context, out *File, q FileQuery) error {
	all := &limited{left: maxFile}
	err := o.pipe(ctx, nil, all, "cat-file", "blob", out.Object)
	if all.over() {
		return tooLarge("File %q has more than %d bytes.", clip(q.Path), maxFile)
	}
	content := all.out.Bytes()
	out.TotalBytes, out.Binary = len(content), binary(content)
	if err != nil || out.Binary {
		return err
	}
	begin := min(q.Offset, len(content))
	for begin < len(content) && !utf8.RuneStart(content[begin]) {
		begin++
	}
	piece := content[begin:min(begin+q.Limit, len(content))]
	if begin+len(piece) < len(content) {
		piece = wholeRunes(piece)
		out.NextOffset = new(begin + len(piece))
	}
	out.OffsetBytes, out.InvalidUTF8, out.Text = begin, !utf8.Valid(piece), text(string(piece))
	return nil
}

// binary reports whether git takes content for binary.
func binary(content []byte) bool {
	const looked = 8000 // bytes
	return slices.Contains(content[:min(len(content), looked)], 0)
}
