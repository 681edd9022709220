package local

import (
	"cmp"
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strconv"
	"strings"
	"syscall"
	"time"

	"golang.org/x/sys/unix"

	"github.com/omoi-dev/omoi/internal/sandbox"
)

// wrapping are the features of bubblewrap that work on this machine.
type wrapping struct {
	path       string // of bubblewrap
	ownNet     bool   // own network namespace
	denyUserNS bool   // denies nested user namespaces
	filter     []byte // seccomp filter; empty: none
}

const probeTimeout = 10 * time.Second

// probeWrap runs true in a test sandbox, and returns the strongest features that work.
func (p *Provider) probeWrap() (wrapping, error) {
	path, err := exec.LookPath("bwrap")
	if err != nil {
		return wrapping{}, fmt.Errorf("bubblewrap is not installed: %w", err)
	}
	dir, err := os.MkdirTemp(p.cfg.Root, ".probe-")
	if err != nil {
		return wrapping{}, unavailable("create a probe folder", err)
	}
	defer os.RemoveAll(dir) //nolint:errcheck // an empty folder may stay
	m := meta{Labels: sandbox.Labels{SandboxID: "probe"}, UID: -1, Mode: modeBubblewrap}
	if os.Geteuid() == 0 {
		m.UID = p.uids.base
	}
	if err := p.populate(folder(dir), m); err != nil {
		return wrapping{}, err
	}
	var first error
	for _, w := range wrappings(path) {
		if err = p.tryWrap(folder(dir), m, w); err == nil {
			return w, nil
		}
		first = cmp.Or(first, err)
	}
	return wrapping{}, first
}

// wrappings returns the combinations of features, strongest first.
func wrappings(path string) []wrapping {
	var all []wrapping
	for _, filter := range [][]byte{seccompFilter(), nil} {
		all = append(all, wrapping{path, true, true, filter}, wrapping{path, true, false, filter},
			wrapping{path, false, true, filter}, wrapping{path, false, false, filter})
	}
	return all
}

func (p *Provider) tryWrap(f folder, m meta, w wrapping) error {
	m.Network = sandbox.NetworkHost
	if w.ownNet {
		m.Network = sandbox.NetworkNone
	}
	ctx, cancel := context.WithTimeout(context.Background(), probeTimeout)
	defer cancel()
	probe := &Provider{cfg: p.cfg, wrap: w}
	args := probe.wrapArgs(f, m, sandbox.Workspace, nil)
	cmd := exec.CommandContext(ctx, w.path) //nolint:gosec // G204: bubblewrap, found on PATH
	cmd.Env, cmd.Dir = []string{}, "/"
	if len(w.filter) > 0 {
		filter, err := memoryFile("filter", w.filter)
		if err != nil {
			return err
		}
		defer filter.Close() //nolint:errcheck // the program has its own descriptor
		args, cmd.ExtraFiles = append([]string{"--seccomp", "3"}, args...), []*os.File{filter}
	}
	cmd.Args = append(append(cmd.Args, args...), "true")
	cmd.SysProcAttr = &syscall.SysProcAttr{Pdeathsig: syscall.SIGKILL, Credential: credential(m.UID)}
	out, err := withoutPrivileges(cmd)
	if err != nil {
		return fmt.Errorf("%s: %w", lastLine(out), err)
	}
	return nil
}

// withoutPrivileges runs cmd with no_new_privs, as a shim does: a setuid bubblewrap does not work then.
// withoutPrivileges uses a thread that ends afterwards.
func withoutPrivileges(cmd *exec.Cmd) (out []byte, err error) {
	done := make(chan struct{})
	go func() {
		defer close(done)
		runtime.LockOSThread()
		if err = unix.Prctl(unix.PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0); err == nil {
			out, err = cmd.CombinedOutput()
		}
	}()
	<-done
	return out, err
}

// credential returns nil for the user of the worker.
func credential(uid int) *syscall.Credential {
	if uid < 0 {
		return nil
	}
	return &syscall.Credential{Uid: uint32(uid), Gid: uint32(uid)} //nolint:gosec // G115: in a small range
}

// Maximum sizes of the memory file systems in a sandbox. Their content counts as memory of the sandbox. So each is also
// limited to a share of the memory limit, and a full one does not exceed the memory limit.
const (
	sizeTmp = 512 << 20
	sizeShm = 64 << 20

	shareTmp = 4
	shareShm = 16
)

func (m meta) memoryFor(most, share int64) string {
	if m.Limits.MemoryBytes > 0 {
		most = min(most, m.Limits.MemoryBytes/share)
	}
	return strconv.FormatInt(most, 10)
}

// wrapArgs returns the options of bubblewrap. The last ones make the root read-only. The options contain secrets, so
// they are sent by descriptor and never by command line.
func (p *Provider) wrapArgs(f folder, m meta, dir string, env map[string]string) []string {
	args := []string{
		"--unshare-user", "--unshare-pid", "--unshare-ipc", "--unshare-uts", "--unshare-cgroup",
		"--die-with-parent", "--new-session", "--hostname", "omoi", "--clearenv",
	}
	if p.wrap.denyUserNS {
		args = append(args, "--disable-userns")
	}
	args = append(args, systemBinds()...)
	args = append(args, "--proc", "/proc", "--dev", "/dev",
		"--size", m.memoryFor(sizeTmp, shareTmp), "--perms", "1777", "--tmpfs", "/tmp",
		"--size", m.memoryFor(sizeShm, shareShm), "--perms", "1777", "--tmpfs", "/dev/shm")
	args = append(args, etcBinds(f)...)
	args = append(args, p.programBinds()...)
	args = append(args, p.networkBinds(m.Network)...)
	args = append(args, memoryBinds(m.Cgroups)...)
	args = append(args,
		"--bind", f.at(dirWS), sandbox.Workspace, "--bind", f.at(dirHome), sandbox.Home,
		"--bind", f.at(dirOmoi), sandbox.Dir, "--chdir", dir)
	for key, value := range env {
		args = append(args, "--setenv", key, value)
	}
	return append(args, "--remount-ro", "/dev", "--remount-ro", "/")
}

