//go:build linux && (amd64 || arm64)

package local

import (
	"encoding/binary"

	"golang.org/x/sys/unix"
)

// The filter of system calls is a second wall behind the namespaces: it takes away what an
// agent does not need and what holes in kernels are found in. It names what is refused, not
// what is allowed, so that the tools of a project go on working; calls newer than the list
// do not exist inside.

// seccompFilter is the program as bubblewrap takes it, for the processor that we were built for.
func seccompFilter() []byte {
	p := &filterProgram{}
	p.head(auditArch, newestCall)
	for _, nr := range absentCalls() {
		p.refuse(nr, unix.ENOSYS)
	}
	for _, nr := range append(deniedCalls(), deniedHere()...) {
		p.refuse(nr, unix.EPERM)
	}
	for _, r := range append(argumentRules(), rulesHere()...) {
		p.rule(r)
	}
	p.add(opReturn, unix.SECCOMP_RET_ALLOW)
	return p.encode()
}

// absentCalls answer "not implemented", whereupon programs take the older way.
func absentCalls() []uintptr {
	return []uintptr{
		unix.SYS_CLONE3, // its flags are in memory, where no filter sees them
		unix.SYS_IO_URING_SETUP, unix.SYS_IO_URING_ENTER, unix.SYS_IO_URING_REGISTER,
	}
}

// deniedCalls manage the machine, mount, enter namespaces, load code into the kernel, or
// reach keys and files past the file system.
func deniedCalls() []uintptr {
	return []uintptr{
		unix.SYS_MOUNT, unix.SYS_UMOUNT2, unix.SYS_PIVOT_ROOT, unix.SYS_CHROOT, unix.SYS_SETNS,
		unix.SYS_FSOPEN, unix.SYS_FSCONFIG, unix.SYS_FSMOUNT, unix.SYS_FSPICK, unix.SYS_MOVE_MOUNT,
		unix.SYS_OPEN_TREE, unix.SYS_OPEN_TREE_ATTR, unix.SYS_MOUNT_SETATTR,
		unix.SYS_BPF, unix.SYS_PERF_EVENT_OPEN, unix.SYS_USERFAULTFD, unix.SYS_FANOTIFY_INIT,
		unix.SYS_KEYCTL, unix.SYS_ADD_KEY, unix.SYS_REQUEST_KEY,
		unix.SYS_OPEN_BY_HANDLE_AT, unix.SYS_LOOKUP_DCOOKIE, unix.SYS_NFSSERVCTL,
		unix.SYS_KEXEC_LOAD, unix.SYS_KEXEC_FILE_LOAD, unix.SYS_INIT_MODULE, unix.SYS_FINIT_MODULE, unix.SYS_DELETE_MODULE,
		unix.SYS_SYSLOG, unix.SYS_ACCT, unix.SYS_QUOTACTL, unix.SYS_QUOTACTL_FD, unix.SYS_REBOOT,
		unix.SYS_SWAPON, unix.SYS_SWAPOFF, unix.SYS_SETTIMEOFDAY, unix.SYS_CLOCK_SETTIME, unix.SYS_VHANGUP,
	}
}

// newNamespaces are the flags of clone and unshare that make one.
const newNamespaces = unix.CLONE_NEWNS | unix.CLONE_NEWCGROUP | unix.CLONE_NEWUTS | unix.CLONE_NEWIPC |
	unix.CLONE_NEWUSER | unix.CLONE_NEWPID | unix.CLONE_NEWNET

// argumentRules refuse a call for what it asks.
func argumentRules() []argRule {
	rules := []argRule{
		{nr: unix.SYS_CLONE, arg: 0, any: newNamespaces, errno: unix.EPERM},
		{nr: unix.SYS_UNSHARE, arg: 0, any: newNamespaces | unix.CLONE_NEWTIME, errno: unix.EPERM},
		{nr: unix.SYS_IOCTL, arg: 1, among: []uint32{unix.TIOCSTI, tiocLinux}, errno: unix.EPERM},
		// An executable with the set-user-id bit outlives the sandbox if somebody copies it with care.
		{nr: unix.SYS_FCHMOD, arg: 1, any: unix.S_ISUID, errno: unix.EPERM},
		{nr: unix.SYS_FCHMODAT, arg: 2, any: unix.S_ISUID, errno: unix.EPERM},
		{nr: unix.SYS_FCHMODAT2, arg: 2, any: unix.S_ISUID, errno: unix.EPERM},
		{nr: unix.SYS_MKNODAT, arg: 2, any: unix.S_ISUID, errno: unix.EPERM},
		{nr: unix.SYS_OPENAT, creates: 2, arg: 3, any: unix.S_ISUID, errno: unix.EPERM},
	}
	for _, nr := range []uintptr{unix.SYS_SOCKET, unix.SYS_SOCKETPAIR} {
		rules = append(rules, argRule{nr: nr, arg: 0, only: families(), errno: unix.EAFNOSUPPORT})
	}
	return rules
}

