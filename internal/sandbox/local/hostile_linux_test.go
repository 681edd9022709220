package local_test

import (
	"bytes"
	"fmt"
	"log/slog"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/omoi-dev/omoi/internal/sandbox"
	"github.com/omoi-dev/omoi/internal/sandbox/conformance"
	"github.com/omoi-dev/omoi/internal/sandbox/local"
	"github.com/omoi-dev/omoi/internal/task"
)

// theft tries to access data outside of the sandbox, and prints GOT for each success. Its arguments: a file of the
// host, the folder of another sandbox, a socket of the host, the home of the host, and a value of the server's
// environment.
const theft = `
file=$1 other=$2 socket=$3 home=$4 planted=$5
got() { echo "GOT $*"; }
cat "$file" 2>/dev/null && got the file of the host
ls -A /etc/ssl/private 2>/dev/null | grep -q . && got the private keys
ls -A "$home" 2>/dev/null | grep -q . && got the home of the host
ls "$other" 2>/dev/null && got the folder of another sandbox
cat "$other/ws/secret" "$other/omoi/secret" 2>/dev/null && got the secret of another sandbox
cat /proc/[0-9]*/environ 2>/dev/null | grep -aq "$planted" && got the environment of the server
for pid in /proc/[0-9]*; do cat "$pid/root$file" 2>/dev/null && got "the file by $pid/root"; done
for s in "$socket" /var/run/docker.sock /run/docker.sock /run/containerd/containerd.sock /run/dbus/system_bus_socket; do
	test -e "$s" && got "the socket $s"
done
for f in /proc/sys/kernel/core_pattern /proc/sys/kernel/modprobe /proc/sys/vm/drop_caches /proc/sysrq-trigger /sys/kernel/uevent_helper; do
	(echo x > "$f") 2>/dev/null && got "to write $f"
done
for f in /usr/bin/omoi-planted /etc/omoi-planted /etc/passwd /dev/omoi-planted /omoi-planted /run/omoi-planted; do
	(echo x >> "$f") 2>/dev/null && got "to write $f"
done
cat /etc/shadow /proc/kcore /dev/mem /dev/sda /dev/vda 2>/dev/null | head -c 1 | grep -q . && got a device or shadow
mount -t tmpfs none /mnt 2>/dev/null && got a mount
unshare -Ur true 2>/dev/null && got a user namespace
unshare -Urm true 2>/dev/null && got a mount namespace
nsenter -t 1 -m -u -n true 2>/dev/null && got the namespaces of process 1
mknod disk b 8 0 2>/dev/null && got a device node
chown 0:0 . 2>/dev/null && got a folder of root
ls /sys/fs/cgroup 2>/dev/null | grep -q . && got control groups
dmesg 2>/dev/null | grep -q . && got the log of the kernel
echo done
`

func TestIsolation_HostileScript(t *testing.T) {
	t.Parallel()
	needWrap(t)
	cfg := local.Config{Root: newRoot(t), Isolation: local.IsolationRequire}
	p, labels := ensure(t, cfg, sandbox.Spec{})
	_, victim := ensure(t, cfg, sandbox.Spec{})
	for _, path := range []string{"/workspace/secret", "/omoi/secret"} {
		require.NoError(t, p.WriteFile(t.Context(), victim, path, 0o644, strings.NewReader("of another")))
	}
	start(t, p, victim, "sleep", "600")
	file := filepath.Join(filepath.Dir(cfg.Root), "readable")
	require.NoError(t, os.WriteFile(file, []byte("of the host"), 0o644))
	socket := filepath.Join(filepath.Dir(cfg.Root), "docker.sock")
	listener, err := (&net.ListenConfig{}).Listen(t.Context(), "unix", socket)
	require.NoError(t, err)
	t.Cleanup(func() { _ = listener.Close() })
	require.NoError(t, os.Chmod(socket, 0o666))
	home, err := os.UserHomeDir()
	if err != nil || home == "/" {
		home = "/root"
	}
	out, _ := run(t, p, labels, "sh", "-c", theft, "sh", file, folderOf(cfg, victim), socket, home, conformance.PlantedEnv)
	require.Equal(t, "done\n", out)

	plain, bare := ensure(t, local.Config{Root: newRoot(t), Isolation: local.IsolationNone}, sandbox.Spec{})
	out, _ = run(t, plain, bare, "sh", "-c", theft, "sh", file, folderOf(cfg, victim), socket, home, conformance.PlantedEnv)
	require.Contains(t, out, "GOT the file of the host", "the script can steal where there is no wall")
	require.Contains(t, out, "GOT the socket "+socket)
}

