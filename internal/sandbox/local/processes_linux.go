package local

import (
	"fmt"
	"slices"

	"golang.org/x/sys/unix"
)

// partProcesses is the limit of processes where there is no control group for them.
const partProcesses = "rlimit-processes"

// limitsUser reports whether the kernel's limit of processes a user means a sandbox: it has a
// user of its own, or, in a user namespace of its own, is counted by itself. Older kernels
// count all namespaces of a user together.
func (p *Provider) limitsUser(own bool) bool {
	if slices.Contains(p.cg.parts, "pids") {
		return false
	}
	return own || p.mode == modeBubblewrap && kernelIs(5, 14)
}

func kernelIs(major, minor int) bool {
	var uts unix.Utsname
	var a, b int
	if unix.Uname(&uts) != nil {
		return false
	}
	if _, err := fmt.Sscanf(unix.ByteSliceToString(uts.Release[:]), "%d.%d", &a, &b); err != nil {
		return false
	}
	return a > major || a == major && b >= minor
}

// limitProcesses binds the first process inside. A user of its own is bound by way of this
// process: root, which is not bound itself, may not change the limits of others everywhere.
func (s *minder) limitProcesses(first int) error {
	most := uint64(max(s.launch.Processes, 0))
	if most == 0 {
		return nil
	}
	limit := &unix.Rlimit{Cur: most, Max: most}
	var err error
	switch {
	case s.launch.UID >= 0 && first == 0:
		err = unix.Setrlimit(unix.RLIMIT_NPROC, limit)
	case s.launch.UID < 0 && first != 0:
		err = unix.Prlimit(first, unix.RLIMIT_NPROC, limit, nil)
	}
	if err != nil {
		return fmt.Errorf("limit the number of processes: %w", err)
	}
	return nil
}
