package local

import (
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"math"
	"os"
	"os/signal"
	"runtime"

	"golang.org/x/sys/unix"

	"github.com/omoi-dev/omoi/internal/sandbox/fence"
)

// ShimMain is the program between a provider and a sandbox. The caller passes the arguments after the argv prefix of
// [Config].Shim, as early in main as possible, and exits with the returned code. ShimMain reads its input from a pipe,
// so it cannot be used by hand.
func ShimMain(args []string) int {
	if len(args) != 2 || (args[0] != kindRun && args[0] != kindExec) {
		fmt.Fprintln(os.Stderr, "usage: shim run|exec <folder>; started by omoi, not by people")
		return 2
	}
	// The kernel kills the program if the thread that started it dies.
	runtime.LockOSThread()
	// Descriptors that a parent left open must not reach the sandbox.
	_ = unix.CloseRange(fdLaunch, math.MaxInt32, unix.CLOSE_RANGE_CLOEXEC)
	s := &minder{kind: args[0], folder: folder(args[1]), exited: make(chan unix.WaitStatus, 1), barren: make(chan struct{})}
	s.reply = os.NewFile(fdReply, "reply")
	if err := s.mind(); err != nil {
		s.answer(reply{Error: err.Error(), Code: -1})
		return 1
	}
	return 0
}

// minder is the state of a running shim, which supervises the processes below it.
type minder struct {
	kind   string
	folder folder
	launch launch
	reply  *os.File
	life   *os.File

	main   int                  // PID of the started program; set before reaping begins
	block  *os.File             // a write lets the command run
	status *os.File             // status output of bubblewrap
	exited chan unix.WaitStatus // exit status of main
	barren chan struct{}        // closed when no child is left
	signal chan os.Signal
}

func (s *minder) mind() error {
	if err := s.listen(); err != nil {
		return err
	}
	if ours, err := s.take(); !ours || err != nil {
		return err
	}
	if err := s.start(); err != nil {
		return err
	}
	if s.kind == kindExec {
		return s.mindExec()
	}
	return s.mindRun()
}

// listen reads the launch. An early end of file means that the worker died.
func (s *minder) listen() error {
	s.signal = make(chan os.Signal, 8)
	// The shim catches these signals instead of ignoring them, because the command would inherit an ignored signal.
	signal.Notify(s.signal, unix.SIGTERM, unix.SIGQUIT, unix.SIGHUP, unix.SIGINT)
	in := os.NewFile(fdLaunch, "launch")
	defer in.Close() //nolint:errcheck // only read
	if err := json.NewDecoder(in).Decode(&s.launch); err != nil {
		return fmt.Errorf("read the command: %w", err)
	}
	return nil
}

// take locks the life lock of the sandbox. take returns false after it has sent the reply, if the command was started
// before or the sandbox was deleted.
func (s *minder) take() (bool, error) {
	path := s.folder.at(fileLife)
	file, err := os.OpenFile(path, os.O_RDWR, 0)
	if errors.Is(err, fs.ErrNotExist) {
		s.answer(reply{Gone: true})
		return false, nil
	}
	if err != nil {
		return false, err
	}
	s.life = file // open until the process ends, because a close would release the lock
	kind, at := int16(unix.F_WRLCK), int64(byteAgent)
	if s.kind == kindExec {
		kind, at = unix.F_RDLCK, byteExec
	}
	got, err := hold(file, kind, at)
	if err != nil {
		return false, err
	}
	if got && !fence.IsStill(file, path) {
		s.answer(reply{Gone: true})
		return false, nil
	}
	if s.kind == kindExec {
		return got, nil
	}
	started, err := s.folder.load(fileState, &state{})
	if !got || started {
		s.answer(reply{})
		return false, err
	}
	return true, err
}

// start starts the program, sets its limits and lets it run.
func (s *minder) start() error {
	if err := unix.Prctl(unix.PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0); err != nil {
		return fmt.Errorf("become a child subreaper: %w", err)
	}
	if err := unix.Prctl(unix.PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0); err != nil {
		return fmt.Errorf("set no_new_privs: %w", err)
	}
	if err := limitFiles(s.launch.Disk); err != nil {
		return err
	}
	if err := s.limitProcesses(0); err != nil {
		return err
	}
	st := state{BootID: bootID()}
	if err := s.note(st); err != nil {
		return err
	}
	if err := s.launchProgram(&st); err != nil {
		s.killTree()
		if s.kind == kindRun {
			_ = os.Remove(s.folder.at(fileState)) // no command ran, so Start may be repeated
		}
		return err
	}
	return nil
}

func (s *minder) launchProgram(st *state) error {
	if err := s.fork(); err != nil {
		close(s.barren)
		return err
	}
	go s.reapAll()
	if err := s.identify(st); err != nil {
		return err
	}
	for _, pid := range []int{s.main, st.Init.PID} { // the same process without bubblewrap
		if err := join(s.launch.Cgroups, pid); err != nil {
			return err
		}
	}
	if err := s.limitProcesses(st.Init.PID); err != nil {
		return err
	}
	if err := s.note(*st); err != nil {
		return err
	}
	_, err := s.block.WriteString("\n")
	return cmp.Or(err, s.block.Close())
}

// note writes state.json for a command of Start: first as the intent, then with its processes.
func (s *minder) note(st state) error {
	if s.kind == kindExec {
		return nil
	}
	return s.folder.save(fileState, st)
}

// identify sets the first process of the sandbox: the one that bubblewrap reports, or the shell.
func (s *minder) identify(st *state) error {
	st.Init = identify(s.main)
	if len(s.launch.Options) == 0 {
		return nil
	}
	var told struct {
		Child int    `json:"child-pid"`     //nolint:tagliatelle // bubblewrap's name
		PIDNS uint64 `json:"pid-namespace"` //nolint:tagliatelle // bubblewrap's name
	}
	if err := json.NewDecoder(s.status).Decode(&told); err != nil {
		return fmt.Errorf("bubblewrap did not start: %s", s.lastWords())
	}
	st.Init, st.PIDNS = identify(told.Child), told.PIDNS
	return nil
}

// lastWords returns the last line of the log, which has only an error of bubblewrap before the command runs. The output
// of a command of Attach goes to its caller.
func (s *minder) lastWords() string {
	if s.kind == kindExec {
		return "see its error output"
	}
	text, _ := os.ReadFile(s.folder.at(fileLog))
	return lastLine(text)
}

// answer sends the reply once. A failure is ignored, because the worker may be dead.
func (s *minder) answer(r reply) {
	if s.reply == nil {
		return
	}
	_ = json.NewEncoder(s.reply).Encode(r) //nolint:errchkjson // the worker may be dead
	_ = s.reply.Close()
	s.reply = nil
}
