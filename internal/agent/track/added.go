package track

import "context"

// Load returns the content of an object.
func (t *Tracker) Load(ctx context.Context, id string) (string, error) {
	if err := t.lock(ctx); err != nil {
		return "", err
	}
	defer t.unlock()
	return t.objects.load(ctx, id)
}

// Added calls visit with a tree, and with each object below that another tree lacks at the same path. The path of the tree is empty.
func (t *Tracker) Added(ctx context.Context, before, now string, visit func(id, path string)) error {
	if err := t.lock(ctx); err != nil {
		return err
	}
	defer t.unlock()
	var err error
	level := added{visit: visit}
	for level.compare(folder(before), folder(now), ""); len(level.pairs) > 0 && err == nil; {
		level, err = level.below(ctx, t.objects)
	}
	return err
}

// added has the folders of one depth that differ.
type added struct {
	visit func(id, path string)
	pairs []pair
}

type pair struct {
	before, now *node
	path        string
}

// compare visits an entry that differs, and notes a folder.
func (a *added) compare(before, now *node, path string) {
	if same(before, now) || now.mode == modeModule {
		return
	}
	a.visit(now.id, path)
	if !now.isFolder() {
		return
	}
	if !before.isFolder() {
		before = &node{mode: modeFolder, all: map[string]*node{}}
	}
	a.pairs = append(a.pairs, pair{before, now, path})
}

// below compares the entries of the folders.
func (a *added) below(ctx context.Context, o *objects) (next added, err error) {
	var folders []*node
	for _, p := range a.pairs {
		folders = append(folders, p.before, p.now)
	}
	next.visit = a.visit
	if err := o.readAll(ctx, folders); err != nil {
		return next, err
	}
	for _, p := range a.pairs {
		for name, one := range p.now.all {
			next.compare(p.before.all[name], one, join(p.path, name))
		}
	}
	return next, nil
}
