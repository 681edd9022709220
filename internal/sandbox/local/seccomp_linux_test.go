package local_test

import (
	"runtime"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/omoi-dev/omoi/internal/sandbox"
	"github.com/omoi-dev/omoi/internal/sandbox/local"
)

// calls makes system calls by number and prints the error of each; 0 is success. Their arguments are such that no call
// has an effect.
const calls = `
import ctypes, errno, os, socket, sys
libc = ctypes.CDLL(None, use_errno=True)
def call(name, nr, *args):
    ctypes.set_errno(0)
    libc.syscall(ctypes.c_long(nr), *[ctypes.c_long(a) for a in args])
    print(name, errno.errorcode.get(ctypes.get_errno(), 0))
amd64 = sys.argv[1] == "amd64"
call("keyctl", 250 if amd64 else 219, 0, -3, 0, 0, 0)          # the id of our session's keys
call("add_key", 248 if amd64 else 217, 0, 0, 0, 0, 0)
call("bpf", 321 if amd64 else 280, 0, 0, 0)
call("perf_event_open", 298 if amd64 else 241, 0, 0, 0, 0, 0)
call("userfaultfd", 323 if amd64 else 282, 1 << 30)
call("io_uring_setup", 425, 0, 0)
call("clone3", 435, 0, 0)
call("unshare-user", 272 if amd64 else 97, 0x10000000)
call("unshare-files", 272 if amd64 else 97, 0x400)
call("setns", 308 if amd64 else 268, -1, 0)
call("mount", 165 if amd64 else 40, 0, 0, 0, 0, 0)
call("newer", 600)
call("fchmodat-suid", 268 if amd64 else 53, -100, 0, 0o4755)
for family in (38, 40, 17):  # algorithms of the kernel, the host of a virtual machine, raw packets
    call("socket-%d" % family, 41 if amd64 else 198, family, 3, 0)
def do(name, act):
    try: act(); print(name, 0)
    except OSError as e: print(name, errno.errorcode[e.errno])
open("tool", "w").close()
do("chmod", lambda: os.chmod("tool", 0o755))
do("chmod-suid", lambda: os.chmod("tool", 0o4755))
do("fchmod-suid", lambda: os.fchmod(os.open("tool", os.O_RDONLY), 0o6755))
do("create", lambda: os.open("fresh", os.O_CREAT | os.O_WRONLY, 0o755))
do("create-suid", lambda: os.open("evil", os.O_CREAT | os.O_WRONLY, 0o4755))
do("tmpfile-suid", lambda: os.open(".", os.O_TMPFILE | os.O_WRONLY, 0o4755))
do("mknod-suid", lambda: os.mknod("node", 0o104755))
do("fork", lambda: os.waitpid(os.fork() or os._exit(0), 0))
for family in (socket.AF_UNIX, socket.AF_INET, socket.AF_INET6, socket.AF_NETLINK):
    do("socket-%s" % family.name, lambda: socket.socket(family, socket.SOCK_DGRAM).close())
do("socketpair", lambda: socket.socketpair())
`

// TestSeccomp makes calls that the filter denies, and calls that it must allow.
func TestSeccomp(t *testing.T) {
	t.Parallel()
	needWrap(t)
	if runtime.GOARCH != "amd64" && runtime.GOARCH != "arm64" {
		t.Skip("SKIPPED: there is no filter for this processor")
	}
	p, labels := ensure(t, local.Config{Root: newRoot(t), Isolation: local.IsolationRequire}, sandbox.Spec{})
	require.Contains(t, p.Isolation(), "seccomp")
	needPython(t, p, labels)
	out, code := run(t, p, labels, "python3", "-c", calls, runtime.GOARCH)
	require.Zero(t, code, out)
	require.Equal(t, `keyctl EPERM
add_key EPERM
bpf EPERM
perf_event_open EPERM
userfaultfd EPERM
io_uring_setup ENOSYS
clone3 ENOSYS
unshare-user EPERM
unshare-files 0
setns EPERM
mount EPERM
newer ENOSYS
fchmodat-suid EPERM
socket-38 EAFNOSUPPORT
socket-40 EAFNOSUPPORT
socket-17 EAFNOSUPPORT
chmod 0
chmod-suid EPERM
fchmod-suid EPERM
create 0
create-suid EPERM
tmpfile-suid EPERM
mknod-suid EPERM
fork 0
socket-AF_UNIX 0
socket-AF_INET 0
socket-AF_INET6 0
socket-AF_NETLINK 0
socketpair 0
`, out)
}
