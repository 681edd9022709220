package daytona

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"

	"golang.org/x/sys/unix"

	"github.com/omoi-dev/omoi/internal/testkit/daytona/toolbox"
)

// ownProgram is opened and handed on: a sandbox may run what it cannot reach by a path.
func ownProgram() string { return "/proc/self/exe" }

// socketAt is short however deep the folder is: the system takes no long paths of sockets.
func socketAt(dir *os.File, name string) string {
	return fmt.Sprintf("/proc/self/fd/%d/%s", dir.Fd(), name)
}

const handedProgram = "/proc/self/fd/3"

// command is the daemon in its sandbox, not started yet.
func (c cell) command() *exec.Cmd {
	argv := []string{handedProgram, toolbox.Argument}
	dir := filepath.Join(c.dir, "home")
	if c.wrapped {
		argv = append(append([]string{"bwrap", "--info-fd", strconv.Itoa(fdInfo)}, c.wrap()...), argv...)
		dir = "/"
	}
	cmd := exec.Command(argv[0], argv[1:]...) //nolint:gosec,noctx // ends by its pipe, with all that it started
	cmd.Env, cmd.Dir = []string{"PATH=" + boxPath}, dir
	cmd.SysProcAttr = &syscall.SysProcAttr{Setsid: true}
	if c.wrapped {
		cmd.SysProcAttr.Pdeathsig = syscall.SIGKILL // and bubblewrap takes the rest along
	}
	if c.uid >= 0 {
		cmd.SysProcAttr.Credential = &syscall.Credential{Uid: uint32(c.uid), Gid: uint32(c.uid)} //nolint:gosec // G115: from our own small range
	}
	return cmd
}

// fdInfo is where bubblewrap tells who is the first inside.
const fdInfo = 6

// firstInside reads what bubblewrap tells, and answers how to wait for the end of the first
// process inside: that of all others comes before.
func firstInside(told *os.File) func() {
	var info struct {
		Child int `json:"child-pid"`
	}
	if err := json.NewDecoder(told).Decode(&info); err != nil {
		return func() {} // there is none
	}
	fd, err := unix.PidfdOpen(info.Child, 0)
	if err != nil {
		return func() {} // it has ended
	}
	return func() {
		defer unix.Close(fd) //nolint:errcheck // only polled
		for {
			_, err := unix.Poll([]unix.PollFd{{Fd: int32(fd), Events: unix.POLLIN}}, -1) //nolint:gosec // G115: a descriptor
			if !errors.Is(err, unix.EINTR) {
				return
			}
		}
	}
}

// wrap are bubblewrap's options. Home and /tmp can be written, all else is the machine's
// programs, read-only.
func (c cell) wrap() []string {
	args := []string{
		"--unshare-user", "--uid", "1000", "--gid", "1000", "--unshare-pid", "--unshare-ipc", "--unshare-uts",
		"--unshare-cgroup-try", "--die-with-parent", "--new-session", "--hostname", "daytona", "--clearenv",
	}
	if c.closed {
		args = append(args, "--disable-userns")
	}
	if c.offline {
		args = append(args, "--unshare-net")
	}
	args = append(args, programBinds()...)
	args = append(args, "--proc", "/proc", "--dev", "/dev", "--tmpfs", "/dev/shm")
	for _, name := range []string{
		"ssl", "pki", "ca-certificates", "alternatives", "ld.so.cache", "ld.so.conf", "ld.so.conf.d",
		"nsswitch.conf", "localtime", "protocols", "services", "mime.types", "resolv.conf",
	} {
		args = append(args, "--ro-bind-try", "/etc/"+name, "/etc/"+name)
	}
	for _, name := range []string{"passwd", "group", "hosts"} {
		args = append(args, "--ro-bind", filepath.Join(c.dir, "etc", name), "/etc/"+name)
	}
	return append(args, "--bind", filepath.Join(c.dir, "home"), boxHome, "--bind", filepath.Join(c.dir, "tmp"), "/tmp",
		"--chdir", boxHome, "--remount-ro", "/dev", "--remount-ro", "/")
}

func programBinds() []string {
	args := []string{"--ro-bind", "/usr", "/usr"}
	for _, name := range []string{"/bin", "/sbin", "/lib", "/lib32", "/lib64", "/libx32"} {
		if target, err := os.Readlink(name); err == nil {
			args = append(args, "--symlink", target, name)
		} else {
			args = append(args, "--ro-bind-try", name, name)
		}
	}
	for _, name := range []string{"/opt", "/nix", "/gnu"} {
		args = append(args, "--ro-bind-try", name, name)
	}
	return args
}

// probe tries to wrap as the sandboxes will be, and says why it does not work.
func probe(ctx context.Context, c cell) error {
	if _, err := exec.LookPath("bwrap"); err != nil {
		return errors.New("bubblewrap is not installed")
	}
	if err := c.prepare(); err != nil {
		return err
	}
	cmd := exec.CommandContext(ctx, "bwrap", append(c.wrap(), "true")...) //nolint:gosec // our own options
	cmd.Env, cmd.Dir, cmd.SysProcAttr = []string{"PATH=" + boxPath}, "/", c.command().SysProcAttr
	out, err := cmd.CombinedOutput()
	if err != nil {
		err = fmt.Errorf("bubblewrap does not work here: %s: %w", strings.TrimSpace(string(out)), err)
	}
	return errors.Join(err, c.demolish(ctx))
}