// tiocLinux pastes into a console, as TIOCSTI types on a terminal.
const tiocLinux = 0x541c

// families of sockets are what programs talk by, and what tells them of interfaces. The rest
// is kernel code that nobody inside needs, or leads to the machine's own host (vsock).
func families() []uint32 {
	return []uint32{unix.AF_UNIX, unix.AF_INET, unix.AF_INET6, unix.AF_NETLINK}
}

// argRule looks at the lower half of one argument; the kernel takes no more of these.
type argRule struct {
	nr      uintptr
	arg     uint32
	creates uint32   // argument with open's flags, if the rule holds for new files only; no rule has it at 0
	any     uint32   // refused with any of these bits
	among   []uint32 // refused if it is one of these
	only    []uint32 // refused if it is none of these
	errno   unix.Errno
}

// Operations of the packet filter.
const (
	opLoad    = unix.BPF_LD | unix.BPF_W | unix.BPF_ABS
	opEqual   = unix.BPF_JMP | unix.BPF_JEQ | unix.BPF_K
	opGreater = unix.BPF_JMP | unix.BPF_JGT | unix.BPF_K
	opBits    = unix.BPF_JMP | unix.BPF_JSET | unix.BPF_K
	opReturn  = unix.BPF_RET | unix.BPF_K
)

// Offsets in struct seccomp_data. Both processors that we know have the lower half first.
const (
	atCall = 0
	atArch = 4
	atArgs = 16
	oneArg = 8
)

// filterProgram grows by one instruction after the other.
type filterProgram struct{ code []unix.SockFilter }

func (p *filterProgram) add(op uint16, k uint32) {
	p.code = append(p.code, unix.SockFilter{Code: op, K: k})
}

// unless skips the next n instructions where the test fails.
func (p *filterProgram) unless(op uint16, k uint32, n int) {
	p.code = append(p.code, unix.SockFilter{Code: op, K: k, Jf: uint8(n)}) //nolint:gosec // G115: our own small blocks
}

func (p *filterProgram) fail(errno unix.Errno) {
	p.add(opReturn, unix.SECCOMP_RET_ERRNO|uint32(errno)) //nolint:gosec // G115: an error number
}

// head ends what runs code of another processor, whose calls have other numbers.
func (p *filterProgram) head(arch, newest uint32) {
	p.add(opLoad, atArch)
	p.code = append(p.code, unix.SockFilter{Code: opEqual, K: arch, Jt: 1})
	p.add(opReturn, unix.SECCOMP_RET_KILL_PROCESS)
	p.add(opLoad, atCall)
	p.unless(opGreater, newest, 1)
	p.fail(unix.ENOSYS)
}

func (p *filterProgram) refuse(nr uintptr, errno unix.Errno) {
	p.unless(opEqual, uint32(nr), 1) //nolint:gosec // G115: a call's number
	p.fail(errno)
}

// rule is a block that every other call jumps over.
func (p *filterProgram) rule(r argRule) {
	block := &filterProgram{}
	if r.creates != 0 {
		block.add(opLoad, atArgs+oneArg*r.creates)
		block.unless(opBits, unix.O_CREAT|unix.O_TMPFILE&^unix.O_DIRECTORY, 3)
	}
	block.add(opLoad, atArgs+oneArg*r.arg)
	if r.any != 0 {
		block.unless(opBits, r.any, 1)
		block.fail(r.errno)
	}
	for _, value := range r.among {
		block.unless(opEqual, value, 1)
		block.fail(r.errno)
	}
	for _, value := range r.only {
		block.unless(opEqual, value, 1)
		block.add(opReturn, unix.SECCOMP_RET_ALLOW)
	}
	if r.only != nil {
		block.fail(r.errno)
	} else {
		block.add(opReturn, unix.SECCOMP_RET_ALLOW)
	}
	p.unless(opEqual, uint32(r.nr), len(block.code)) //nolint:gosec // G115: a call's number
	p.code = append(p.code, block.code...)
}

// encode is the array of struct sock_filter as the kernel of this machine reads it.
func (p *filterProgram) encode() []byte {
	var out []byte
	for _, c := range p.code {
		out = binary.NativeEndian.AppendUint16(out, c.Code)
		out = append(out, c.Jt, c.Jf)
		out = binary.NativeEndian.AppendUint32(out, c.K)
	}
	return out
}
