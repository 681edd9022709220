//go:build !linux

package spool

import "time"

// Clock is the wall clock: the agent runs on Linux, where there is a better one.
func Clock() time.Duration { return time.Duration(time.Now().UnixNano()) }
