package track

import (
	"context"
	"errors"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"syscall"
)

// round reads reported changes.
type round struct {
	*Tracker

	kinds   map[string]int  // of folders
	seen    map[string]bool // paths that need no second look
	files   []string        // that exist and may have changed
	gone    int             // entries that were removed
	tracked map[string]bool // folders of the tree; nil: ask the tree
}

// Kinds of folders.
const (
	kindFolder = iota + 1
	kindInner  // is in a repository inside the work tree, which only a scan reads
	kindNone   // does not exist, is a file, or is reached by a symbolic link
)

func (t *Tracker) newRound() *round {
	return &round{Tracker: t, kinds: map[string]int{"": kindFolder}, seen: map[string]bool{}}
}

// apply updates the tree, and returns the number of changed paths without ignored ones.
func (t *Tracker) apply(ctx context.Context, c changes) (n int, err error) {
	if c.lost || c.rules {
		return 1, t.restart(ctx)
	}
	r := t.newRound()
	for _, path := range slices.Sorted(maps.Keys(c.paths)) {
		if err == nil {
			err = r.look(ctx, path)
		}
	}
	if err == nil {
		n, err = r.read(ctx)
	}
	switch {
	case errors.Is(err, errRefused):
		t.scanOnly(ctx, err)
		return 1, nil
	case errors.Is(err, errMany):
		return 1, t.scan(ctx, false)
	}
	return n, err
}

// look updates the entries of a path that is gone or is a folder, and notes files.
func (r *round) look(ctx context.Context, path string) error {
	if r.seen[path] || r.reserved(path) {
		return nil
	}
	r.seen[path] = true
	switch r.kind(ctx, parent(path)) {
	case kindNone:
		return r.remove(ctx, path)
	case kindInner:
		r.scanNeeded = true
		if r.kind(ctx, path) == kindNone {
			return nil
		}
		return r.below(ctx, path, true)
	}
	info, err := os.Lstat(filepath.Join(r.top, path))
	switch {
	case errors.Is(err, fs.ErrNotExist) || errors.Is(err, syscall.ENOTDIR):
		return r.remove(ctx, path)
	case err == nil && info.IsDir():
		return r.each(ctx, []string{path}, false)
	}
	r.files = append(r.files, path)
	return nil
}

// dotGit matches names that git never tracks, because some system takes them for .git.
var dotGit = regexp.MustCompile(`(?i)^(.*\\)?(\.git|git~1)[ .]*([\\:].*)?$`)

// reserved reports whether git never tracks a path. A repository that appears or disappears needs a scan.
func (r *round) reserved(path string) bool {
	for part := range strings.SplitSeq(path, "/") {
		if dotGit.MatchString(part) {
			r.scanNeeded = r.scanNeeded || part == ".git"
			return true
		}
	}
	return false
}

// kind returns the kind of a folder, which depends on the folders above.
func (r *round) kind(ctx context.Context, path string) int {
	if kind := r.kinds[path]; kind != 0 {
		return kind
	}
	kind := r.kind(ctx, parent(path))
	full := filepath.Join(r.top, path)
	if info, err := os.Lstat(full); err != nil || !info.IsDir() {
		kind = kindNone
	} else if kind == kindFolder {
		if _, err := os.Lstat(filepath.Join(full, ".git")); err == nil || r.module(ctx, path) {
			kind = kindInner
		}
	}
	r.kinds[path] = kind
	return kind
}

func (r *round) module(ctx context.Context, path string) bool {
	n, err := r.objects.find(ctx, r.root, path)
	return err == nil && n != nil && n.mode == modeModule
}

func (r *round) remove(ctx context.Context, path string) error {
	delete(r.leftOut, path)
	changed, err := r.set(ctx, path, nil)
	if changed {
		r.gone++
	}
	return err
}

// below watches a folder and the folders below. Unless only is true, below also notes files and removes entries that are gone.
func (r *round) below(ctx context.Context, path string, only bool) error {
	if err := r.watch.add(path); err != nil {
		return err
	}
	entries, err := os.ReadDir(filepath.Join(r.top, path))
	if err != nil {
		return nil //nolint:nilerr // gone, or unreadable for git too
	}
	var folders []string
	here := map[string]bool{}
	for _, entry := range entries {
		name := join(path, entry.Name())
		here[entry.Name()] = true
		switch {
		case dotGit.MatchString(entry.Name()):
		case entry.IsDir():
			folders = append(folders, name)
		case !only && !r.seen[name]:
			r.seen[name] = true
			r.files = append(r.files, name)
		}
	}
	if !only {
		if err := r.removeOthers(ctx, path, here); err != nil {
			return err
		}
	}
	return r.each(ctx, folders, only)
}

// removeOthers removes the entries of a folder that do not exist.
func (r *round) removeOthers(ctx context.Context, path string, here map[string]bool) error {
	n, err := r.objects.find(ctx, r.root, path)
	if err != nil || !n.isFolder() {
		return err
	}
	if err := r.objects.read(ctx, n); err != nil {
		return err
	}
	for _, name := range slices.Collect(maps.Keys(n.all)) {
		if !here[name] {
			if err := r.remove(ctx, join(path, name)); err != nil {
				return err
			}
		}
	}
	return nil
}

// each enters the folders that git does not ignore.
func (r *round) each(ctx context.Context, folders []string, only bool) error {
	var unknown []string
	for _, path := range folders {
		tracked, err := r.holds(ctx, path)
		if err != nil {
			return err
		}
		if !tracked {
			unknown = append(unknown, path)
		}
	}
	ignored, err := r.ignores.ask(ctx, unknown)
	if err != nil {
		return err
	}
	for _, path := range folders {
		r.seen[path] = true
		if err := r.enter(ctx, path, ignored[path], only); err != nil {
			return err
		}
	}
	return nil
}

// holds reports whether files of a folder are tracked.
func (r *round) holds(ctx context.Context, path string) (bool, error) {
	if r.tracked != nil {
		return r.tracked[path], nil
	}
	n, err := r.objects.find(ctx, r.root, path)
	return n.isFolder(), err
}

// enter reads a folder. The folder replaces an entry for a file.
func (r *round) enter(ctx context.Context, path string, ignored, only bool) error {
	if only {
		if ignored {
			return nil
		}
		return r.below(ctx, path, true)
	}
	if r.kind(ctx, path) == kindInner {
		r.scanNeeded = true
		return r.below(ctx, path, true)
	}
	n, err := r.objects.find(ctx, r.root, path)
	if err == nil && !n.isFolder() {
		err = r.remove(ctx, path)
	}
	if err != nil || ignored {
		return err
	}
	return r.below(ctx, path, false)
}
