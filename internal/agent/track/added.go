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

// Added calls visit with a tree, and with each object below that another tree lacks in all folders that differ. The path of the tree is empty.
func (t *Tracker) Added(ctx context.Context, before, now string, visit func(id, path string)) error {
	if err := t.lock(ctx); err != nil {
		return err
	}
	defer t.unlock()
	root, has := folder(now), map[string]bool{before: true}
	for changed := []pair{{folder(before), root}}; len(changed) > 0; {
		var err error
		if changed, err = t.objects.below(ctx, changed, has); err != nil {
			return err
		}
	}
	root.without(has, "", visit)
	return nil
}

// pair is a folder that differs in two trees.
type pair struct{ before, now *node }

// below reads the folders of one depth, adds what they had before to has, and returns the folders in them that differ.
func (o *objects) below(ctx context.Context, pairs []pair, has map[string]bool) (next []pair, err error) {
	var folders []*node
	for _, p := range pairs {
		folders = append(folders, p.before, p.now)
	}
	if err := o.readAll(ctx, folders); err != nil {
		return nil, err
	}
	for _, p := range pairs {
		for name, was := range p.before.all {
			has[was.id] = true
			if was.isFolder() && !p.now.all[name].isFolder() {
				next = append(next, pair{was, noFiles()}) // its files may have moved
			}
		}
		for name, one := range p.now.all {
			was := p.before.all[name]
			if !one.isFolder() || same(was, one) {
				continue
			}
			if !was.isFolder() {
				was = noFiles()
			}
			next = append(next, pair{was, one})
		}
	}
	return next, nil
}

func noFiles() *node { return &node{mode: modeFolder, all: map[string]*node{}} }

// without visits an entry and what is in it, except objects in has.
func (n *node) without(has map[string]bool, path string, visit func(id, path string)) {
	if n.mode == modeModule || has[n.id] {
		return
	}
	visit(n.id, path)
	for name, one := range n.all {
		one.without(has, join(path, name), visit)
	}
}
