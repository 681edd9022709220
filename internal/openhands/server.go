package openhands

import (
	"bufio"
	"bytes"
	"context"
	"crypto/rand"
	"encoding/json"
	"fmt"
	"io"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"time"

	"github.com/omoi-dev/omoi/internal/agent/proc"
	"github.com/omoi-dev/omoi/internal/proctable"
	"github.com/omoi-dev/omoi/internal/task"
	"github.com/omoi-dev/omoi/internal/wait"
)

// Program is the name of the server's program.
const Program = "agent-server"

// Install is the command that installs the tested version for all users.
const Install = "python3.12 -m venv /usr/local/lib/openhands && /usr/local/lib/openhands/bin/pip install" +
	" openhands-agent-server==" + Tested + " openhands-sdk==" + Tested + " openhands-tools==" + Tested + " openhands-workspace==" + Tested +
	" && ln -sf /usr/local/lib/openhands/bin/" + Program + " /usr/local/bin/"

// StartWait is the time for a server to start: 10 s on an idle machine, a minute on a busy one.
const StartWait = 3 * time.Minute

// Runs is how many conversations a server of omoi runs at once.
const Runs = 8

// Setup says how omoi starts a server. Such a server listens on loopback only.
type Setup struct {
	Program string
	Dir     string   // folder of its conversations
	Environ []string // variables of its tools
	Keys    Keys
	Port    int
	Wake    string   // address that gets a request after each event; empty: none
	Output  *os.File // log; nil: none
	// Detached lets the server outlive this process; else it dies with this process.
	Detached bool
	// Begun, if it is not nil, is called with the process before the wait until it is ready. An error of Begun ends the server.
	Begun func(pid int, address string, port int) error
}

// Keys are the secrets of a server. A restart with the same Secret can read what the server has stored.
type Keys struct {
	Session string `json:"session_key"`
	Secret  string `json:"secret_key"`
}

// NewKeys returns random keys.
func NewKeys() Keys { return Keys{rand.Text() + rand.Text(), rand.Text() + rand.Text()} }

// environ returns the variables of the server. The server keeps its keys from its tools, and nothing else.
func (s Setup) environ() []string {
	at := func(name string) string { return filepath.Join(s.Dir, name) }
	all := append(slices.Clip(s.Environ),
		"OH_SESSION_API_KEYS_0="+s.Keys.Session, "OH_SECRET_KEY="+s.Keys.Secret,
		"OH_CONVERSATIONS_PATH="+at("conversations"), "OH_BASH_EVENTS_DIR="+at("bash_events"), "OH_MAX_CONCURRENT_RUNS="+strconv.Itoa(Runs),
		"OH_LEASE_TTL_SECONDS=0", "OH_BASH_EVENTS_RETENTION_SECONDS="+strconv.Itoa(bashRetention), "OH_ENABLE_VSCODE=0", "OH_ENABLE_VNC=0", "OH_PRELOAD_TOOLS=0",
		Mark(s.Dir), "LITELLM_LOCAL_MODEL_COST_MAP=True", "OPENHANDS_SUPPRESS_BANNER=1", "LOG_JSON=1", "LOG_LEVEL=WARNING", "TZ=UTC", "SHELL=/bin/bash",
	)
	if s.Wake != "" {
		all = append(all, "OH_WEBHOOKS_0_BASE_URL="+s.Wake, "OH_WEBHOOKS_0_EVENT_BUFFER_SIZE=1", "OH_WEBHOOKS_0_FLUSH_DELAY=1", "OH_WEBHOOKS_0_NUM_RETRIES=0")
	}
	return all
}

// MarkName is a variable that all processes of a server have. Its terminals are in sessions of their own, so they survive it.
const MarkName = "OMOI_OPENHANDS_SERVER"

// Mark returns that variable of the processes of servers that were started in a folder.
func Mark(dir string) string { return MarkName + "=" + dir }

// Server is a server that this process has started.
type Server struct {
	*Client

	PID  int
	Over <-chan struct{} // closed when the server has ended
	Err  error           // how it ended; valid once Over is closed
	dir  string
	cmd  *exec.Cmd
}

// Start starts a server and waits until it is ready. ctx is that of the wait.
func Start(ctx context.Context, s Setup) (*Server, error) {
	if err := os.MkdirAll(s.Dir, 0o700); err != nil {
		return nil, fmt.Errorf("create folder of the OpenHands server: %w", err)
	}
	port, err := freePort(ctx, s.Port)
	if err != nil {
		return nil, err
	}
	s.Port = port
	to, err := New("http://127.0.0.1:"+strconv.Itoa(s.Port), s.Keys.Session)
	if err != nil {
		return nil, err
	}
	over := make(chan struct{})
	server := &Server{Client: to, Over: over, dir: s.Dir, cmd: s.command()}
	if err := s.run(server.cmd, over); err != nil {
		return nil, task.Errorf(task.CodeNotFound, "Cannot start the OpenHands server %s. Next: %s", s.Program, Install).WithCause(err)
	}
	server.PID = server.cmd.Process.Pid
	go func() { server.Err = server.cmd.Wait(); close(over) }()
	if s.Begun != nil {
		err = s.Begun(server.PID, to.Address(), port)
	}
	if err == nil {
		err = server.started(ctx)
	}
	if err != nil {
		server.Stop(0)
		return nil, err
	}
	return server, nil
}

