package proc

import (
	"fmt"
	"syscall"
)

const prSetChildSubreaper = 36

// Adopt makes this process the parent of orphans below it, so that nothing that the agent
// started can get out of its sight. It is for the agent's main process.
func Adopt() error {
	if _, _, errno := syscall.RawSyscall(syscall.SYS_PRCTL, prSetChildSubreaper, 1, 0); errno != 0 {
		return fmt.Errorf("become subreaper: %w", errno)
	}
	return nil
}

// tied puts a command into a process group of its own, and ends it with this process: a killed
// agent must not leave a program at work that nobody watches and somebody pays for.
func tied() *syscall.SysProcAttr {
	return &syscall.SysProcAttr{Setpgid: true, Pdeathsig: syscall.SIGKILL}
}
