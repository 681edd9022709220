package review

import (
	"bufio"
	"context"
	"io"
	"slices"
	"strconv"

	"github.com/omoi-dev/omoi/internal/task"
)

// DiffQuery asks for a page of the difference of one file.
type DiffQuery struct {
	Path        string
	Context     int  // lines around each change
	IgnoreSpace bool // as git diff -w
	Offset      int  // lines to skip
}

// Diff returns a page of the difference of one file. [task.KindPathNotFound] if the file does not differ.
func (s *Service) Diff(ctx context.Context, t task.Task, from, to Point, q DiffQuery) (out FileDiff, err error) {
	err = s.use(ctx, t, []Point{from, to}, func(o *objects) error {
		list, err := o.changes(ctx, from, to)
		if err != nil {
			return err
		}
		n := slices.IndexFunc(list.Files, func(c FileChange) bool { return c.Path == q.Path })
		if n < 0 {
			return task.Errorf(task.CodeNotFound, "File %q does not differ between %s and %s.", clip(q.Path), from.Name, to.Name).WithKind(task.KindPathNotFound)
		}
		out, err = o.fileDiff(ctx, list.Files[n], q)
		return err
	})
	out.Compared = Compared{TaskID: t.ID, From: from, To: to}
	return out, err
}

// fileDiff compares the contents of a file by their IDs, so that no name reaches git.
func (o *objects) fileDiff(ctx context.Context, c FileChange, q DiffQuery) (FileDiff, error) {
	out := FileDiff{File: c, Hunks: []Hunk{}, Offset: q.Offset}
	if max(task.Deref(c.OldBytes), task.Deref(c.NewBytes)) > maxLines {
		return out, tooLarge("File %q has more than %d bytes.", clip(c.Path), maxLines)
	}
	if c.Binary || c.Submodule || c.OldObject == c.NewObject {
		return out, nil
	}
	args := []string{"diff", "--no-color", "--no-ext-diff", "--no-textconv", "--unified=" + strconv.Itoa(q.Context)}
	if q.IgnoreSpace {
		args = append(args, "--ignore-all-space")
	}
	before, err := o.orEmpty(ctx, c.OldObject)
	if err != nil {
		return out, err
	}
	after, err := o.orEmpty(ctx, c.NewObject)
	if err != nil {
		return out, err
	}
	p := &page{out: &out, skip: q.Offset}
	err = o.stream(ctx, p.read, append(args, before, after)...)
	p.finish()
	return out, err
}

// stream runs git and passes its output to read, which may stop before the end.
func (o *objects) stream(ctx context.Context, read func(*bufio.Reader) error, args ...string) error {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	lines, printed := io.Pipe()
	ended := make(chan struct{})
	go func() {
		defer close(ended)
		printed.CloseWithError(o.pipe(ctx, nil, printed, args...))
	}()
	err := read(bufio.NewReaderSize(lines, maxLine))
	_ = lines.Close() // the next write of git fails
	cancel()
	<-ended
	return err
}

// orEmpty returns the ID of an empty file for a file that does not exist.
func (o *objects) orEmpty(ctx context.Context, object string) (string, error) {
	if object != "" {
		return object, nil
	}
	return o.git(ctx, "hash-object", "-w", "/dev/null")
}

// clip shortens a text of a request for an error.
func clip(s string) string {
	const most = 200
	if len(s) > most {
		return text(s[:most]) + "..."
	}
	return text(s)
}
