//go:build !linux

package spool

import "time"

// Clock returns the wall clock, for development on systems other than Linux.
func Clock() time.Duration { return time.Duration(time.Now().UnixNano()) }
