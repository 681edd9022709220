package gitcmd

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
)

// link is a folder that a tree knows by the commit of another repository only: git does not look into it.
type link struct {
	commit string // that is recorded
	alone  bool   // nobody else is known to have it
	work   bool   // the folder's files are to be kept
	loose  bool   // the repository holds more that nobody else is known to have
}

// dangles returns what is lost if a recorded commit exists in the sandbox only.
func (l link) dangles() string {
	if !l.alone {
		return ""
	}
	return fmt.Sprintf(". What was committed is a link to its commit %.10s, which no other repository is known to have", l.commit)
}

// lost says what goes with the sandbox though the folder's files are not work.
func (l link) lost(path string) string {
	if l.alone {
		return fmt.Sprintf("%q was committed as a link to its commit %.10s, which no other repository is known to have", path, l.commit)
	}
	return fmt.Sprintf("%q is a repository of its own: it holds commits on branches, tags or in a stash that no other one is known to have, and they are not kept", path)
}

// links are the folders of which the tree has no more than a link, and which hold more than that.
func (s *Shadow) links(ctx context.Context) (map[string]link, error) {
	if !s.caps.Inner {
		return nil, nil //nolint:nilnil // nobody asks for them
	}
	recorded, err := s.recorded(ctx, "ls-files", "-z", "--stage")
	if err != nil || len(recorded) == 0 {
		return nil, err
	}
	ctx, cancel := context.WithTimeout(ctx, s.patience)
	defer cancel()
	i := inside{shadow: s, named: s.named(ctx)}
	if s.caps.Base != "" {
		i.base, _ = s.recorded(ctx, "ls-tree", "-r", "-z", s.caps.Base) // where it is not there, all is new
	}
	i.old = slices.Sorted(maps.Values(i.base))
	found := map[string]link{}
	for _, path := range slices.Sorted(maps.Keys(recorded)) { // all within one time: which are looked at must not be chance
		if l := i.look(ctx, path, recorded[path]); l.work || l.alone || l.loose {
			found[path] = l
		}
	}
	return found, nil
}

// recorded reads the commits of links from a command that lists modes and names of objects before a path.
func (s *Shadow) recorded(ctx context.Context, list ...string) (map[string]string, error) {
	var all bytes.Buffer
	if err := s.Stream(ctx, nil, &all, list...); err != nil {
		return nil, err
	}
	commits := map[string]string{}
	for entry := range bytes.SplitSeq(all.Bytes(), []byte{0}) {
		kind, path, _ := strings.Cut(string(entry), "\t")
		fields := strings.Fields(strings.Replace(kind, " commit ", " ", 1))
		if len(fields) > 1 && fields[0] == "160000" {
			commits[path] = fields[1]
		}
	}
	return commits, nil
}

// named are the folders that .gitmodules tells others how to fill.
func (s *Shadow) named(ctx context.Context) map[string]bool {
	named := map[string]bool{}
	text, _ := s.Run(ctx, "config", "--blob", ":.gitmodules", "--no-includes", "-z", "--get-regexp", `^submodule\..*\.path$`)
	for entry := range strings.SplitSeq(text, "\x00") {
		_, path, _ := strings.Cut(entry, "\n")
		named[path] = true
	}
	return named
}

// filled reports whether a path is a folder with something in it, and is reached by no symbolic link.
func (s *Shadow) filled(path string) bool {
	at := s.work
	for part := range strings.SplitSeq(path, "/") {
		at = filepath.Join(at, part)
		if info, err := os.Lstat(at); err != nil || !info.IsDir() {
			return false
		}
	}
	folder, err := os.Open(at)
	if err != nil {
		return true // which is then said
	}
	defer folder.Close() //nolint:errcheck // read only
	_, err = folder.Readdirnames(1)
	return !errors.Is(err, io.EOF)
}

// inside looks into the repositories behind links. They are the agent's: what cannot be found out within the time counts as work.
type inside struct {
	shadow *Shadow
	base   map[string]string // commits of links before the agent began
	old    []string          // the same commits, sorted
	named  map[string]bool
}

// look finds out what a link and its folder hold that can be found nowhere else.
func (i inside) look(ctx context.Context, path, commit string) link {
	_, old := slices.BinarySearch(i.old, commit)
	l := link{commit: commit, alone: !old}
	if i.shadow.filled(path) {
		l.work = i.work(ctx, path, &l)
	} else {
		l.alone = l.alone && i.base != nil
	}
	return l
}

// work reports whether the folder of a link holds files that can be found nowhere else.
func (i inside) work(ctx context.Context, path string, l *link) bool {
	top := filepath.Join(i.shadow.work, path)
	if _, err := os.Lstat(filepath.Join(top, ".git")); err != nil {
		return true
	}
	r, ok := open(ctx, top)
	if !ok {
		return true
	}
	l.alone = l.alone && !r.fetched(ctx, l.commit)
	if i.base[path] != r.head && (!r.fetched(ctx, r.head) || !i.named[path]) {
		return true
	}
	if i.changed(ctx, r, l) {
		return true
	}
	l.loose = l.loose || r.loose(ctx, i.base[path])
	return false
}

