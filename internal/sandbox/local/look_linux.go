package local

import (
	"bytes"
	"context"
	"fmt"
	"log/slog"
	"os"
	"strconv"
	"strings"
	"time"

	"golang.org/x/sys/unix"

	"github.com/omoi-dev/omoi/internal/proctable"
	"github.com/omoi-dev/omoi/internal/task"
	"github.com/omoi-dev/omoi/internal/wait"
)

// envMark is the environment variable that names the sandbox and the kind of each process that the provider starts.
// envMark helps to find processes without a namespace. envMark is not proof, because a program can change its
// environment.
const envMark = "OMOI_SANDBOX_MARK"

// scope selects processes of a sandbox.
type scope int

const (
	scopeAgent scope = iota // the started command and its descendants
	scopeAll                // commands of Attach too
)

// look finds the running processes of a sandbox, whoever their parent is.
type look struct {
	marks   [][]byte
	init    process // first process of the PID namespace; pidNS identifies the namespace only while this process runs
	pidNS   uint64
	uid     int // -1: the sandbox has no own user
	cgroups []string
}

func newLook(f folder, m meta, s scope) (look, error) {
	name := task.SandboxName(m.Labels.SandboxID)
	l := look{uid: -1, marks: [][]byte{[]byte(envMark + "=" + name + "/" + kindRun)}}
	var st state
	if _, err := f.load(fileState, &st); err != nil {
		return l, err
	}
	if st.BootID == bootID() {
		l.init, l.pidNS = st.Init, st.PIDNS
	}
	if s == scopeAll {
		l.marks = append(l.marks, []byte(envMark+"="+name+"/"+kindExec))
		l.uid, l.cgroups = m.UID, m.Cgroups
	}
	return l, nil
}

func (l look) survivors() []process {
	grouped := groupMembers(l.cgroups)
	var found []process
	for _, one := range proctable.All() {
		if !one.HasEnded() && one.PID != os.Getpid() && (grouped[one.PID] || l.belongs(one.PID)) {
			found = append(found, process{PID: one.PID, Start: one.Start})
		}
	}
	return found
}

func (l look) belongs(pid int) bool {
	return l.inNamespace(pid) || l.uid > 0 && ownerOf(pid) == l.uid || l.marked(pid)
}

// inNamespace checks the first process last: the kernel ends a namespace with its first process, and may reuse its
// number immediately for another sandbox.
func (l look) inNamespace(pid int) bool {
	return l.pidNS != 0 && pidNS(pid) == l.pidNS && l.init.alive()
}

func (l look) marked(pid int) bool {
	text, _ := os.ReadFile(procPath(pid, "environ"))
	for _, mark := range l.marks {
		if bytes.HasPrefix(text, append(mark, 0)) || bytes.Contains(text, append([]byte{0}, append(mark, 0)...)) {
			return true
		}
	}
	return false
}

// ownerOf returns the real user of a process. The owner of its /proc folder is wrong for undumpable processes.
func ownerOf(pid int) int {
	text, _ := os.ReadFile(procPath(pid, "status"))
	_, rest, _ := strings.Cut(string(text), "\nUid:")
	if fields := strings.Fields(rest); len(fields) > 0 {
		if uid, err := strconv.Atoi(fields[0]); err == nil {
			return uid
		}
	}
	return -1
}

func groupMembers(groups []string) map[int]bool {
	members := map[int]bool{}
	for _, dir := range groups {
		text, _ := os.ReadFile(dir + "/cgroup.procs")
		for field := range strings.FieldsSeq(string(text)) {
			if pid, err := strconv.Atoi(field); err == nil {
				members[pid] = true
			}
		}
	}
	return members
}

// kill kills the processes and repeats until none is left.
func (l look) kill(ctx context.Context, log *slog.Logger) error {
	for delay := time.Millisecond; ; delay = min(2*delay, 50*time.Millisecond) {
		left := l.survivors()
		if len(left) == 0 {
			return nil
		}
		if delay > 10*time.Millisecond {
			log.WarnContext(ctx, "sandbox processes still running after kill", slog.Int("processes", len(left)), slog.Int("first_pid", left[0].PID))
		}
		killAll(left)
		if err := wait.For(ctx, delay); err != nil {
			return task.Errorf(task.CodeUnavailable, "%d processes of the sandbox still run after SIGKILL", len(left)).WithCause(err)
		}
	}
}

// killAll stops all processes before it kills them, so that none can start another one meanwhile.
func killAll(all []process) {
	for _, sig := range []unix.Signal{unix.SIGSTOP, unix.SIGKILL} {
		for _, one := range all {
			one.signal(sig)
		}
	}
}

// signal opens the process before it checks the start time, so that no other process with the same PID gets the signal.
func (p process) signal(sig unix.Signal) {
	fd, err := unix.PidfdOpen(p.PID, 0)
	if err != nil {
		return
	}
	defer unix.Close(fd) //nolint:errcheck // a pidfd
	if p.alive() {
		_ = unix.PidfdSendSignal(fd, sig, nil, 0) // an ended process needs no signal
	}
}

func procPath(pid int, name string) string { return "/proc/" + strconv.Itoa(pid) + "/" + name }

func identify(pid int) process {
	s, _ := proctable.Read(pid)
	return process{PID: pid, Start: s.Start}
}

// alive reports whether p runs, and not another process with the same PID.
func (p process) alive() bool {
	if p.PID <= 0 {
		return false
	}
	s, ok := proctable.Read(p.PID)
	return ok && !s.HasEnded() && s.Start == p.Start
}

// pidNS returns the inode of the PID namespace of pid; 0 if unknown.
func pidNS(pid int) uint64 {
	link, _ := os.Readlink(procPath(pid, "ns/pid"))
	var inode uint64
	_, _ = fmt.Sscanf(link, "pid:[%d]", &inode)
	return inode
}

func bootID() string {
	text, _ := os.ReadFile("/proc/sys/kernel/random/boot_id")
	return strings.TrimSpace(string(text))
}

// descendants returns the running processes below pid, by their current parents.
func descendants(pid int) []process {
	children := proctable.Children()
	var found []process
	for queue := children[pid]; len(queue) > 0; queue = queue[1:] {
		if one := queue[0]; !one.HasEnded() {
			found = append(found, process{PID: one.PID, Start: one.Start})
		}
		queue = append(queue, children[queue[0].PID]...)
	}
	return found
}
