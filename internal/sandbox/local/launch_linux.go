package local

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"time"

	"github.com/omoi-dev/omoi/internal/sandbox"
	"github.com/omoi-dev/omoi/internal/task"
)

// Kinds of shim: kindRun runs the command of Start, kindExec a command of Attach.
const (
	kindRun  = "run"
	kindExec = "exec"
)

// launch is the input of a shim. launch contains secrets and is sent through a pipe only. The shim is the same program
// as the worker, so both ends have the same version.
type launch struct {
	Program []string `json:"program"`           // bubblewrap, or a shell with waitScript
	Options []string `json:"options,omitempty"` // options of bubblewrap, sent by descriptor
	Filter  []byte   `json:"filter,omitempty"`  // seccomp filter, sent by descriptor
	Env     []string `json:"env"`
	Dir     string   `json:"dir"`
	UID     int      `json:"uid"`
	Cgroups []string `json:"cgroups,omitempty"`
	Disk    int64    `json:"disk,omitempty"` // maximum bytes in the folder
	// Processes is the limit for RLIMIT_NPROC; zero: the shim sets none.
	Processes int           `json:"processes,omitempty"`
	Deadline  *time.Time    `json:"deadline,omitempty"`
	Timeout   time.Duration `json:"timeout,omitempty"`
}

// reply is the answer of a shim: of kindRun after the start, of kindExec at the end.
type reply struct {
	Error    string `json:"error,omitempty"`
	Gone     bool   `json:"gone,omitempty"` // the sandbox was deleted meanwhile
	Code     int    `json:"code"`
	TimedOut bool   `json:"timed_out,omitempty"`
	Full     string `json:"full,omitempty"` // reason of a kill by the disk limit
}

// Descriptors of the shim, then of the program that it starts.
const (
	fdLaunch  = 3
	fdReply   = 4
	fdControl = 5

	fdOptions = 3
	fdStatus  = 4
	fdBlock   = 5
	fdFilter  = 6
)

// waitScript waits until the shim has set the limits, then runs the command. End of file means that the shim is dead.
const waitScript = `read -r _ <&3 || exit 125; exec 3<&-; exec "$@"`

// prepare returns the launch of cmd in its sandbox.
func (p *Provider) prepare(f folder, m meta, cmd sandbox.Command, kind string) (launch, error) {
	if err := cmd.Check(); err != nil {
		return launch{}, err
	}
	if err := p.cg.make(m.Cgroups, m.Limits); err != nil {
		return launch{}, err
	}
	mark := envMark + "=" + task.SandboxName(m.Labels.SandboxID) + "/" + kind
	l := launch{UID: m.UID, Cgroups: m.Cgroups, Disk: m.Limits.DiskBytes, Dir: "/", Env: []string{mark}}
	if p.limitsUser(m.UID >= 0) {
		l.Processes = m.Limits.Processes
	}
	env := p.environment(f, m, cmd.Env)
	dir := cmp.Or(cmd.Dir, sandbox.Workspace)
	if m.Mode == modeBubblewrap {
		if p.wrap.path == "" {
			return l, task.Errorf(task.CodeUnavailable, "the sandbox needs bubblewrap, which no longer works on this host. Next: run omoi doctor")
		}
		env[envMark] = strings.TrimPrefix(mark, envMark+"=")
		l.Options = p.wrapArgs(f, m, dir, env)
		l.Filter = p.wrap.filter
		l.Program = append([]string{p.wrap.path, "--args", strconv.Itoa(fdOptions), "--"}, cmd.Args...)
		return l, nil
	}
	for key, value := range env {
		l.Env = append(l.Env, key+"="+value)
	}
	l.Dir = f.paths().Translate(dir)
	l.Program = []string{"/bin/sh", "-c", waitScript, "omoi"}
	for _, arg := range cmd.Args {
		l.Program = append(l.Program, f.paths().Translate(arg))
	}
	return l, nil
}

