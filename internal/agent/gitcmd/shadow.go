package gitcmd

import (
	"bytes"
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"time"
)

// Shadow is omoi's own repository over the agent's work tree: own index, own objects, own configuration. It reads the
// workspace's objects and writes nothing there, so that locks and settings of the agent do not matter and no trace is
// left.
type Shadow struct {
	Git

	Own bool // the work tree has a repository of its own

	work     string
	caps     Caps
	patience time.Duration // of all looks into repositories inside the work tree together
}

// Caps bound what a snapshot takes up. Zero means the default.
type Caps struct {
	FileBytes  int64 // larger files are left out; 32 MiB
	TotalBytes int64 // of changed files together; 256 MiB
	Files      int   // changed files; 20,000
	Inner      bool  // take up the files of repositories inside the work tree too
	// Base is a commit whose submodules are not the agent's work, as long as they are as it records them.
	Base string
}

func (c Caps) withDefaults() Caps {
	c.FileBytes = cmp.Or(max(c.FileBytes, 0), 32<<20)
	c.TotalBytes = cmp.Or(max(c.TotalBytes, 0), 256<<20)
	c.Files = cmp.Or(max(c.Files, 0), 20_000)
	return c
}

// Snapshot is the state of a work tree: a tree object and what was left out of it.
type Snapshot struct {
	Tree    string
	Changed int      // files that were brought up to date since the snapshot before
	Links   int      // how many links to other repositories their files have replaced
	Skipped []string // what is not as it was, one sentence each, at most 20
	Newest  time.Time
}

// Opening says how a [Shadow] is opened.
type Opening struct {
	Dir   string // of the shadow
	Work  string // the work tree
	Caps  Caps
	Alone bool // without the work tree's own repository
	// Shallow is git's list of the commits at which the history is cut; empty: that of the work tree's own repository.
	Shallow string
	// Timeout and Late are of each look into that repository, see [Git]. What the shadow does
	// with all files has four times as long.
	Timeout time.Duration
	Late    func()
}

// Open makes or reopens a shadow. A work tree without a repository is fine.
func (o Opening) Open(ctx context.Context) (*Shadow, error) {
	own := own{format: "sha1"}
	if !o.Alone {
		own = o.own(ctx)
		own.shallow = cmp.Or(o.Shallow, own.shallow)
	}
	s := &Shadow{
		Git: Git{
			Dir: o.Work, GitDir: o.Dir, WorkTree: o.Work, Index: filepath.Join(o.Dir, "index"),
			Timeout: 4 * o.Timeout, Late: o.Late,
		},
		Own: own.objects != "", work: o.Work, caps: o.Caps.withDefaults(), patience: cmp.Or(o.Timeout, 20*time.Second),
	}
	if _, err := os.Stat(filepath.Join(o.Dir, "HEAD")); err != nil {
		init := Git{Dir: filepath.Dir(o.Dir), Index: s.Index}
		if _, err := init.Run(ctx, "init", "--quiet", "--bare", "--template=", "--object-format="+own.format, o.Dir); err != nil {
			return nil, err
		}
	}
	if err := s.borrow(own); err != nil {
		return nil, err
	}
	return s, nil
}

// own is where the work tree's own repository keeps what a shadow needs.
type own struct {
	objects, exclude, shallow string // paths; empty where there is no repository
	format                    string // of object names
}

// own asks the repository of the work tree: not that of a folder above it, which would not
// be the agent's. It is one process for four answers, since this is done for every sandbox; the paths
// are relative, since that of the work tree may have line breaks.
func (o Opening) own(ctx context.Context) own {
	look := Repository(o.Work)
	look.Timeout, look.Late = o.Timeout, o.Late
	text, err := look.Run(ctx, "rev-parse", "--path-format=relative",
		"--git-path", "objects", "--git-path", "info/exclude", "--git-path", "shallow", "--show-object-format")
	work, linkErr := filepath.EvalSymlinks(o.Work)
	lines := strings.Split(text, "\n")
	if err != nil || linkErr != nil || len(lines) != 4 {
		return own{format: "sha1"}
	}
	return own{
		objects: filepath.Join(work, lines[0]), exclude: filepath.Join(work, lines[1]), shallow: filepath.Join(work, lines[2]),
		format: lines[3],
	}
}

