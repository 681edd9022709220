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
