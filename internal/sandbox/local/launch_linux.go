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

// The kinds of shim: one runs the command of Start, the others those of Exec.
const (
	kindRun  = "run"
	kindExec = "exec"
)

// launch is what a shim is told. It holds secrets and travels by a pipe only. A shim is the program that starts it, so that both
// ends are of one build.
type launch struct {
	Program []string `json:"program"`           // what the shim starts: bubblewrap, or a shell that waits
	Options []string `json:"options,omitempty"` // of bubblewrap, by descriptor
	Filter  []byte   `json:"filter,omitempty"`  // of system calls, by descriptor
	Env     []string `json:"env"`
	Dir     string   `json:"dir"`
	UID     int      `json:"uid"`
	Cgroups []string `json:"cgroups,omitempty"`
	Disk    int64    `json:"disk,omitempty"` // bytes that the folder may hold
	// Processes are limited by the kernel's limit a user; zero: they are not.
	Processes int           `json:"processes,omitempty"`
	Deadline  *time.Time    `json:"deadline,omitempty"`
	Timeout   time.Duration `json:"timeout,omitempty"`
}

// reply is what a shim of Start answers once, and a shim of Exec at its end.
type reply struct {
	Error    string `json:"error,omitempty"`
	Gone     bool   `json:"gone,omitempty"` // the sandbox was removed meanwhile
	Code     int    `json:"code"`
	TimedOut bool   `json:"timed_out,omitempty"`
	Full     string `json:"full,omitempty"` // it was ended for what it wrote
}

// Descriptors of a shim, and of the program that it starts.
const (
	fdLaunch  = 3
	fdReply   = 4
	fdControl = 5

	fdOptions = 3
	fdStatus  = 4
	fdBlock   = 5
	fdFilter  = 6
)

// waitScript holds a command back until its limits are set; end of file means that the shim is dead.
const waitScript = `read -r _ <&3 || exit 125; exec 3<&-; exec "$@"`

// prepare says how cmd is started in its sandbox.
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
			return l, task.Errorf(task.CodeUnavailable, "the sandbox was created with bubblewrap, which no longer works on this host")
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

// environment is the whole of what a command gets; its own wishes come last.
func (p *Provider) environment(f folder, m meta, wishes map[string]string) map[string]string {
	at := m.paths(f)
	env := map[string]string{
		"PATH": filepath.Dir(at.Agent) + ":" + standardPath, "HOME": at.Home, "USER": "agent", "LOGNAME": "agent",
		"LANG": "C.UTF-8", "SHELL": "/bin/sh", "TMPDIR": "/tmp",
		sandbox.EnvDir: at.Dir, sandbox.EnvWorkspace: at.Workspace,
	}
	if m.Mode != modeBubblewrap {
		env["TMPDIR"] = f.at(dirTmp)
	}
	maps.Copy(env, wishes)
	return env
}

// shim is a started one: our ends of its pipes.
type shim struct {
	launch *os.File // we write
	reply  *os.File // we read
}

// shimCommand is a shim of the given kind over f, not started yet.
func (p *Provider) shimCommand(kind string, f folder) *exec.Cmd {
	argv := p.cfg.Shim
	if len(argv) == 0 {
		argv = []string{"/proc/self/exe", "shim"}
	}
	cmd := exec.Command(argv[0], append(append([]string{}, argv[1:]...), kind, string(f))...) //nolint:gosec,noctx // our own program; killed with its context it could not end its tree
	if len(p.cfg.Shim) == 0 {
		cmd.Args[0] = "omoi"
	}
	cmd.Env, cmd.Dir = []string{envShim + "=" + kind, "GOMAXPROCS=2", "PATH=" + standardPath}, "/"
	cmd.SysProcAttr = &syscall.SysProcAttr{Setsid: true}
	return cmd
}

// startShim starts cmd with the launch and reply pipes, and extra descriptors after them.
func startShim(cmd *exec.Cmd, extra ...*os.File) (*shim, error) {
	launchR, launchW, err := os.Pipe()
	if err != nil {
		return nil, unavailable("make a pipe", err)
	}
	defer launchR.Close() //nolint:errcheck // the shim has its own
	replyR, replyW, err := os.Pipe()
	if err != nil {
		return nil, errors.Join(unavailable("make a pipe", err), launchW.Close())
	}
	defer replyW.Close() //nolint:errcheck // the shim has its own
	cmd.ExtraFiles = append([]*os.File{launchR, replyW}, extra...)
	if err := cmd.Start(); err != nil {
		return nil, errors.Join(unavailable("start a shim", err), launchW.Close(), replyR.Close())
	}
	return &shim{launch: launchW, reply: replyR}, nil
}

// ask hands the launch over, closes that pipe, and waits for the reply, at most until ctx ends. A shim that died shows
// in its reply.
func (s *shim) ask(ctx context.Context, l launch) (r reply, err error) {
	defer s.reply.Close() //nolint:errcheck // only read
	err = cmp.Or(json.NewEncoder(s.launch).Encode(l), s.launch.Close())
	if err != nil && !errors.Is(err, syscall.EPIPE) {
		return r, fmt.Errorf("tell a shim what to run: %w", err)
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