// systemBinds mounts the programs of the host read-only.
func systemBinds() []string {
	args := []string{"--ro-bind", "/usr", "/usr"}
	for _, name := range []string{"/bin", "/sbin", "/lib", "/lib32", "/lib64", "/libx32"} {
		info, err := os.Lstat(name)
		switch {
		case err != nil:
		case info.Mode()&os.ModeSymlink != 0:
			if target, err := os.Readlink(name); err == nil {
				args = append(args, "--symlink", target, name)
			}
		default:
			args = append(args, "--ro-bind", name, name)
		}
	}
	return args
}

// programBinds mounts Config.Programs. These mounts follow the memory file systems, below which a program may be.
func (p *Provider) programBinds() []string {
	var args []string
	for _, path := range p.programs {
		args = append(args, "--ro-bind-try", path, path)
	}
	return args
}

func etcBinds(f folder) []string {
	var args []string
	for _, name := range []string{
		"ssl", "pki", "ca-certificates", "alternatives", "ld.so.cache", "ld.so.conf", "ld.so.conf.d",
		"nsswitch.conf", "localtime", "protocols", "services", "mime.types",
	} {
		args = append(args, "--ro-bind-try", "/etc/"+name, "/etc/"+name)
	}
	if isDir("/etc/ssl/private") { // keys that a group of the worker's user may read
		args = append(args, "--size", "4096", "--perms", "0", "--tmpfs", "/etc/ssl/private")
	}
	for _, name := range []string{"passwd", "group", "hosts"} {
		args = append(args, "--ro-bind", filepath.Join(f.at(dirEtc), name), "/etc/"+name)
	}
	return args
}

func (p *Provider) networkBinds(n sandbox.Network) []string {
	args := []string{"--ro-bind-try", "/etc/resolv.conf", "/etc/resolv.conf"}
	if n == sandbox.NetworkNone {
		args = []string{"--unshare-net"}
	}
	if p.cfg.APISocketDir != "" {
		// A read-only socket still accepts connections.
		args = append(args, "--ro-bind", p.cfg.APISocketDir, "/run/omoi")
	}
	return args
}

// populate creates the folders and the user database of a sandbox.
func (p *Provider) populate(f folder, m meta) error {
	for _, name := range []string{dirWS, dirHome, dirOmoi, dirTmp} {
		if err := makeOwned(f.at(name), m.UID); err != nil {
			return err
		}
	}
	if err := os.MkdirAll(f.at(dirEtc), 0o755); err != nil { //nolint:gosec // G301: the sandbox reads it
		return unavailable("create a folder", err)
	}
	uid, gid := m.UID, m.UID
	if uid < 0 {
		uid, gid = os.Geteuid(), os.Getegid()
	}
	for name, text := range map[string]string{
		"passwd": fmt.Sprintf("agent:x:%d:%d:agent:%s:/bin/sh\nnobody:x:65534:65534:nobody:/:/usr/sbin/nologin\n", uid, gid, sandbox.Home),
		"group":  fmt.Sprintf("agent:x:%d:\nnogroup:x:65534:\n", gid),
		"hosts":  hosts(m.Network),
	} {
		if err := os.WriteFile(filepath.Join(f.at(dirEtc), name), []byte(text), 0o644); err != nil { //nolint:gosec // G306: the sandbox reads it
			return unavailable("write "+name, err)
		}
	}
	return f.closeToOthers(m.UID)
}

// closeToOthers lets only the sandbox's own user enter its folder, so that other users of the machine cannot reach
// files in it, whatever their mode.
func (f folder) closeToOthers(uid int) error {
	mode := os.FileMode(0o700)
	if uid >= 0 {
		mode = 0o710
		if err := os.Lchown(string(f), 0, uid); err != nil {
			return unavailable("change the owner of a folder", err)
		}
	}
	if err := os.Chmod(string(f), mode); err != nil { // MkdirAll is subject to the umask
		return unavailable("restrict a folder to its user", err)
	}
	return nil
}

// hosts returns the hosts file: the names of the host too if its network is shared.
func hosts(n sandbox.Network) string {
	own := "127.0.0.1 localhost omoi\n::1 localhost\n"
	if n == sandbox.NetworkNone {
		return own
	}
	text, _ := os.ReadFile("/etc/hosts")
	return own + string(text)
}

func makeOwned(path string, uid int) error {
	if err := os.MkdirAll(path, 0o700); err != nil {
		return unavailable("create a folder", err)
	}
	if uid < 0 {
		return nil
	}
	if err := os.Lchown(path, uid, uid); err != nil {
		return unavailable("change the owner of a folder", err)
	}
	return nil
}

func lastLine(out []byte) string {
	lines := strings.Split(strings.TrimSpace(string(out)), "\n")
	return lines[len(lines)-1]
}
