package track

import (
	"context"
	"errors"
)

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
	return t.objects.added(ctx, folder(before), folder(now), "", visit)
}

func (o *objects) added(ctx context.Context, before, now *node, path string, visit func(id, path string)) error {
	if same(before, now) || now.mode == modeModule {
		return nil
	}
	visit(now.id, path)
	if !now.isFolder() {
		return nil
	}
	if !before.isFolder() {
		before = &node{mode: modeFolder, all: map[string]*node{}}
	}
	err := errors.Join(o.read(ctx, before), o.read(ctx, now))
	for name, one := range now.all {
		if err == nil {
			err = o.added(ctx, before.all[name], one, join(path, name), visit)
		}
	}
	return err
}
