package track

import (
	"errors"
	"strings"
)

// errRefused says that the host, or a limit, allows no more watches.
var errRefused = errors.New("no more folders can be watched")

// changes are the changes that the watches reported.
type changes struct {
	paths map[string]bool
	rules bool // what git ignores may have changed
	lost  bool // some changes are missing
}

// maxChanges limits the number of paths; with more, changes are lost.
const maxChanges = 10_000

func (c *changes) add(path string) {
	if c.lost {
		return
	}
	if c.paths == nil {
		c.paths = map[string]bool{}
	}
	c.paths[path] = true
	c.lost = len(c.paths) > maxChanges
}

func (c *changes) any() bool { return len(c.paths) > 0 || c.rules || c.lost }

// covers reports whether a path, or a folder above it, changed.
func (c *changes) covers(path string) bool {
	for path != "" {
		if c.paths[path] {
			return true
		}
		path = parent(path)
	}
	return c.rules || c.lost
}

// parent returns the folder of a path, empty for the top.
func parent(path string) string { return path[:max(strings.LastIndexByte(path, '/'), 0)] }

// join returns the path of a name in a folder.
func join(folder, name string) string {
	if folder == "" {
		return name
	}
	return folder + "/" + name
}
