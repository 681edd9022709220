package activities

import (
	"bytes"
	"strconv"
	"strings"
)

// changedFile is a file in a diff.
type changedFile struct {
	Path    string
	OldPath string // name before a rename
	Added   int
	Removed int
	Link    bool // a submodule, which is a commit of another repository without files in this one
}

// Limits of what is counted. The rest of a diff is ignored.
const (
	maxStatLine  = 4 << 10
	maxStatFiles = 10_000
)

// diffStat counts the changed lines of the unified diff that is written to it, without storing the diff.
type diffStat struct {
	files  []changedFile
	line   []byte // incomplete current line, truncated
	inHunk bool
}

// Write implements [io.Writer].
func (d *diffStat) Write(p []byte) (int, error) {
	for rest := p; len(rest) > 0; {
		line, after, whole := bytes.Cut(rest, []byte("\n"))
		d.line = append(d.line, line[:min(len(line), maxStatLine-min(len(d.line), maxStatLine))]...)
		if whole {
			d.count(string(d.line))
			d.line = d.line[:0]
		}
		rest = after
	}
	return len(p), nil
}

func (d *diffStat) count(line string) {
	switch {
	case strings.HasPrefix(line, "diff --git "):
		d.inHunk = false
		d.add(line)
	case strings.HasPrefix(line, "@@ "):
		d.inHunk = true
	case len(d.files) == 0:
	case !d.inHunk:
		d.rename(line)
		d.link(line)
	case d.inHunk && strings.HasPrefix(line, "+"):
		d.files[len(d.files)-1].Added++
	case d.inHunk && strings.HasPrefix(line, "-"):
		d.files[len(d.files)-1].Removed++
	}
}

// add starts a file with the name in a "diff --git" line. Only renames need their further lines for it.
func (d *diffStat) add(line string) {
	if len(d.files) >= maxStatFiles {
		return
	}
	_, path, _ := strings.Cut(line, " b/")
	if names := strings.TrimPrefix(line, "diff --git "); len(names)%2 == 1 {
		path = names[len(names)/2+1:]
	}
	d.files = append(d.files, changedFile{Path: strings.TrimPrefix(plainPath(path), "b/")})
}

// rename reads the names of a renamed file from the lines before its first change.
func (d *diffStat) rename(line string) {
	file := &d.files[len(d.files)-1]
	if path, ok := strings.CutPrefix(line, "+++ "); ok && path != "/dev/null" {
		file.Path = strings.TrimPrefix(plainPath(path), "b/")
	}
	if path, ok := strings.CutPrefix(line, "rename from "); ok {
		file.OldPath = plainPath(path)
	}
	for _, begin := range []string{"rename to ", "copy to "} {
		if path, ok := strings.CutPrefix(line, begin); ok {
			file.Path = plainPath(path)
		}
	}
}

// link marks a submodule.
func (d *diffStat) link(line string) {
	if strings.HasSuffix(line, " 160000") && (strings.HasPrefix(line, "index ") || strings.HasPrefix(line, "new file mode ")) {
		d.files[len(d.files)-1].Link = true
	}
}

// plainPath decodes a path as Git writes it: quoted as in C if it has special characters, and followed by a tab if it
// has a space.
func plainPath(path string) string {
	path = strings.TrimSuffix(path, "\t")
	if strings.HasPrefix(path, `"`) {
		if name, err := strconv.Unquote(path); err == nil {
			path = name
		}
	}
	return path
}

// all returns the counted files.
func (d *diffStat) all() []changedFile {
	if len(d.line) > 0 {
		d.count(string(d.line))
		d.line = nil
	}
	return append([]changedFile{}, d.files...)
}

// size returns the number of files, and of added and deleted lines together. known is false if there are more files than are counted.
func (d *diffStat) size() (files, lines int, known bool) {
	all := d.all()
	for _, f := range all {
		if !f.Link {
			lines += f.Added + f.Removed
		}
	}
	return len(all), lines, len(all) < maxStatFiles
}