// environment returns the whole environment of a command; wishes override the defaults.
func (p *Provider) environment(f folder, m meta, wishes map[string]string) map[string]string {
	at := m.paths(f)
	env := map[string]string{
		"PATH": filepath.Dir(at.Agent) + ":" + StandardPath, "HOME": at.Home, "USER": "agent", "LOGNAME": "agent",
		"LANG": "C.UTF-8", "SHELL": "/bin/sh", "TMPDIR": "/tmp",
		sandbox.EnvDir: at.Dir, sandbox.EnvWorkspace: at.Workspace,
	}
	if m.Mode != modeBubblewrap {
		env["TMPDIR"] = f.at(dirTmp)
	}
	maps.Copy(env, wishes)
	return env
}

// shim has this process's ends of the pipes of a started shim.
type shim struct {
	launch *os.File // for writing
	reply  *os.File // for reading
}

// shimCommand returns the command of a shim of this kind for f, not started.
func (p *Provider) shimCommand(kind string, f folder) *exec.Cmd {
	argv := p.cfg.Shim
	if len(argv) == 0 {
		argv = []string{"/proc/self/exe", "shim"}
	}
	cmd := exec.Command(argv[0], append(append([]string{}, argv[1:]...), kind, string(f))...) //nolint:gosec,noctx // this program; a shim ends its processes itself
	if len(p.cfg.Shim) == 0 {
		cmd.Args[0] = "omoi"
	}
	cmd.Env, cmd.Dir = []string{envShim + "=" + kind, "GOMAXPROCS=2", "PATH=" + StandardPath}, "/"
	cmd.SysProcAttr = &syscall.SysProcAttr{Setsid: true}
	return cmd
}

// startShim starts cmd with the launch and reply pipes, followed by the extra descriptors.
func startShim(cmd *exec.Cmd, extra ...*os.File) (*shim, error) {
	launchR, launchW, err := os.Pipe()
	if err != nil {
		return nil, unavailable("create a pipe", err)
	}
	defer launchR.Close() //nolint:errcheck // the shim has its own descriptor
	replyR, replyW, err := os.Pipe()
	if err != nil {
		return nil, errors.Join(unavailable("create a pipe", err), launchW.Close())
	}
	defer replyW.Close() //nolint:errcheck // the shim has its own descriptor
	cmd.ExtraFiles = append([]*os.File{launchR, replyW}, extra...)
	if err := cmd.Start(); err != nil {
		return nil, errors.Join(unavailable("start a shim", err), launchW.Close(), replyR.Close())
	}
	return &shim{launch: launchW, reply: replyR}, nil
}

// ask sends the launch and waits for the reply until ctx ends. The death of the shim ends the wait with an error.
func (s *shim) ask(ctx context.Context, l launch) (r reply, err error) {
	defer s.reply.Close() //nolint:errcheck // only read
	err = cmp.Or(json.NewEncoder(s.launch).Encode(l), s.launch.Close())
	if err != nil && !errors.Is(err, syscall.EPIPE) {
		return r, fmt.Errorf("send a command to a shim: %w", err)
	}
	stop := context.AfterFunc(ctx, func() { _ = s.reply.SetReadDeadline(time.Now()) })
	defer stop()
	text, err := io.ReadAll(io.LimitReader(s.reply, 1<<20))
	if err == nil {
		err = json.Unmarshal(text, &r)
	}
	if ctx.Err() != nil {
		return r, ctx.Err()
	}
	if err != nil {
		return r, task.Errorf(task.CodeUnavailable, "the shim of the sandbox ended without an answer").WithCause(err)
	}
	if r.Gone {
		return r, task.Errorf(task.CodeNotFound, "the sandbox was removed")
	}
	if r.Error != "" {
		return r, task.Errorf(task.CodeUnavailable, "the sandbox could not run the command").WithCause(errors.New(r.Error))
	}
	return r, nil
}