// Repository is git in the repository whose top is work; commands fail where there is none.
func Repository(work string) Git {
	return Git{Dir: work, Env: []string{"GIT_CEILING_DIRECTORIES=" + filepath.Dir(work)}}
}

// borrow points at the workspace's objects and takes over what git needs to read them right.
func (s *Shadow) borrow(own own) error {
	info := filepath.Join(s.GitDir, "objects", "info")
	if err := os.MkdirAll(info, 0o700); err != nil {
		return fmt.Errorf("create shadow repository: %w", err)
	}
	if own.objects == "" {
		return nil
	}
	if err := os.WriteFile(filepath.Join(info, "alternates"), []byte(Alternate(own.objects)), 0o600); err != nil {
		return fmt.Errorf("point at the workspace's objects: %w", err)
	}
	for from, name := range map[string]string{own.exclude: "info/exclude", own.shallow: "shallow"} {
		if from != "" {
			copyFile(from, filepath.Join(s.GitDir, name))
		}
	}
	return nil
}

// Alternate returns the line of info/alternates for a folder of objects. Git reads a quoted line as C does, so that any path fits.
func Alternate(objects string) string {
	return `"` + strings.NewReplacer(`\`, `\\`, `"`, `\"`, "\n", `\n`).Replace(objects) + "\"\n"
}

// copyFile takes over a small regular file, and nothing that an agent put in its place.
func copyFile(from, to string) {
	b, ok := ReadSmall(from)
	if !ok {
		return
	}
	_ = os.MkdirAll(filepath.Dir(to), 0o700)
	_ = os.WriteFile(to, b, 0o600) // git says what it misses
}

// ReadSmall reads a regular file of at most 64 MiB; false of anything else.
func ReadSmall(path string) ([]byte, bool) {
	const limit = 64 << 20
	f, err := os.OpenFile(path, os.O_RDONLY|syscall.O_NONBLOCK, 0) // a pipe must not hold us up
	if err != nil {
		return nil, false
	}
	defer f.Close() //nolint:errcheck // read only
	info, err := f.Stat()
	if err != nil || !info.Mode().IsRegular() {
		return nil, false
	}
	b, err := io.ReadAll(io.LimitReader(f, limit+1))
	return b, err == nil && len(b) <= limit
}

// Seed begins with the workspace's own index, whose file times spare a first reading of
// every file. It is for a checkout that is known to be fresh and whole.
func (s *Shadow) Seed(ctx context.Context) {
	from, err := Repository(s.work).Run(ctx, "rev-parse", "--path-format=absolute", "--git-path", "index")
	if err == nil {
		s.seed(from)
	}
}

func (s *Shadow) seed(from string) {
	copyFile(from, s.Index)
	if info, err := os.Lstat(from); err == nil { // whose time tells git which of its files may have changed since
		_ = os.Chtimes(s.Index, info.ModTime(), info.ModTime())
	}
}

// Begin makes the index hold the given tree-ish, an empty tree if it is empty. It reads each file once and notes the file times,
// so that [Shadow.Take] reads only files that changed since.
func (s *Shadow) Begin(ctx context.Context, treeish string) error {
	_ = os.Remove(s.Index + ".lock") // ours alone: left by a killed process
	args := []string{"read-tree", "--empty"}
	if treeish != "" {
		args = []string{"read-tree", "--reset", treeish}
	}
	if _, err := s.Run(ctx, args...); err != nil || treeish == "" {
		return err
	}
	_, _ = s.Run(ctx, "update-index", "-q", "--refresh") // without the file times Take is slower, and as right
	return ctx.Err()
}

// KeepBytes makes the trees hold files byte for byte. Without it the attributes of the work tree change what is stored, as in a
// commit: line ends, encodings and $Id$.
func (s *Shadow) KeepBytes() error {
	path := filepath.Join(s.GitDir, "info", "attributes") // which wins over all files of the work tree
	err := os.MkdirAll(filepath.Dir(path), 0o700)
	if err == nil {
		err = os.WriteFile(path, []byte("* -text -eol -ident -filter -working-tree-encoding\n"), 0o600)
	}
	if err != nil {
		return fmt.Errorf("keep bytes of files: %w", err)
	}
	return nil
}

// Take brings the index up to the work tree, ignored files left out, and returns its tree.
func (s *Shadow) Take(ctx context.Context) (Snapshot, error) {
	_ = os.Remove(s.Index + ".lock")
	var names bytes.Buffer
	err := s.Stream(ctx, nil, &names, "ls-files", "-z", "--modified", "--deleted", "--others", "--exclude-standard")
	if err != nil {
		return Snapshot{}, err
	}
	links, err := s.links(ctx)
	if err != nil {
		return Snapshot{}, err
	}
	snap := Snapshot{}
	changed := s.choose(names.Bytes(), links, &snap)
	if changed.Len() > 0 {
		if err := s.Stream(ctx, changed, nil, "update-index", "--add", "--remove", "--replace", "-z", "--stdin"); err != nil {
			return snap, err
		}
	}
	snap.Tree, err = s.Run(ctx, "write-tree", "--missing-ok")
	return snap, err
}

// choose leaves out what is too large, unreadable, or another repository. The files of
// another one go last, so that they crowd out nothing of this one.
func (s *Shadow) choose(names []byte, links map[string]link, snap *Snapshot) *bytes.Buffer {
	c := chosen{shadow: s, snap: snap, seen: map[string]bool{}}
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
			snap.note(recorded.lost(path))
			continue
		}
		before := snap.Changed
		if c.inner(path, recorded); linked && snap.Changed > before {
			snap.Links++
		}
	}
	return &c.out
}