func folderOf(cfg local.Config, labels sandbox.Labels) string {
	return filepath.Join(cfg.Root, task.SandboxName(labels.SandboxID))
}

// planting leaves hostile files for processes that read the workspace from outside.
const planting = `
ln -s "$1" link; ln -s / root; ln -s "$(dirname "$1")" folder; mkfifo pipe
cp "$(command -v sh)" shell; chmod 4755 shell 2>/dev/null && echo GOT a setuid shell
chmod 777 . shell "$HOME" "$OMOI_DIR"; mkdir -m 1777 open; ln "$1" hard 2>/dev/null && echo GOT a second name
echo done
`

// TestPlantedTraps reads the workspace as the host does, and as other users of the host could.
func TestPlantedTraps(t *testing.T) {
	t.Parallel()
	needWrap(t)
	cfg := local.Config{Root: newRoot(t), Isolation: local.IsolationRequire}
	p, labels := ensure(t, cfg, sandbox.Spec{})
	file := filepath.Join(filepath.Dir(cfg.Root), "readable")
	require.NoError(t, os.WriteFile(file, []byte("of the host"), 0o644))
	out, _ := run(t, p, labels, "sh", "-c", planting, "sh", file)
	require.Equal(t, "done\n", out)
	for _, path := range []string{"link", "root" + file, "folder/readable", "pipe"} {
		_, err := p.ReadFile(t.Context(), labels, "/workspace/"+path)
		require.Equal(t, task.CodeInvalid, task.CodeOf(err), path)
		require.Error(t, p.WriteFile(t.Context(), labels, "/workspace/folder/readable", 0o644, strings.NewReader("x")))
	}
	info, err := os.Stat(folderOf(cfg, labels))
	require.NoError(t, err)
	require.Zero(t, info.Mode().Perm()&0o007, "others cannot enter, whatever stands below")
	require.NoError(t, filepath.WalkDir(folderOf(cfg, labels), func(path string, entry os.DirEntry, err error) error {
		require.NoError(t, err)
		info, err := entry.Info()
		require.NoError(t, err)
		require.Zero(t, info.Mode()&os.ModeSetuid, path)
		return nil
	}))
	asNobody(t, "cat", filepath.Join(folderOf(cfg, labels), "ws", "shell"))
	require.NoError(t, p.Delete(t.Context(), labels))
	text, err := os.ReadFile(file)
	require.NoError(t, err)
	require.Equal(t, "of the host", string(text))
}

// asNobody checks that another user of the host is refused.
func asNobody(t *testing.T, args ...string) {
	t.Helper()
	if os.Geteuid() != 0 {
		t.Log("not tried as another user, since only root can be one")
		return
	}
	cmd := exec.CommandContext(t.Context(), args[0], args[1:]...)
	cmd.SysProcAttr = &syscall.SysProcAttr{Credential: &syscall.Credential{Uid: 65534, Gid: 65534}}
	out, err := cmd.CombinedOutput()
	require.Error(t, err)
	require.Contains(t, string(out), "Permission denied")
}

