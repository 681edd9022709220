package track

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"maps"
	"os"
	"path/filepath"
	"strings"
	"time"
)

// scanned is the end and the duration of the last scan, and the tree of the last one without watches.
type scanned struct {
	at   time.Time
	took time.Duration
	tree string
}

// due reports whether a scan is due. Scans are rare where they are expensive.
func (t *Tracker) due() bool {
	const onePercent, twoPercent = 100, 50
	rest := time.Since(t.last.at)
	switch {
	case t.scanNeeded:
		return rest >= twoPercent*t.last.took
	case t.watch == nil:
		return rest >= max(t.cfg.Scan, twoPercent*t.last.took)
	default:
		return rest >= max(2*t.cfg.Scan, onePercent*t.last.took)
	}
}

// scan reads all files and adopts their tree. If verify is true, scan counts paths that differ from the tree so far although no
// watch reported them.
func (t *Tracker) scan(ctx context.Context, verify bool) error {
	inner, begin := t.newRound(), time.Now()
	if t.shadow.CopyExclude() {
		t.ignores.stop()
	}
	t.updateShadowIndex(ctx)
	snap, err := t.shadow.Take(ctx)
	t.last = scanned{at: time.Now(), took: time.Since(begin)}
	t.stats.Scans++
	if err != nil {
		return err
	}
	covers := func(string) bool { return true }
	if t.watch != nil {
		covers = t.watch.peek()
	}
	differs, err := t.adopt(ctx, snap.Tree)
	if err != nil {
		return err
	}
	found := 0
	for _, path := range differs {
		if verify && !covers(path) && inner.kind(ctx, parent(path)) != kindInner {
			found++
		}
	}
	clear(t.leftOut)
	maps.Copy(t.leftOut, snap.LeftOut)
	clear(t.staleIndexPaths)
	t.scanNeeded = false
	if found == 0 {
		return nil
	}
	t.stats.Found += found
	err = t.watchAll(ctx) // perhaps a watch was missing
	if errors.Is(err, errRefused) {
		t.scanOnly(ctx, err)
		return nil
	}
	return err
}

// adopt replaces the tree by the tree of a scan, and returns the paths that differ.
func (t *Tracker) adopt(ctx context.Context, tree string) (paths []string, err error) {
	if err := t.objects.tree(t.root); err != nil || t.root.id == tree {
		return nil, err
	}
	var names bytes.Buffer
	err = t.shadow.Stream(ctx, nil, &names, "diff-tree", "-r", "--no-renames", "--name-only", "-z", t.root.id, tree)
	t.root = folder(tree)
	return strings.FieldsFunc(names.String(), func(r rune) bool { return r == 0 }), err
}

// updateShadowIndex updates the index of the shadow to the tree, so that a scan knows which files are tracked. Errors are ignored,
// because the scan reads all files.
func (t *Tracker) updateShadowIndex(ctx context.Context) {
	var there, gone bytes.Buffer
	r := t.newRound()
	for path := range t.staleIndexPaths {
		n, err := t.objects.find(ctx, t.root, path)
		switch {
		case err != nil || t.leftOut[path] != "":
		case n == nil || n.isFolder():
			gone.WriteString(path + "\x00")
		case r.kind(ctx, parent(path)) == kindFolder && r.isFile(path): // git update-index fails for others
			there.WriteString(path + "\x00")
		}
	}
	if gone.Len() > 0 {
		_ = t.shadow.Stream(ctx, &gone, nil, "update-index", "--force-remove", "-z", "--stdin")
	}
	if there.Len() > 0 {
		_ = t.shadow.Stream(ctx, &there, nil, "update-index", "--add", "--remove", "--replace", "-z", "--stdin")
	}
}

func (r *round) isFile(path string) bool {
	info, err := os.Lstat(filepath.Join(r.top, path))
	return err == nil && !info.IsDir()
}

// scanAlone scans at least twice, for trackers without watches. If two scans agree, the tree is whole.
func (t *Tracker) scanAlone(ctx context.Context, now bool) (torn bool, err error) {
	if !now && !t.due() {
		return t.torn, nil
	}
	begin := time.Now()
	defer func() { t.last = scanned{at: time.Now(), took: time.Since(begin), tree: t.root.id} }()
	for n := range tries + 1 {
		before := t.root.id
		if err := t.scan(ctx, false); err != nil {
			return false, err
		}
		if n > 0 && t.root.id == before {
			return false, nil
		}
	}
	return true, nil
}

// restart replaces all watches and scans.
func (t *Tracker) restart(ctx context.Context) error {
	t.ignores.stop()
	if t.watch != nil {
		_ = t.watch.close()
	}
	var err error
	if t.watch, err = newWatch(t.top, t.cfg.Watches); err == nil {
		err = t.watchAll(ctx)
	}
	if errors.Is(err, errRefused) {
		t.scanOnly(ctx, err)
		_, err = t.scanAlone(ctx, true)
		return err
	}
	if err != nil {
		return err
	}
	return t.scan(ctx, false)
}

// scanOnly removes the watches.
func (t *Tracker) scanOnly(ctx context.Context, why error) {
	t.cfg.Log.WarnContext(ctx, "watch folders failed, scanning instead", slog.Any("error", why))
	if t.watch != nil {
		_ = t.watch.close()
	}
	t.watch = nil
	t.ignores.stop()
}

// watchAll watches all folders that git does not ignore or that hold tracked files.
func (t *Tracker) watchAll(ctx context.Context) error {
	if err := t.objects.tree(t.root); err != nil {
		return err
	}
	var names bytes.Buffer
	if err := t.shadow.Stream(ctx, nil, &names, "ls-tree", "-r", "-d", "-z", "--name-only", "--full-tree", t.root.id); err != nil {
		return fmt.Errorf("list tracked folders: %w", err)
	}
	r := t.newRound()
	r.tracked = map[string]bool{}
	for name := range bytes.SplitSeq(names.Bytes(), []byte{0}) {
		r.tracked[string(name)] = true
	}
	return r.below(ctx, "", true)
}
