package track

import (
	"context"
	"encoding/hex"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"
)

// Modes of entries, as git stores them.
const (
	modeFolder = 0o40000
	modeFile   = 0o100644
	modeRun    = 0o100755
	modeLink   = 0o120000
	modeModule = 0o160000 // a commit of another repository
)

// node is an entry of a tree. The entries of a folder are read when needed.
type node struct {
	mode uint32
	id   string           // empty: a folder that changed since it was written
	all  map[string]*node // of a folder; nil: not read
}

func folder(id string) *node { return &node{mode: modeFolder, id: id} }

func (n *node) isFolder() bool { return n != nil && n.mode == modeFolder }

func same(a, b *node) bool {
	return a == nil && b == nil || a != nil && b != nil && a.mode == b.mode && a.id == b.id && a.id != ""
}

// read reads the entries of a folder.
func (o *objects) read(ctx context.Context, n *node) error { return o.readAll(ctx, []*node{n}) }

// readAll reads the entries of folders.
func (o *objects) readAll(ctx context.Context, folders []*node) error {
	var ids []string
	var unread []*node
	for _, n := range folders {
		if n.all == nil {
			ids, unread = append(ids, n.id), append(unread, n)
		}
	}
	if len(ids) == 0 {
		return nil
	}
	return o.loadAll(ctx, ids, func(i int, content string) (err error) {
		unread[i].all, err = parse(content, len(ids[i])/2)
		return err
	})
}

// find returns the entry of a path, nil if there is none.
func (o *objects) find(ctx context.Context, root *node, path string) (*node, error) {
	at := root
	for part := range strings.SplitSeq(path, "/") {
		if !at.isFolder() {
			return nil, nil //nolint:nilnil // there is none
		}
		if err := o.read(ctx, at); err != nil {
			return nil, err
		}
		at = at.all[part]
	}
	return at, nil
}

// put changes an entry; nil removes the entry. put creates missing folders and removes empty ones.
func (o *objects) put(ctx context.Context, at *node, path []string, to *node) error {
	if err := o.read(ctx, at); err != nil {
		return err
	}
	at.id = ""
	name := path[0]
	if len(path) > 1 {
		below := at.all[name]
		if !below.isFolder() {
			below = noFiles()
		}
		if err := o.put(ctx, below, path[1:], to); err != nil {
			return err
		}
		to = below
		if len(below.all) == 0 {
			to = nil
		}
	}
	if to == nil {
		delete(at.all, name)
		return nil
	}
	at.all[name] = to
	return nil
}

// walk calls visit with the path of each file in an entry.
func (o *objects) walk(ctx context.Context, n *node, path string, visit func(path string)) error {
	if n == nil {
		return nil
	}
	if !n.isFolder() {
		visit(path)
		return nil
	}
	if err := o.read(ctx, n); err != nil {
		return err
	}
	for name, one := range n.all {
		if err := o.walk(ctx, one, path+"/"+name, visit); err != nil {
			return err
		}
	}
	return nil
}

// tree writes a folder and the changed folders below.
func (o *objects) tree(n *node) error {
	if n.id != "" {
		return nil
	}
	for _, one := range n.all {
		if one.isFolder() {
			if err := o.tree(one); err != nil {
				return err
			}
		}
	}
	content := format(n.all)
	id, err := o.store("tree", int64(len(content)), strings.NewReader(content), "")
	if err == nil {
		n.id = id
	}
	return err
}

// format returns a tree object. Git sorts a folder as if a slash followed its name.
func format(all map[string]*node) string {
	order := func(name string) string {
		if all[name].isFolder() {
			return name + "/"
		}
		return name
	}
	names := slices.SortedFunc(maps.Keys(all), func(a, b string) int { return strings.Compare(order(a), order(b)) })
	var out strings.Builder
	for _, name := range names {
		fmt.Fprintf(&out, "%o %s\x00%s", all[name].mode, name, unhex(all[name].id))
	}
	return out.String()
}

// parse reads a tree object whose IDs have size bytes.
func parse(content string, size int) (map[string]*node, error) {
	all := map[string]*node{}
	for content != "" {
		head, rest, _ := strings.Cut(content, "\x00")
		mode, name, ok := strings.Cut(head, " ")
		kind, err := strconv.ParseUint(mode, 8, 32)
		if err != nil || !ok || len(rest) < size {
			return nil, errors.New("damaged tree object")
		}
		n := &node{mode: uint32(kind), id: hex.EncodeToString([]byte(rest[:size]))}
		content = rest[size:]
		all[name] = n
	}
	return all, nil
}
