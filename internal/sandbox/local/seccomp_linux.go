//go:build linux && (amd64 || arm64)

package local

import (
	"encoding/binary"

	"golang.org/x/sys/unix"
)

// The seccomp filter is a second line of defense behind the namespaces. The filter denies system calls that agents do
// not need and that kernel exploits use. The filter is a list of denied calls, so that the tools of projects work.
// Calls newer than the list do not exist in a sandbox.

// seccompFilter returns the filter in the format of bubblewrap, for the processor of this binary.
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

// absentCalls returns the calls that fail with ENOSYS, so that programs fall back to older calls.
func absentCalls() []uintptr {
	return []uintptr{
		unix.SYS_CLONE3, // its flags are in memory, which a filter cannot read
		unix.SYS_IO_URING_SETUP, unix.SYS_IO_URING_ENTER, unix.SYS_IO_URING_REGISTER,
	}
}

// deniedCalls returns the calls that manage the machine, mount, enter namespaces, load kernel code, or access keys and
// files past the file system.
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

// newNamespaces are the flags of clone and unshare that create a namespace.
const newNamespaces = unix.CLONE_NEWNS | unix.CLONE_NEWCGROUP | unix.CLONE_NEWUTS | unix.CLONE_NEWIPC |
	unix.CLONE_NEWUSER | unix.CLONE_NEWPID | unix.CLONE_NEWNET

// argumentRules returns the calls that are denied for some arguments.
func argumentRules() []argRule {
	rules := []argRule{
		{nr: unix.SYS_CLONE, arg: 0, any: newNamespaces, errno: unix.EPERM},
		{nr: unix.SYS_UNSHARE, arg: 0, any: newNamespaces | unix.CLONE_NEWTIME, errno: unix.EPERM},
		{nr: unix.SYS_IOCTL, arg: 1, among: []uint32{unix.TIOCSTI, tiocLinux}, errno: unix.EPERM},
		// A setuid executable could outlive the sandbox as a copy that keeps its mode.
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

// tiocLinux pastes into a console, as TIOCSTI does into a terminal.
const tiocLinux = 0x541c

// families returns the allowed socket families. The others are kernel code that agents do not need, or lead to the host
// of a virtual machine (vsock).
func families() []uint32 {
	return []uint32{unix.AF_UNIX, unix.AF_INET, unix.AF_INET6, unix.AF_NETLINK}
}

// argRule checks the lower 32 bits of one argument; the kernel uses no other bits of these arguments.
type argRule struct {
	nr  uintptr
	arg uint32
	// Index of the argument with the flags of open, if the rule applies to new files only; 0: it applies always.
	creates uint32
	any     uint32   // denied with any of these bits
	among   []uint32 // denied if equal to one of these
	only    []uint32 // denied if equal to none of these
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

// Offsets in struct seccomp_data. On amd64 and arm64 the lower half of an argument is first.
const (
	atCall = 0
	atArch = 4
	atArgs = 16
	oneArg = 8
)

// filterProgram is a growing list of instructions.
type filterProgram struct{ code []unix.SockFilter }

func (p *filterProgram) add(op uint16, k uint32) {
	p.code = append(p.code, unix.SockFilter{Code: op, K: k})
}

// unless appends a test that skips the next n instructions if it fails.
func (p *filterProgram) unless(op uint16, k uint32, n int) {
	p.code = append(p.code, unix.SockFilter{Code: op, K: k, Jf: uint8(n)}) //nolint:gosec // G115: blocks are small
}

func (p *filterProgram) fail(errno unix.Errno) {
	p.add(opReturn, unix.SECCOMP_RET_ERRNO|uint32(errno)) //nolint:gosec // G115: an error number
}

// head appends the instructions that kill code of another processor, because its calls have other numbers, and that
// deny newer calls.
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

// rule appends a block of instructions that other calls skip.
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

// encode returns the array of struct sock_filter in the byte order of this machine.
func (p *filterProgram) encode() []byte {
	var out []byte
	for _, c := range p.code {
		out = binary.NativeEndian.AppendUint16(out, c.Code)
		out = append(out, c.Jt, c.Jf)
		out = binary.NativeEndian.AppendUint32(out, c.K)
	}
	return out
}
