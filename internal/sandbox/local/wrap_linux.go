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

// wrapping is what bubblewrap can do here, found by doing.
type wrapping struct {
	path       string // of the program
	ownNet     bool   // a network of its own
	denyUserNS bool   // no user namespaces within
	filter     []byte // of system calls; empty: none
}

const probeTimeout = 10 * time.Second

// probeWrap runs `true` in a sandbox like the real ones, with as much as works.
func (p *Provider) probeWrap() (wrapping, error) {
	path, err := exec.LookPath("bwrap")
	if err != nil {
		return wrapping{}, fmt.Errorf("bubblewrap is not installed: %w", err)
	}
	dir, err := os.MkdirTemp(p.cfg.Root, ".probe-")
	if err != nil {
		return wrapping{}, unavailable("make a probe folder", err)
	}
	defer os.RemoveAll(dir) //nolint:errcheck // a probe's empty folder; the next start does not mind
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

// wrappings are what bubblewrap may be able to do, the best first.
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
		defer filter.Close() //nolint:errcheck // the program has its own
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

// withoutPrivileges runs cmd as a shim does: with no way to new privileges, so that a setuid
// bubblewrap is not found to work and then does not. The thread that gave them up ends.
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

// credential is nil for the user of omoi itself.
func credential(uid int) *syscall.Credential {
	if uid < 0 {
		return nil
	}
	return &syscall.Credential{Uid: uint32(uid), Gid: uint32(uid)} //nolint:gosec // G115: from our own small range
}

// Sizes of the memory file systems inside, at most. What is in them counts as the sandbox's
// memory, so that they are also a share of that: full, they must not end it.
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

// wrapArgs are bubblewrap's options, last those that close the root. They carry secrets:
// they go by a descriptor, never by a command line.
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

// systemBinds are the programs of the host, read-only.
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

// programBinds come after the memory file systems, in whose place a program may lie.
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
	if isDir("/etc/ssl/private") { // keys, which a group of our user may read
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
		args = append(args, "--ro-bind", p.cfg.APISocketDir, "/run/omoi") // a socket connects all the same
	}
	return args
}

// populate makes the folders and the files that say who is inside.
func (p *Provider) populate(f folder, m meta) error {
	for _, name := range []string{dirWS, dirHome, dirOmoi, dirTmp} {
		if err := makeOwned(f.at(name), m.UID); err != nil {
			return err
		}
	}
	if err := os.MkdirAll(f.at(dirEtc), 0o755); err != nil { //nolint:gosec // G301: read from inside
		return unavailable("make a folder", err)
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
		if err := os.WriteFile(filepath.Join(f.at(dirEtc), name), []byte(text), 0o644); err != nil { //nolint:gosec // G306: read from inside
			return unavailable("write "+name, err)
		}
	}
	return f.closeToOthers(m.UID)
}

// closeToOthers lets only the sandbox's own user walk through its folder. What an agent leaves
// there, whatever its bits, nobody else of this machine reaches.
func (f folder) closeToOthers(uid int) error {
	mode := os.FileMode(0o700)
	if uid >= 0 {
		mode = 0o710
		if err := os.Lchown(string(f), 0, uid); err != nil {
			return unavailable("give a folder to its user", err)
		}
	}
	if err := os.Chmod(string(f), mode); err != nil { // whatever the umask
		return unavailable("close a folder to others", err)
	}
	return nil
}

// hosts are the names of the host too where its network is shared.
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
		return unavailable("make a folder", err)
	}
	if uid < 0 {
		return nil
	}
	if err := os.Lchown(path, uid, uid); err != nil {
		return unavailable("give a folder to its user", err)
	}
	return nil
}

func lastLine(out []byte) string {
	lines := strings.Split(strings.TrimSpace(string(out)), "\n")
	return lines[len(lines)-1]
}
