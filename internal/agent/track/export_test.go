package track

// HoldEvents leaves events with the kernel until release is called.
func (t *Tracker) HoldEvents() (release func()) {
	t.watch.mu.Lock()
	return t.watch.mu.Unlock
}

// Views returns the number of views whose trees Prune keeps.
func (t *Tracker) Views() int {
	<-t.free
	defer t.unlock()
	return len(t.views)
}