// chosen are the paths that a snapshot brings up to date.
type chosen struct {
	shadow *Shadow
	snap   *Snapshot
	seen   map[string]bool
	total  int64
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
	c.out.WriteString(path)
	c.out.WriteByte(0)
}

// inner takes up the files of a repository inside the work tree.
func (c *chosen) inner(path string, recorded link) {
	c.snap.note(fmt.Sprintf("%q is a repository of its own: its files are kept, its history is not%s", path, recorded.dangles()))
	_ = filepath.WalkDir(filepath.Join(c.shadow.work, path), func(full string, entry fs.DirEntry, err error) error {
		rel := strings.TrimPrefix(full, filepath.Clean(c.shadow.work)+string(filepath.Separator))
		switch {
		case err != nil:
			c.snap.skip(rel, "cannot be read")
		case entry.Name() == ".git" && entry.IsDir():
			return fs.SkipDir
		case entry.Name() == ".git" || entry.IsDir():
		case c.snap.Changed >= c.shadow.caps.Files:
			c.add(rel) // says so
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
		return 0, "is a repository of its own"
	case snap.Changed >= s.caps.Files:
		return 0, "is one of more than " + strconv.Itoa(s.caps.Files) + " changed files"
	case info.IsDir(): // a submodule
		return 0, ""
	}
	if info.ModTime().After(snap.Newest) {
		snap.Newest = info.ModTime()
	}
	if info.Mode().Type() == fs.ModeSymlink {
		return 0, ""
	}
	if !info.Mode().IsRegular() {
		return 0, "is no file"
	}
	switch size := info.Size(); {
	case size > s.caps.FileBytes:
		return 0, fmt.Sprintf("has %d bytes, more than %d", size, s.caps.FileBytes)
	case total+size > s.caps.TotalBytes:
		return 0, fmt.Sprintf("would make more than %d bytes in all", s.caps.TotalBytes)
	case !readable(full):
		return 0, "cannot be read"
	default:
		return size, ""
	}
}

func (s *Snapshot) skip(path, why string) {
	s.note(fmt.Sprintf("%q was left out: it %s", path, why))
}

func (s *Snapshot) note(text string) {
	if len(s.Skipped) < 20 {
		s.Skipped = append(s.Skipped, text)
	}
}

func readable(path string) bool {
	f, err := os.OpenFile(path, os.O_RDONLY|syscall.O_NONBLOCK, 0)
	if err != nil {
		return false
	}
	_ = f.Close()
	return true
}

// Borrow makes the objects of one more repository readable.
func (s *Shadow) Borrow(objects string) error {
	path := filepath.Join(s.GitDir, "objects", "info", "alternates")
	f, err := os.OpenFile(path, os.O_CREATE|os.O_APPEND|os.O_WRONLY, 0o600)
	if err != nil {
		return fmt.Errorf("point at more objects: %w", err)
	}
	_, err = f.WriteString(Alternate(objects))
	return errors.Join(err, f.Close())
}