// repository is one that is looked into.
type repository struct {
	Git

	head        string // its commit
	index, tags string // paths
}

// open asks all in one process, since there may be many repositories; ok is false where there is none that can be read.
func open(ctx context.Context, top string) (r repository, ok bool) {
	git := Repository(top)
	text, err := git.Run(ctx, "rev-parse", "--path-format=absolute", "--git-path", "index", "--git-path", "refs/tags", "HEAD^{commit}")
	lines := strings.Split(text, "\n")
	if err != nil || len(lines) != 3 {
		return repository{}, false
	}
	return repository{Git: git, index: lines[0], tags: lines[1], head: lines[2]}, true
}

// loose reports whether a branch, a tag or a stash holds commits that are neither recorded nor came from another machine.
// Tags that came with a clone are in one file: those that have one each were made since then.
func (r repository) loose(ctx context.Context, recorded string) bool {
	from := []string{"--ignore-missing", "--branches", "--glob=refs/stash*", "^" + r.head}
	if recorded != "" {
		from = append(from, "^"+recorded)
	}
	names, full := files(r.tags)
	for _, name := range names {
		from = append(from, "refs/tags/"+name)
	}
	more, err := r.Run(ctx, append([]string{"rev-list", "--max-count=1"}, from...)...)
	return full || err != nil || more != "" && !r.fetched(ctx, from...)
}

// files names what is no folder below one, with its path from there; full says that there is more than anybody wants to know.
func files(top string) (names []string, full bool) {
	const most = 1000
	_ = filepath.WalkDir(top, func(path string, entry fs.DirEntry, err error) error {
		if err == nil && !entry.IsDir() {
			names = append(names, strings.TrimPrefix(path, top+"/"))
		}
		if full = len(names) > most; full {
			return fs.SkipAll
		}
		return nil
	})
	return names, full
}

// fetched reports whether commits came from another machine.
func (r repository) fetched(ctx context.Context, commits ...string) bool {
	urls, err := r.Run(ctx, "config", "-z", "--get-regexp", `^remote\..*\.url$`)
	if err != nil {
		return false
	}
	for entry := range strings.SplitSeq(strings.TrimSuffix(urls, "\x00"), "\x00") {
		if _, url, _ := strings.Cut(entry, "\n"); !remote(url) {
			return false
		}
	}
	args := append([]string{"rev-list", "--max-count=1"}, commits...)
	missing, err := r.Run(ctx, append(args, "--not", "--remotes")...)
	return err == nil && missing == ""
}

// remote tells https://host/path and user@host:path from the path of a folder in the sandbox.
func remote(url string) bool {
	host, _, found := strings.Cut(url, ":")
	return found && host != "file" && !strings.Contains(host, "/")
}

// changed compares a repository's files with its commit, without its settings and filters.
func (i inside) changed(ctx context.Context, r repository, l *link) bool {
	dir := filepath.Join(i.shadow.GitDir, "inner")
	if err := os.RemoveAll(dir); err != nil {
		return true
	}
	inner, err := Opening{Dir: dir, Work: r.Dir, Caps: Caps{Inner: true, Base: r.head}}.Open(ctx)
	if err != nil {
		return true
	}
	inner.seed(r.index)
	differs, hidden, err := inner.differs(ctx, r.head)
	if hidden && os.Remove(inner.Index) == nil {
		differs, _, err = inner.differs(ctx, r.head)
	}
	if err != nil || differs {
		return true
	}
	links, err := inner.links(ctx)
	for _, one := range links {
		l.loose = l.loose || one.loose || one.alone
		differs = differs || one.work
	}
	return err != nil || differs
}

// differs reports whether files are not as in a commit. Hidden says that an index which was there before has files marked as
// not to be looked at.
func (s *Shadow) differs(ctx context.Context, head string) (differs, hidden bool, err error) {
	if err := s.Begin(ctx, head); err != nil {
		return true, false, err
	}
	var names bytes.Buffer
	err = s.Stream(ctx, nil, &names, "ls-files", "-v", "-z", "--cached", "--modified", "--deleted", "--others", "--exclude-standard")
	for entry := range bytes.SplitSeq(bytes.TrimSuffix(names.Bytes(), []byte{0}), []byte{0}) {
		switch tag, _, _ := strings.Cut(string(entry[:min(len(entry), 2)]), " "); tag {
		case "", "H":
		case "C", "R", "?":
			differs = true
		default:
			hidden = true
		}
	}
	return differs, hidden, err
}
