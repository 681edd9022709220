package gitcmd

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
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
}

// dangles says what becomes of a recorded commit that goes with the sandbox.
func (l link) dangles() string {
	if !l.alone {
		return ""
	}
	return fmt.Sprintf(". What was committed is a link to its commit %.10s, which no other repository is known to have", l.commit)
}

// links are the folders that hold work of which the tree has no more than a link.
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
	found := map[string]link{}
	for _, path := range slices.Sorted(maps.Keys(recorded)) { // all within one time: which are looked at must not be chance
		if l := (link{commit: recorded[path]}); s.filled(path) && i.work(ctx, path, &l) {
			found[path] = l
		}
	}
	return found, nil
}

// recorded reads the commits of links from a command that lists modes and names of objects before a path.
func (s *Shadow) recorded(ctx context.Context, list ...string) (map[string]string, error) {
	var all bytes.Buffer
	if err := s.git.Stream(ctx, nil, &all, list...); err != nil {
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
	text, _ := s.git.Run(ctx, "config", "--blob", ":.gitmodules", "--no-includes", "-z", "--get-regexp", `^submodule\..*\.path$`)
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
	named  map[string]bool
}

// work reports whether the folder of a link holds what can be found nowhere else.
func (i inside) work(ctx context.Context, path string, l *link) bool {
	top := filepath.Join(i.shadow.work, path)
	if _, err := os.Lstat(filepath.Join(top, ".git")); err != nil {
		return true
	}
	git := Repository(top)
	head, err := git.Run(ctx, "rev-parse", "--verify", "--quiet", "HEAD^{commit}")
	if err != nil {
		return true
	}
	if i.base[path] != head {
		lost := !fetched(ctx, git, head)
		l.alone = lost && head == l.commit
		if lost || !i.named[path] {
			return true
		}
	}
	return i.changed(ctx, top, head)
}

// fetched reports whether a commit came from another machine.
func fetched(ctx context.Context, git Git, commit string) bool {
	urls, err := git.Run(ctx, "config", "-z", "--get-regexp", `^remote\..*\.url$`)
	if err != nil {
		return false
	}
	for entry := range strings.SplitSeq(strings.TrimSuffix(urls, "\x00"), "\x00") {
		if _, url, _ := strings.Cut(entry, "\n"); !remote(url) {
			return false
		}
	}
	missing, err := git.Run(ctx, "rev-list", "--max-count=1", commit, "--not", "--remotes")
	return err == nil && missing == ""
}

// remote tells https://host/path and user@host:path from the path of a folder in the sandbox.
func remote(url string) bool {
	host, _, found := strings.Cut(url, ":")
	return found && host != "file" && !strings.Contains(host, "/")
}

// changed compares a repository's files with its commit, without its settings and filters.
func (i inside) changed(ctx context.Context, top, head string) bool {
	dir := filepath.Join(i.shadow.dir, "inner")
	if err := os.RemoveAll(dir); err != nil {
		return true
	}
	inner, err := Opening{Dir: dir, Work: top, Caps: Caps{Inner: true, Base: head}}.Open(ctx)
	if err != nil {
		return true
	}
	inner.Seed(ctx)
	if err := inner.Begin(ctx, head); err != nil {
		return true
	}
	var names bytes.Buffer
	err = inner.git.Stream(ctx, nil, &names, "ls-files", "-z", "--modified", "--deleted", "--others", "--exclude-standard")
	if err != nil || names.Len() > 0 {
		return true
	}
	links, err := inner.links(ctx)
	return err != nil || len(links) > 0
}