func (s Setup) command() *exec.Cmd {
	cmd := exec.Command(s.Program, "--host", "127.0.0.1", "--port", strconv.Itoa(s.Port)) //nolint:gosec,noctx // Stop ends it
	cmd.Dir, cmd.Env = s.Dir, s.environ()
	if s.Output != nil {
		cmd.Stdout, cmd.Stderr = s.Output, s.Output
	}
	return cmd
}

// run starts the program.
func (s Setup) run(cmd *exec.Cmd, over <-chan struct{}) error {
	if !s.Detached {
		return proc.StartTied(cmd, over)
	}
	cmd.SysProcAttr = &syscall.SysProcAttr{Setsid: true}
	return cmd.Start()
}

// started waits until the server is ready, and checks it.
func (s *Server) started(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(ctx, StartWait)
	defer cancel()
	for s.Ready(ctx) != nil {
		if err := s.alive(); err != nil {
			return err
		}
		if err := wait.For(ctx, 200*time.Millisecond); err != nil {
			return task.Errorf(task.CodeUnavailable, "The OpenHands server was not ready in %s.", StartWait).WithCause(err)
		}
	}
	if _, err := s.Check(ctx); err != nil {
		return err
	}
	return s.alive() // else another server has answered
}

// alive returns an error if the server has ended.
func (s *Server) alive() error {
	select {
	case <-s.Over:
		return task.Errorf(task.CodeUnavailable, "The OpenHands server ended at its start: %v.", s.Err)
	default:
		return nil
	}
}

// Stop ends the server with SIGTERM, and after grace with SIGKILL, and then what it leaves.
func (s *Server) Stop(grace time.Duration) {
	if grace > 0 {
		_ = s.cmd.Process.Signal(syscall.SIGTERM)
		timer := time.NewTimer(grace)
		defer timer.Stop()
		select {
		case <-s.Over:
		case <-timer.C:
		}
	}
	_ = s.cmd.Process.Kill()
	<-s.Over
	EndProcesses(s.dir)
}

// endWait is the longest time for killed processes to end.
const endWait = 10 * time.Second

// EndProcesses ends all processes of the servers that were started in a folder: their terminals and commands survive them. EndProcesses
// returns at the latest after endWait, which a process may outlast that waits for a disk.
func EndProcesses(dir string) {
	begun := time.Now()
	for found := marked(dir); len(found) > 0 && time.Since(begun) < endWait; found = marked(dir) {
		killed := false
		for _, pid := range found {
			killed = syscall.Kill(pid, syscall.SIGKILL) == nil || killed
		}
		if !killed {
			return
		}
		<-time.After(20 * time.Millisecond)
	}
}

// marked returns the processes of servers that were started in a folder.
func marked(dir string) (pids []int) {
	mark := []byte(Mark(dir))
	for _, p := range proctable.All() {
		environ, _ := os.ReadFile("/proc/" + strconv.Itoa(p.PID) + "/environ")
		if !p.HasEnded() && slices.ContainsFunc(bytes.Split(environ, []byte{0}), func(v []byte) bool { return bytes.Equal(v, mark) }) {
			pids = append(pids, p.PID)
		}
	}
	return pids
}

// freePort returns a port of loopback on which nothing listens: wanted, or any one if wanted is 0.
func freePort(ctx context.Context, wanted int) (int, error) {
	listener, err := new(net.ListenConfig).Listen(ctx, "tcp", "127.0.0.1:"+strconv.Itoa(wanted))
	if err != nil {
		return 0, task.Errorf(task.CodeConflict, "Port %d, which the OpenHands server should have, is in use. Next: set AGENT_SERVER_PORT to a free port", wanted).WithCause(err)
	}
	defer func() { _ = listener.Close() }()
	return listener.Addr().(*net.TCPAddr).Port, nil //nolint:errcheck,forcetypeassert // a TCP listener
}

// versionsOf prints the versions of [Packages] as a JSON list.
const versionsOf = `import importlib.metadata as m, json, sys; print(json.dumps([m.version(p) for p in sys.argv[1:]]))`

// Installed returns the version of the program at path, without starting it, and an error if omoi cannot use that version.
func Installed(ctx context.Context, path string, environ []string) (string, error) {
	python, err := interpreter(path)
	if err != nil {
		return "", err
	}
	cmd := exec.CommandContext(ctx, python, append([]string{"-c", versionsOf}, Packages...)...) //nolint:gosec // G204: the operator's own program
	cmd.Env, cmd.WaitDelay = environ, time.Second
	out, err := cmd.Output()
	var versions []string
	if err != nil || json.Unmarshal(out, &versions) != nil || len(versions) != len(Packages) {
		return "", task.Errorf(task.CodeUnavailable, "%s does not say which versions of OpenHands it has. Next: %s", python, Install).WithCause(err)
	}
	return versions[0], CheckVersions(versions[0], versions[1:]...)
}

// interpreter returns the Python that runs the program at path, a script of pip.
func interpreter(path string) (string, error) {
	file, err := os.Open(path)
	if err != nil {
		return "", fmt.Errorf("open %s: %w", path, err)
	}
	defer func() { _ = file.Close() }()
	first, _ := bufio.NewReader(io.LimitReader(file, 4096)).ReadString('\n')
	python, ok := strings.CutPrefix(strings.TrimSpace(first), "#!")
	if !ok || !filepath.IsAbs(python) {
		return "", task.Invalid("agent", "%s is no script that pip has installed. Next: %s", path, Install)
	}
	return python, nil
}
