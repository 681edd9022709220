package local

import "golang.org/x/sys/unix"

const (
	auditArch  = unix.AUDIT_ARCH_X86_64
	newestCall = unix.SYS_RSEQ_SLICE_YIELD // larger numbers are newer calls, or calls of the x32 ABI
)

// deniedHere returns denied calls that only this processor has.
func deniedHere() []uintptr {
	return []uintptr{unix.SYS_IOPL, unix.SYS_IOPERM, unix.SYS_USELIB, unix.SYS_USTAT, unix.SYS_SYSFS, unix.SYS_MODIFY_LDT}
}

func rulesHere() []argRule {
	return []argRule{
		{nr: unix.SYS_CHMOD, arg: 1, any: unix.S_ISUID, errno: unix.EPERM},
		{nr: unix.SYS_MKNOD, arg: 1, any: unix.S_ISUID, errno: unix.EPERM},
		{nr: unix.SYS_CREAT, arg: 1, any: unix.S_ISUID, errno: unix.EPERM},
		{nr: unix.SYS_OPEN, creates: 1, arg: 2, any: unix.S_ISUID, errno: unix.EPERM},
	}
}
