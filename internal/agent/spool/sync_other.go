//go:build !linux

package spool

import "os"

// datasync makes the content of a file survive a crash of the machine.
func datasync(f *os.File) error { return f.Sync() }
