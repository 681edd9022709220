//go:build !linux

package toolbox

import "syscall"

// adopt cannot be done here: what leaves its process group survives its sandbox.
func (*tree) adopt() error { return nil }

// end kills the groups of what the daemon has started.
func (t *tree) end() {
	t.mu.Lock() // for good: nothing is started any more
	for pid := range t.own {
		_ = killGroup(pid, syscall.SIGKILL)
	}
}
