package gitcmd

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"syscall"
)

// choose selects the files of a snapshot. Files that are too large or unreadable are left out. Files of inner
// repositories come last, so that the limits apply to them first.
func (s *Shadow) choose(ctx context.Context, names []byte, links map[string]link, snap *Snapshot) *chosen {
	c := &chosen{shadow: s, snap: snap, seen: map[string]bool{}, links: map[string]bool{".": false}}
	inner := slices.Collect(maps.Keys(links))
	for name := range bytes.SplitSeq(names, []byte{0}) {
		path := string(name)
		switch {
		case links[path].work:
		case s.caps.Inner && strings.HasSuffix(path, "/"):
			inner = append(inner, path)
		default:
			c.add(path)
		}
	}
	slices.Sort(inner)
	for _, path := range inner {
		recorded, linked := links[path]
		if linked && !recorded.work {
			snap.note(path, recorded.lost(path))
			continue
		}
		before := snap.Changed
		if c.inner(ctx, path, recorded); linked && snap.Changed > before {
			snap.Links++
		}
	}
	return c
}

// chosen has the selected paths of a snapshot.
type chosen struct {
	shadow *Shadow
	snap   *Snapshot
	seen   map[string]bool
	links  map[string]bool // folders that are reached by a symbolic link
	total  int64

	behind bytes.Buffer // reached by a symbolic link: git fails when it looks at them
	first  bytes.Buffer // folders now: git fails if their files come before
	out    bytes.Buffer
}

func (c *chosen) add(path string) {
	if path == "" || c.seen[path] {
		return
	}
	c.seen[path] = true
	size, why := c.shadow.admit(path, c.total, c.snap)
	if why != "" {
		c.snap.skip(path, why)
		return
	}
	c.total += size
	c.snap.Changed++
	out := &c.out
	if c.linked(filepath.Dir(path)) {
		out = &c.behind
	} else if info, err := os.Lstat(filepath.Join(c.shadow.work, path)); err == nil && info.IsDir() {
		out = &c.first
	}
	out.WriteString(path + "\x00")
}

// linked reports whether a folder is reached by a symbolic link.
func (c *chosen) linked(dir string) bool {
	linked, known := c.links[dir]
	if !known {
		info, err := os.Lstat(filepath.Join(c.shadow.work, dir))
		linked = err == nil && info.Mode().Type() == fs.ModeSymlink || c.linked(filepath.Dir(dir))
		c.links[dir] = linked
	}
	return linked
}

// inner adds the files of a repository inside the work tree that this repository does not ignore; all files if Git cannot list them.
func (c *chosen) inner(ctx context.Context, path string, recorded link) {
	c.snap.note(path, fmt.Sprintf("%q is a separate repository: its files are saved, its commits and its Git index are not%s", path, recorded.dangles()))
	var names bytes.Buffer
	git := Repository(filepath.Join(c.shadow.work, path))
	if git.Pipes = c.shadow.Pipes; git.Stream(ctx, nil, &names, "ls-files", "-z", "--cached", "--others", "--exclude-standard") != nil {
		c.all(path)
		return
	}
	for name := range strings.FieldsFuncSeq(names.String(), func(r rune) bool { return r == 0 }) {
		rel := filepath.Join(path, name)
		info, err := os.Lstat(filepath.Join(c.shadow.work, rel))
		switch {
		case !filepath.IsLocal(name) || err != nil: // an index may name anything
		case info.IsDir() && rel != path && exists(filepath.Join(c.shadow.work, rel, ".git")):
			c.inner(ctx, rel, link{})
		case info.IsDir(): // in place of a file; its files follow
		default:
			c.add(rel)
		}
	}
}

// all adds all files of a folder.
func (c *chosen) all(path string) {
	_ = filepath.WalkDir(filepath.Join(c.shadow.work, path), func(full string, entry fs.DirEntry, err error) error {
		rel := strings.TrimPrefix(full, filepath.Clean(c.shadow.work)+string(filepath.Separator))
		switch {
		case err != nil:
			c.snap.skip(rel, "cannot be read")
		case entry.Name() == ".git" && entry.IsDir():
			return fs.SkipDir
		case entry.Name() == ".git" || entry.IsDir():
		case c.snap.Changed >= c.shadow.caps.Files:
			c.add(rel) // adds the note about the limit
			return fs.SkipAll
		default:
			c.add(rel)
		}
		return nil
	})
}

func (s *Shadow) admit(path string, total int64, snap *Snapshot) (size int64, why string) {
	full := filepath.Join(s.work, path)
	info, err := os.Lstat(full)
	switch {
	case errors.Is(err, fs.ErrNotExist) || errors.Is(err, syscall.ENOTDIR):
		return 0, "" // deleted
	case err != nil:
		return 0, "cannot be read"
	case strings.HasSuffix(path, "/"):
		return 0, "is a separate repository"
	case snap.Changed >= s.caps.Files:
		return 0, "is one of more than " + strconv.Itoa(s.caps.Files) + " changed files"
	case info.IsDir() && s.committed && exists(filepath.Join(full, ".git")):
		return 0, "is a submodule"
	case info.IsDir(): // a submodule, or a folder in place of a file
		return 0, ""
	}
	if info.ModTime().After(snap.Newest) {
		snap.Newest = info.ModTime()
	}
	if info.Mode().Type() == fs.ModeSymlink {
		return 0, ""
	}
	if !info.Mode().IsRegular() {
		return 0, "is not a regular file"
	}
	switch size := info.Size(); {
	case size > s.caps.FileBytes:
		return 0, fmt.Sprintf("has %d bytes, more than %d", size, s.caps.FileBytes)
	case total+size > s.caps.TotalBytes:
		return 0, fmt.Sprintf("exceeds the total limit of %d bytes", s.caps.TotalBytes)
	case !readable(full):
		return 0, "cannot be read"
	default:
		return size, ""
	}
}

// WhyLeftOut returns the sentence about a file that [Shadow.Take] leaves out whatever else changed; empty if Take takes it.
func (s *Shadow) WhyLeftOut(path string) string {
	_, why := s.admit(path, 0, &Snapshot{})
	if why == "" {
		return ""
	}
	return leftOut(path, why)
}

// Caps returns the limits.
func (s *Shadow) Caps() Caps { return s.caps }

func leftOut(path, why string) string { return fmt.Sprintf("%q was left out: it %s", path, why) }

func (s *Snapshot) skip(path, why string) { s.note(path, leftOut(path, why)) }

func (s *Snapshot) note(path, text string) {
	if len(s.Skipped) >= 20 {
		return
	}
	s.Skipped = append(s.Skipped, text)
	if s.LeftOut == nil {
		s.LeftOut = map[string]string{}
	}
	s.LeftOut[strings.TrimSuffix(path, "/")] = text
}

func exists(path string) bool {
	_, err := os.Lstat(path)
	return err == nil
}

func readable(path string) bool {
	f, err := os.OpenFile(path, os.O_RDONLY|syscall.O_NONBLOCK, 0)
	if err != nil {
		return false
	}
	_ = f.Close()
	return true
}
