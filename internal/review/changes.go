package review

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"strconv"
	"strings"

	"github.com/omoi-dev/omoi/internal/scm/gitproc"
	"github.com/omoi-dev/omoi/internal/task"
)

const (
	maxFiles = 3000     // in a list
	maxList  = 32 << 20 // bytes of all names
	maxTree  = 64 << 20 // bytes of the entries of all files of a tree, some 60 and the path each
	maxLists = 8        // that a copy remembers
	linkMode = "160000" // of a submodule
	noMode   = "000000" // of a file that does not exist
)

// errList reports that git printed another form than its documentation says.
var errList = errors.New("git printed an unexpected list of files")

// Changes lists the files that differ between two points.
func (s *Service) Changes(ctx context.Context, t task.Task, from, to Point) (out Changes, err error) {
	err = s.use(ctx, t, []Point{from, to}, func(o *objects) error {
		out, err = o.changes(ctx, from, to)
		return err
	})
	out.Compared = Compared{TaskID: t.ID, From: from, To: to}
	return out, err
}

// changes lists the files that differ. The list of two trees is remembered.
func (o *objects) changes(ctx context.Context, from, to Point) (out Changes, err error) {
	var at trees
	if at.from, err = o.treeOf(ctx, from); err != nil {
		return out, err
	}
	if at.to, err = o.treeOf(ctx, to); err != nil {
		return out, err
	}
	if known, found := o.lists[at]; found {
		return known, nil
	}
	if out, err = o.list(ctx, at); err == nil {
		if len(o.lists) >= maxLists {
			clear(o.lists)
		}
		o.lists[at] = out
	}
	return out, err
}

func (o *objects) list(ctx context.Context, at trees) (out Changes, err error) {
	for _, tree := range []string{at.from, at.to} {
		if err := o.bounded(ctx, tree); err != nil {
			return out, err
		}
	}
	fields, err := o.diffTree(ctx, at, "--raw")
	if err != nil {
		return out, err
	}
	all, err := parseRaw(fields)
	if err != nil {
		return out, err
	}
	out.TotalFiles, out.Truncated, out.Files = len(all), len(all) > maxFiles, all[:min(len(all), maxFiles)]
	if !out.Truncated {
		if fields, err = o.diffTree(ctx, at, "--numstat"); err != nil {
			return out, err
		}
		count(&out, fields)
	}
	return out, o.weigh(ctx, out.Files)
}

// bounded checks that a tree is not too large: a few objects can be a tree of endless files, and git diff-tree holds all of them in memory.
func (o *objects) bounded(ctx context.Context, tree string) error {
	entries := &counted{left: maxTree}
	err := o.pipe(ctx, nil, entries, "ls-tree", "-r", "-z", tree)
	if entries.left < 0 {
		return tooLarge("The names of all files have more than %d bytes.", maxTree)
	}
	if gitproc.ExitCode(err) > 0 {
		return damaged("this comparison", err)
	}
	return err
}

// counted is a writer that keeps nothing, and fails behind a number of bytes.
type counted struct{ left int64 }

// Write implements [io.Writer].
func (c *counted) Write(p []byte) (int, error) {
	if c.left -= int64(len(p)); c.left < 0 {
		return 0, errTooLarge
	}
	return len(p), nil
}

// diffTree returns the fields that git prints of the files that differ.
func (o *objects) diffTree(ctx context.Context, at trees, form string) ([]string, error) {
	printed := &limited{left: maxList}
	err := o.pipe(ctx, nil, printed, "diff-tree", "-r", "-M", "-z", form, "--no-ext-diff", "--no-textconv", at.from, at.to)
	if printed.over() {
		return nil, tooLarge("The names of the files that differ have more than %d bytes.", maxList)
	}
	if gitproc.ExitCode(err) > 0 {
		return nil, damaged("this comparison", err)
	}
	return strings.Split(strings.TrimSuffix(printed.out.String(), "\x00"), "\x00"), err
}

// parseRaw parses ":<mode> <mode> <object> <object> <status>", path, and of a rename the new path.
func parseRaw(fields []string) ([]FileChange, error) {
	all := []FileChange{}
	for len(fields) > 0 && fields[0] != "" {
		parts := strings.Fields(strings.TrimPrefix(fields[0], ":"))
		if len(parts) != 5 || len(fields) < 2 {
			return nil, fmt.Errorf("%w: %q", errList, fields[0])
		}
		c := FileChange{
			Path: text(fields[1]), Status: statusOf(parts[4]), OldMode: parts[0], NewMode: parts[1], OldObject: parts[2], NewObject: parts[3],
			Submodule: parts[0] == linkMode || parts[1] == linkMode,
		}
		fields = fields[2:]
		if c.Status == "renamed" && len(fields) > 0 {
			c.OldPath, c.Path = new(c.Path), text(fields[0])
			fields = fields[1:]
		}
		c.absent()
		all = append(all, c)
	}
	return all, nil
}

func statusOf(letter string) string {
	switch letter[0] {
	case 'A':
		return "added"
	case 'D':
		return "deleted"
	case 'R':
		return "renamed"
	case 'T':
		return "type_changed"
	}
	return "modified"
}

// absent empties mode and object of the side on which the file does not exist.
func (c *FileChange) absent() {
	if c.OldMode == noMode {
		c.OldMode, c.OldObject = "", ""
	}
	if c.NewMode == noMode {
		c.NewMode, c.NewObject = "", ""
	}
}

// count adds the numbers of lines: "<added> TAB <deleted> TAB <path>" for each file. A rename has an empty path, and two more fields.
func count(out *Changes, fields []string) {
	added, deleted, n := 0, 0, 0
	for i := 0; i < len(fields) && n < len(out.Files); i++ {
		parts := strings.SplitN(fields[i], "\t", 3)
		if len(parts) != 3 {
			continue
		}
		if parts[2] == "" {
			i += 2
		}
		c := &out.Files[n]
		n++
		if c.Binary = parts[0] == "-"; c.Binary || c.Submodule {
			continue
		}
		c.Additions, c.Deletions = number(parts[0]), number(parts[1])
		added, deleted = added+*c.Additions, deleted+*c.Deletions
	}
	out.Additions, out.Deletions = &added, &deleted
}

func number(digits string) *int {
	n, _ := strconv.Atoi(digits) // of git
	return &n
}

// weigh adds the sizes of files.
func (o *objects) weigh(ctx context.Context, files []FileChange) error {
	var ids, sizes bytes.Buffer
	var sides []**int64
	for n := range files {
		c := &files[n]
		for _, side := range []struct {
			mode, object string
			size         **int64
		}{{c.OldMode, c.OldObject, &c.OldBytes}, {c.NewMode, c.NewObject, &c.NewBytes}} {
			if side.object != "" && side.mode != linkMode {
				ids.WriteString(side.object + "\n")
				sides = append(sides, side.size)
			}
		}
	}
	if err := o.pipe(ctx, &ids, &sizes, "cat-file", "--batch-check=%(objectsize)"); err != nil {
		return err
	}
	for n, line := range strings.Split(strings.TrimSpace(sizes.String()), "\n") {
		if size, err := strconv.ParseInt(line, 10, 64); err == nil && n < len(sides) { // a missing object has no size
			*sides[n] = &size
		}
	}
	return nil
}

// text returns bytes of a file as a text of JSON.
func text(s string) string { return strings.ToValidUTF8(s, "\ufffd") }