// TestLimits_GreedyScripts runs scripts that take all resources, next to another sandbox.
func TestLimits_GreedyScripts(t *testing.T) {
	t.Parallel()
	needWrap(t)
	limits := sandbox.Limits{MemoryBytes: 128 << 20, Processes: 64, DiskBytes: smallDisk, CPUs: 0.5}
	for name, c := range map[string]struct {
		needs  []string // one of these features
		script string
		seen   func(*local.Provider, sandbox.Labels) bool
	}{
		"forks": {[]string{"cgroup-pids", "rlimit-processes"}, `echo up; more() { more | more & }; more; while :; do :; done`, nil},
		"memory": {[]string{"cgroup-memory"}, `echo up; awk 'BEGIN { x = "0123456789abcdef"; while (1) { x = x "" x } }'; sleep 600`, func(p *local.Provider, l sandbox.Labels) bool {
			return inspect(t, p, l).OOM
		}},
		"temporary files": {[]string{"bubblewrap"}, `echo up; cat /dev/zero > /tmp/full; cat /dev/zero > /dev/shm/full; touch filled; sleep 600`, func(p *local.Provider, l sandbox.Labels) bool {
			r, err := p.ReadFile(t.Context(), l, "/workspace/filled")
			return err == nil && r.Close() == nil && !inspect(t, p, l).OOM
		}},
		"disk": {[]string{"disk-watch"}, `echo up; i=0; while :; do i=$((i+1)); head -c 3000000 /dev/zero > $i; sleep 0.02; done`, func(p *local.Provider, l sandbox.Labels) bool {
			return inspect(t, p, l).DiskFull
		}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			cfg := local.Config{Root: newRoot(t), Isolation: local.IsolationRequire}
			p, labels := ensure(t, cfg, sandbox.Spec{Limits: limits})
			if !slices.ContainsFunc(c.needs, func(part string) bool { return slices.Contains(p.Isolation(), part) }) {
				t.Skipf("SKIPPED: %s is not active here (%v)", c.needs, p.Isolation())
			}
			_, neighbour := ensure(t, cfg, sandbox.Spec{})
			start(t, p, labels, "sh", "-c", c.script)
			if c.seen != nil {
				require.Eventually(t, func() bool { return c.seen(p, labels) }, 30*time.Second, 20*time.Millisecond)
			}
			_, code := run(t, p, neighbour, "sh", "-c", "sleep 0.01 & wait; echo fine > file")
			require.Zero(t, code, "the neighbour")
			require.NoError(t, p.Delete(t.Context(), labels))
			require.Equal(t, sandbox.StateGone, inspect(t, p, labels).State)
		})
	}
}

// TestLimits_Processes starts more processes than allowed, with any of the process limits.
func TestLimits_Processes(t *testing.T) {
	t.Parallel()
	p, labels := ensure(t, local.Config{Root: newRoot(t)}, sandbox.Spec{Limits: sandbox.Limits{Processes: 30}})
	if !slices.ContainsFunc([]string{"cgroup-pids", "rlimit-processes"}, func(part string) bool { return slices.Contains(p.Isolation(), part) }) {
		t.Skipf("SKIPPED: nothing limits processes here (%v)", p.Isolation())
	}
	out, _ := run(t, p, labels, "sh", "-c", `for i in $(seq 80); do sleep 60 & done; echo all of them`)
	require.NotContains(t, out, "all of them")
	_, code := run(t, p, labels, "sh", "-c", "true & wait")
	require.Zero(t, code, "they are gone with their command")
}

// TestNew_WarnsOfMissingIsolation checks the log of a worker's start.
func TestNew_WarnsOfMissingIsolation(t *testing.T) {
	t.Parallel()
	var log bytes.Buffer
	p, err := local.New(local.Config{Root: newRoot(t)}, slog.New(slog.NewTextHandler(&log, nil)))
	require.NoError(t, err)
	for _, part := range []string{"cgroup-memory", "cgroup-cpu"} {
		require.Equal(t, !slices.Contains(p.Isolation(), part), strings.Contains(log.String(), part), "%s: %s", part, log.String())
	}
}

// TestDelete_HidingProcesses leaves processes that ignore signals and leave their parents.
func TestDelete_HidingProcesses(t *testing.T) {
	t.Parallel()
	needWrap(t)
	p, labels := ensure(t, local.Config{Root: newRoot(t), Isolation: local.IsolationRequire}, sandbox.Spec{})
	tag := fmt.Sprintf("76543.%d", os.Getpid())
	start(t, p, labels, "sh", "-c", `
		(trap '' TERM INT HUP QUIT; setsid sleep `+tag+`1 &)
		(setsid sh -c 'env -i setsid sleep `+tag+`2 & exit' &)
		nohup sh -c 'while :; do sleep `+tag+`3; done' >/dev/null 2>&1 &
		(exec -a '[kworker/0:1]' sleep `+tag+`4 2>/dev/null || sleep `+tag+`4) &
		sleep 600`)
	for n := 1; n <= 4; n++ {
		require.Eventually(t, func() bool { return seen(t, fmt.Sprintf("%s%d", tag, n)) }, 30*time.Second, 5*time.Millisecond)
	}
	require.NoError(t, p.Delete(t.Context(), labels))
	require.False(t, seen(t, tag))
}
