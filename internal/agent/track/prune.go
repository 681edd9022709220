package track

import (
	"bytes"
	"context"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
)

// Prune deletes loose objects that neither the files, a view nor one of the commits needs, if all of them have more than a number
// of bytes, and more than twice what the last Prune left. Histories are not followed: the shadow writes no commit that another one
// is built on.
func (t *Tracker) Prune(ctx context.Context, most int64, commits ...string) error {
	if err := t.lock(ctx); err != nil {
		return err
	}
	defer t.unlock()
	if size, err := t.looseBytes(ctx); err != nil || size <= max(most, 2*t.bytesAfterPrune) {
		return err
	}
	if err := t.objects.tree(t.root); err != nil {
		return err
	}
	roots := slices.Concat(commits, []string{t.root.id, t.last.tree})
	for _, v := range t.views {
		roots = append(roots, v.seen, v.now)
	}
	slices.Sort(roots)
	needed := map[string]bool{}
	for _, root := range slices.Compact(roots) {
		if root == "" {
			continue
		}
		if err := t.objectsOf(ctx, root, needed); err != nil {
			return err
		}
	}
	objects := filepath.Join(t.shadow.GitDir, "objects")
	files, err := filepath.Glob(filepath.Join(objects, "[0-9a-f][0-9a-f]", "*"))
	if err != nil {
		return fmt.Errorf("list objects: %w", err)
	}
	for _, path := range files {
		if id := filepath.Base(filepath.Dir(path)) + filepath.Base(path); !needed[id] {
			_ = os.Remove(path) // the next time tries again
		}
	}
	t.bytesAfterPrune, err = t.looseBytes(ctx)
	return err
}

// looseBytes returns the size of the loose objects on disk.
func (t *Tracker) looseBytes(ctx context.Context) (int64, error) {
	text, err := t.shadow.Run(ctx, "count-objects", "--verbose")
	if err != nil {
		return 0, err
	}
	for line := range strings.Lines(text) {
		if kib, found := strings.CutPrefix(strings.TrimSpace(line), "size: "); found {
			n, err := strconv.ParseInt(kib, 10, 64)
			if err != nil {
				return 0, fmt.Errorf("read the size of objects: %w", err)
			}
			return n << 10, nil
		}
	}
	return 0, nil
}

// objectsOf adds a commit or a tree, and all that is in it.
func (t *Tracker) objectsOf(ctx context.Context, root string, needed map[string]bool) error {
	tree, err := t.shadow.Run(ctx, "rev-parse", "--verify", root+"^{tree}")
	if err != nil {
		return err
	}
	needed[root], needed[tree] = true, true
	var entries bytes.Buffer
	if err := t.shadow.Stream(ctx, nil, &entries, "ls-tree", "-r", "-t", "-z", "--full-tree", tree); err != nil {
		return err
	}
	for entry := range bytes.SplitSeq(entries.Bytes(), []byte{0}) {
		if fields := strings.Fields(strings.SplitN(string(entry), "\t", 2)[0]); len(fields) == 3 {
			needed[fields[2]] = true
		}
	}
	return nil
}
