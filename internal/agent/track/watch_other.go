//go:build !linux

package track

// watch needs Linux, as every agent in a sandbox does.
type watch struct{}

func newWatch(string, int) (*watch, error) { return nil, errRefused }

func (*watch) add(string) error { return errRefused }

func (*watch) close() error { return nil }

func (*watch) count() int { return 0 }

func (*watch) dirty() bool { return false }

func (*watch) drain() changes { return changes{} }

func (*watch) markLost() {}

func (*watch) mark(string) {}

func (*watch) peek() (covers func(path string) bool) { return nil }
