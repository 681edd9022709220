package toolbox

import (
	"os/exec"
	"sync"
)

// tree is what the daemon has started. Every start and end goes through it, so that the
// reaper of orphans does not take what somebody waits for.
type tree struct {
	mu  sync.Mutex
	own map[int]bool
}

func (t *tree) start(cmd *exec.Cmd) error {
	t.mu.Lock()
	defer t.mu.Unlock()
	if err := cmd.Start(); err != nil {
		return err
	}
	t.own[cmd.Process.Pid] = true
	return nil
}

func (t *tree) wait(cmd *exec.Cmd) error {
	err := cmd.Wait()
	t.mu.Lock()
	defer t.mu.Unlock()
	delete(t.own, cmd.Process.Pid)
	return err
}
