package local

import "golang.org/x/sys/unix"

const (
	auditArch  = unix.AUDIT_ARCH_AARCH64
	newestCall = unix.SYS_RSEQ_SLICE_YIELD
)

// deniedHere returns denied calls that only this processor has.
func deniedHere() []uintptr { return nil }

func rulesHere() []argRule { return nil }
