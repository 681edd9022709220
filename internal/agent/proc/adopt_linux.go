package proc

import (
	"fmt"
	"syscall"

	"golang.org/x/sys/unix"
)

// Adopt makes this process the parent of orphans below it, so that nothing that the agent
// started can get out of its sight. It is for the agent's main process.
func Adopt() error {
	if err := unix.Prctl(unix.PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0); err != nil {
		return fmt.Errorf("become subreaper: %w", err)
	}
	return nil
}

// tied puts a command into a process group of its own, which ends with this process: a killed agent must not leave a
// running program that costs money unobserved.
func tied() *syscall.SysProcAttr {
	return &syscall.SysProcAttr{Setpgid: true, Pdeathsig: syscall.SIGKILL}
}
