package gitcmd

import (
	"bytes"
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"time"

	"golang.org/x/sync/errgroup"
)

// Shadow is a separate repository for the agent's work tree, with its own index, objects and configuration. Shadow
// reads the objects of the workspace's repository and writes nothing there, so locks and settings of the agent have no
// effect.
type Shadow struct {
	Git

	Own bool // the work tree has its own repository

	work     string
	index    string // path of the index of the workspace's repository; empty: none
	exclude  string // path of the list of paths that the workspace's repository ignores; empty: none
	caps     Caps
	patience time.Duration // timeout of all checks of repositories inside the work tree together
	// committed reports that the trees become commits of the workspace: changed submodules are left out.
	committed bool
}

// Caps are the limits of a snapshot. Zero means the default.
type Caps struct {
	FileBytes  int64 // larger files are left out; default 32 MiB
	TotalBytes int64 // sum of the changed files; default 256 MiB
	Files      int   // number of changed files; default 20,000
	Inner      bool  // include files of repositories inside the work tree
	// Base is a commit whose unchanged submodules are not the agent's work.
	Base string
}

// WithDefaults replaces zero limits by their defaults.
func (c Caps) WithDefaults() Caps {
	c.FileBytes = cmp.Or(max(c.FileBytes, 0), 32<<20)
	c.TotalBytes = cmp.Or(max(c.TotalBytes, 0), 256<<20)
	c.Files = cmp.Or(max(c.Files, 0), 20_000)
	return c
}

// Snapshot is the state of a work tree.
type Snapshot struct {
	Tree    string
	Changed int               // number of files that changed since the previous snapshot
	Links   int               // number of links to other repositories that were replaced by their files
	Skipped []string          // what the snapshot leaves out, one sentence each, at most 20
	LeftOut map[string]string // the sentences by their paths
	Newest  time.Time
}

// Opening has the parameters of a [Shadow].
type Opening struct {
	Dir   string // folder of the shadow
	Work  string // work tree
	Caps  Caps
	Alone bool // ignore the work tree's own repository
	// Shallow is the path of git's list of commits at which the history is cut; empty: that of the work tree's own
	// repository.
	Shallow string
	// Timeout and Late apply to each command in that repository, see [Git]. Commands of the shadow have four times
	// Timeout.
	Timeout time.Duration
	Late    func()
}

