package spool

import (
	"time"

	"golang.org/x/sys/unix"
)

// Clock is the time since the machine started, its sleep included. It is the same in every
// process, and nobody can set it.
func Clock() time.Duration {
	var at unix.Timespec
	if err := unix.ClockGettime(unix.CLOCK_BOOTTIME, &at); err != nil {
		return 0 // ages are not known then
	}
	return time.Duration(at.Nano())
}
