package spool

import (
	"time"

	"golang.org/x/sys/unix"
)

// Clock returns the time since the machine started, including suspend. All processes share it, and no user can set it.
func Clock() time.Duration {
	var at unix.Timespec
	if err := unix.ClockGettime(unix.CLOCK_BOOTTIME, &at); err != nil {
		return 0 // ages are unknown then
	}
	return time.Duration(at.Nano())
}
