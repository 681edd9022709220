package proc

import (
	"fmt"
	"syscall"

	"golang.org/x/sys/unix"
)

// Adopt makes this process the parent of orphans below it, so that all processes of the agent stay its descendants. The
// main process of omoi-agent calls it.
func Adopt() error {
	if err := unix.Prctl(unix.PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0); err != nil {
		return fmt.Errorf("become subreaper: %w", err)
	}
	return nil
}

// tied puts a command into its own process group and kills it with this process, because the program of a killed agent
// must not continue and cost money.
func tied() *syscall.SysProcAttr {
	return &syscall.SysProcAttr{Setpgid: true, Pdeathsig: syscall.SIGKILL}
}
