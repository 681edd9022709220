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

// link is a folder that a tree records by the commit of another repository (a submodule).
type link struct {
	commit string // recorded commit
	alone  bool   // no other repository is known to have the commit
	work   bool   // the folder has files that must be kept
	loose  bool   // the repository has further commits that no other repository is known to have
}

// dangles returns the note for a recorded commit that exists in the sandbox only, else "".
func (l link) dangles() string {
	if !l.alone {
		return ""
	}
	return fmt.Sprintf(". The committed link leads to its commit %.10s, which no other repository is known to have", l.commit)
}

// lost returns the note about commits that are lost with the sandbox, of a folder without work.
func (l link) lost(path string) string {
	if l.alone {
		return fmt.Sprintf("%q was committed as a link to its commit %.10s, which no other repository is known to have", path, l.commit)
	}
	return fmt.Sprintf("%q is a separate repository: commits on its branches, tags or in its stash exist in no other known repository and are lost", path)
}

// links returns the folders of the links that the index records, and that contain work or commits of their own.
func (s *Shadow) links(ctx context.Context, recorded map[string]string) (map[string]link, error) {
	if !s.caps.Inner || len(recorded) == 0 {
		return nil, nil //nolint:nilnil // inner repositories are not included
	}
	ctx, cancel := context.WithTimeout(ctx, s.patience)
	defer cancel()
	i := inside{shadow: s, named: s.named(ctx)}
	if s.caps.Base != "" {
		i.base, _ = s.recorded(ctx, "ls-tree", "-r", "-z", s.caps.Base) // without the commit, all links are new
	}
	i.old = slices.Sorted(maps.Values(i.base))
	found := map[string]link{}
	// sorted, so that the timeout always affects the same ones.
	for _, path := range slices.Sorted(maps.Keys(recorded)) {
		if l := i.look(ctx, path, recorded[path]); l.work || l.alone || l.loose {
			found[path] = l
		}
	}
	return found, nil
}

// recorded returns the commits of links in the output of ls-files --stage or ls-tree, by path.
func (s *Shadow) recorded(ctx context.Context, list ...string) (map[string]string, error) {
	var all bytes.Buffer
	if err := s.Stream(ctx, nil, &all, list...); err != nil {
		return nil, err
	}
	commits := map[string]string{}
	for entry := range bytes.SplitSeq(all.Bytes(), []byte{0}) {
		record(commits, entry)
	}
	return commits, nil
}

// record adds the commit of an entry of ls-files --stage or ls-tree by its path, if the entry is a link.
func record(commits map[string]string, entry []byte) {
	if link, ok := bytes.CutPrefix(entry, []byte("160000 ")); ok {
		kind, path, _ := strings.Cut(strings.TrimPrefix(string(link), "commit "), "\t")
		commits[path], _, _ = strings.Cut(kind, " ")
	}
}

// named returns the paths in .gitmodules, which other clones can fill.
func (s *Shadow) named(ctx context.Context) map[string]bool {
	named := map[string]bool{}
	text, _ := s.Run(ctx, "config", "--blob", ":.gitmodules", "--no-includes", "-z", "--get-regexp", `^submodule\..*\.path$`)
	for entry := range strings.SplitSeq(text, "\x00") {
		_, path, _ := strings.Cut(entry, "\n")
		named[path] = true
	}
	return named
}

// filled reports whether a path is a folder with content that no symbolic link leads to.
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
		return true // the caller reports the unreadable folder
	}
	defer folder.Close() //nolint:errcheck // read only
	_, err = folder.Readdirnames(1)
	return !errors.Is(err, io.EOF)
}

// inside checks the repositories of links. The agent controls them: if a check fails or times out, the folder counts as
// work.
type inside struct {
	shadow *Shadow
	base   map[string]string // commits of links at the base commit, by path
	old    []string          // values of base, sorted
	named  map[string]bool
}

// look checks what a link and its folder contain that exists in the sandbox only.
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

// work reports whether the folder of a link has files that exist in the sandbox only.
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

// repository is an inner repository.
type repository struct {
	Git

	head        string // its HEAD commit
	index, tags string // paths
}

// open reads the paths and HEAD of a repository. open uses one git process, because there may be many repositories; ok
// is false without a readable repository.
func open(ctx context.Context, top string) (r repository, ok bool) {
	git := Repository(top)
	text, err := git.Run(ctx, "rev-parse", "--path-format=absolute", "--git-path", "index", "--git-path", "refs/tags", "HEAD^{commit}")
	lines := strings.Split(text, "\n")
	if err != nil || len(lines) != 3 {
		return repository{}, false
	}
	return repository{Git: git, index: lines[0], tags: lines[1], head: lines[2]}, true
}

// loose reports whether a branch, a tag or a stash has commits that are neither recorded nor fetched from another
// machine. Tags of a clone are packed into one file, so a tag file of its own was created later.
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

// files returns the files below a folder, with relative paths; full reports that there are more than 1000.
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

// fetched reports whether all remotes are on other machines and have the commits.
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

// remote reports whether a URL is on another machine: https://host/path or user@host:path, as opposed to a local path.
func remote(url string) bool {
	host, _, found := strings.Cut(url, ":")
	return found && host != "file" && !strings.Contains(host, "/")
}

// changed compares a repository's files with its HEAD commit, without its settings and filters.
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
	recorded, err := inner.recorded(ctx, "ls-files", "-z", "--stage")
	if err != nil {
		return true
	}
	links, err := inner.links(ctx, recorded)
	for _, one := range links {
		l.loose = l.loose || one.loose || one.alone
		differs = differs || one.work
	}
	return err != nil || differs
}

// differs reports whether files differ from a commit. hidden reports that the index has entries marked as
// assume-unchanged or skip-worktree.
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
