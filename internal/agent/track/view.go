package track

import "context"

// View compares the files with those of an earlier moment. [Tracker.Prune] keeps both trees.
type View struct {
	tracker   *Tracker
	seen, now string // trees
}

// View returns a view that begins with the present files.
func (t *Tracker) View(ctx context.Context) (*View, error) {
	v := &View{tracker: t}
	<-t.free
	t.views = append(t.views, v) // first, since Prune may follow each step
	t.unlock()
	if _, _, err := v.Look(ctx); err != nil {
		return nil, err
	}
	v.Done()
	return v, nil
}

// Look returns the tree with which the view begins, and the present files. Without watches, Look scans once, so that the files may
// be of different moments.
func (v *View) Look(ctx context.Context) (seen string, now Snapshot, err error) {
	t := v.tracker
	if err := t.lock(ctx); err != nil {
		return "", now, err
	}
	defer t.unlock()
	if t.watch != nil {
		now, err = t.snapshot(ctx, false)
	} else {
		now, err = t.scanOnce(ctx)
	}
	if err == nil {
		v.now = now.Tree
	}
	return v.seen, now, err
}

// scanOnce returns the files of a scan that no second one confirms. Take ignores it.
func (t *Tracker) scanOnce(ctx context.Context) (Snapshot, error) {
	last := t.last
	defer func() { t.last = last }()
	err := t.scan(ctx, false)
	return Snapshot{Tree: t.root.id, At: t.last.at, Torn: true, Skipped: t.skipped()}, err
}

// Done makes the view begin with the files of the last Look.
func (v *View) Done() {
	<-v.tracker.free
	defer v.tracker.unlock()
	v.seen = v.now
}