// Open creates or reopens a shadow. The work tree may have no repository.
func (o Opening) Open(ctx context.Context) (*Shadow, error) {
	own := own{format: "sha1"}
	if !o.Alone {
		own = o.own(ctx)
		own.shallow = cmp.Or(o.Shallow, own.shallow)
	}
	s := &Shadow{
		Git: Git{
			Dir: o.Work, GitDir: o.Dir, WorkTree: o.Work, Index: filepath.Join(o.Dir, "index"),
			Timeout: 4 * o.Timeout, Late: o.Late, Pipes: &Pipes{top: o.Work},
		},
		Own: own.objects != "", work: o.Work, index: own.index, exclude: own.exclude, caps: o.Caps.WithDefaults(), patience: cmp.Or(o.Timeout, 20*time.Second),
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

// own has the parts of the work tree's own repository that a shadow uses.
type own struct {
	objects, exclude, shallow, index string // paths; empty without a repository

	format string // object format: sha1 or sha256
}

// own queries the repository of the work tree, and not that of a folder above it. own uses one git process for five
// values, because it runs for every sandbox. The paths are relative, because that of the work tree may contain line
// breaks.
func (o Opening) own(ctx context.Context) own {
	look := Repository(o.Work)
	look.Timeout, look.Late = o.Timeout, o.Late
	text, err := look.Run(ctx, "rev-parse", "--path-format=relative",
		"--git-path", "objects", "--git-path", "info/exclude", "--git-path", "shallow", "--git-path", "index", "--show-object-format")
	work, linkErr := filepath.EvalSymlinks(o.Work)
	lines := strings.Split(text, "\n")
	if err != nil || linkErr != nil || len(lines) != 5 {
		return own{format: "sha1"}
	}
	return own{
		objects: filepath.Join(work, lines[0]), exclude: filepath.Join(work, lines[1]), shallow: filepath.Join(work, lines[2]),
		index: filepath.Join(work, lines[3]), format: lines[4],
	}
}

// Repository returns git for the repository whose top folder is work. Without one, its commands fail.
func Repository(work string) Git {
	return Git{Dir: work, Env: []string{"GIT_CEILING_DIRECTORIES=" + filepath.Dir(work)}}
}

// borrow adds the workspace's objects as an alternate, and copies the files that git needs to read them correctly.
func (s *Shadow) borrow(own own) error {
	info := filepath.Join(s.GitDir, "objects", "info")
	if err := os.MkdirAll(info, 0o700); err != nil {
		return fmt.Errorf("create shadow repository: %w", err)
	}
	if own.objects == "" {
		return nil
	}
	if err := os.WriteFile(filepath.Join(info, "alternates"), []byte(Alternate(own.objects)), 0o600); err != nil {
		return fmt.Errorf("add the workspace's objects: %w", err)
	}
	s.CopyExclude()
	copyFile(own.shallow, filepath.Join(s.GitDir, "shallow"))
	return nil
}

// CopyExclude copies the list of paths that the workspace's repository alone ignores, and reports whether it has changed.
func (s *Shadow) CopyExclude() (changed bool) {
	path := filepath.Join(s.GitDir, "info", "exclude")
	before, _ := ReadSmall(path)
	now, _ := ReadSmall(s.exclude) // of no repository, or deleted: empty
	if bytes.Equal(before, now) {
		return false
	}
	_ = os.MkdirAll(filepath.Dir(path), 0o700)
	return os.WriteFile(path, now, 0o600) == nil
}

// Alternate returns the line of info/alternates for a folder of objects. git parses a quoted line as in C, so any path
// works.
func Alternate(objects string) string {
	return `"` + strings.NewReplacer(`\`, `\\`, `"`, `\"`, "\n", `\n`).Replace(objects) + "\"\n"
}

// copyFile copies a small regular file. Any other file is ignored.
func copyFile(from, to string) {
	b, ok := ReadSmall(from)
	if !ok {
		return
	}
	_ = os.MkdirAll(filepath.Dir(to), 0o700)
	_ = os.WriteFile(to, b, 0o600) // git reports a missing file
}

// ReadSmall reads a regular file of at most 64 MiB. ReadSmall returns false for any other file.
func ReadSmall(path string) ([]byte, bool) {
	const limit = 64 << 20
	f, err := os.OpenFile(path, os.O_RDONLY|syscall.O_NONBLOCK, 0) // a named pipe must not block
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

// Seed copies the workspace's own index. Its file times save git from reading every file. Seed reads files with other times, for
// example those that a setup step touched. Use it before the agent works.
func (s *Shadow) Seed(ctx context.Context) {
	if s.index == "" {
		return
	}
	s.seed(s.index)
	_, _ = s.Run(ctx, "update-index", "-q", "--refresh") // its exit code reports changed files
}

func (s *Shadow) seed(from string) {
	copyFile(from, s.Index)
	if info, err := os.Lstat(from); err == nil { // git compares its time with those of the files
		_ = os.Chtimes(s.Index, info.ModTime(), info.ModTime())
	}
}

// Begin sets the index to the given tree-ish; empty: an empty tree. Begin reads each file once and records the file
// times, so that [Shadow.Take] reads changed files only.
func (s *Shadow) Begin(ctx context.Context, treeish string) error {
	_ = os.Remove(s.Index + ".lock") // left by a killed process; no other process uses this index
	args := []string{"read-tree", "--empty"}
	if treeish != "" {
		args = []string{"read-tree", "--reset", treeish}
	}
	if _, err := s.Run(ctx, args...); err != nil || treeish == "" {
		return err
	}
	// Without the file times Take is slower and has the same result.
	_, _ = s.Run(ctx, "update-index", "-q", "--refresh")
	return ctx.Err()
}

// KeepBytes makes the trees store files byte for byte. Otherwise the attributes of the work tree change the stored
// content as in a commit: line endings, encodings and $Id$.
func (s *Shadow) KeepBytes() error {
	path := filepath.Join(s.GitDir, "info", "attributes") // overrides all attribute files of the work tree
	err := os.MkdirAll(filepath.Dir(path), 0o700)
	if err == nil {
		err = os.WriteFile(path, []byte("* -text -eol -ident -filter -working-tree-encoding\n"), 0o600)
	}
	if err != nil {
		return fmt.Errorf("write attributes: %w", err)
	}
	return nil
}

// Take updates the index from the work tree, without ignored files, and returns its tree.
func (s *Shadow) Take(ctx context.Context) (Snapshot, error) {
	_ = os.Remove(s.Index + ".lock")
	names, recorded, err := s.changes(ctx)
	if err != nil {
		return Snapshot{}, err
	}
	links, err := s.links(ctx, recorded)
	if err != nil {
		return Snapshot{}, err
	}
	snap := Snapshot{}
	changed := s.choose(ctx, names, links, &snap)
	if changed.behind.Len() > 0 {
		if err := s.Stream(ctx, &changed.behind, nil, "update-index", "--force-remove", "-z", "--stdin"); err != nil {
			return snap, err
		}
	}
	if changed.first.Len()+changed.out.Len() > 0 {
		all := io.MultiReader(&changed.first, &changed.out)
		if err := s.Stream(ctx, all, nil, "update-index", "--add", "--remove", "--replace", "-z", "--stdin"); err != nil {
			return snap, err
		}
	}
	snap.Tree, err = s.Run(ctx, "write-tree", "--missing-ok")
	return snap, err
}

// changes returns the paths of files that differ from the index or that it lacks, each with a zero byte, and the links that the index
// records. Two processes take half the time of one, since each looks at all files or folders.
func (s *Shadow) changes(ctx context.Context) (names []byte, recorded map[string]string, err error) {
	var tracked, others bytes.Buffer
	both, ctx := errgroup.WithContext(ctx)
	both.Go(func() error {
		return s.Stream(ctx, nil, &tracked, "ls-files", "-z", "-t", "--stage", "--modified", "--deleted")
	})
	both.Go(func() error { return s.Stream(ctx, nil, &others, "ls-files", "-z", "--others", "--exclude-standard") })
	err = both.Wait()
	names, recorded = changed(tracked.Bytes())
	return append(names, others.Bytes()...), recorded, err
}

// changed reads entries "<tag> <mode> <id> <stage>\t<path>": C and R are changed and deleted files, other tags are of the index.
func changed(tracked []byte) (names []byte, recorded map[string]string) {
	recorded = map[string]string{}
	for entry := range bytes.SplitSeq(tracked, []byte{0}) {
		switch tag, file, _ := bytes.Cut(entry, []byte(" ")); string(tag) {
		case "C", "R":
			_, path, _ := bytes.Cut(file, []byte("\t"))
			names = append(append(names, path...), 0)
		default:
			record(recorded, file)
		}
	}
	return names, recorded
}

// Borrow adds the objects of another repository as an alternate.
func (s *Shadow) Borrow(objects string) error {
	path := filepath.Join(s.GitDir, "objects", "info", "alternates")
	f, err := os.OpenFile(path, os.O_CREATE|os.O_APPEND|os.O_WRONLY, 0o600)
	if err != nil {
		return fmt.Errorf("add objects: %w", err)
	}
	_, err = f.WriteString(Alternate(objects))
	return errors.Join(err, f.Close())
}
