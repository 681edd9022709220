package local

import (
	"cmp"
	"errors"
	"fmt"
	"io"
	"os"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"time"

	"golang.org/x/sys/unix"

	"github.com/omoi-dev/omoi/internal/proctable"
	"github.com/omoi-dev/omoi/internal/uptime"
)

// fork starts the program with its descriptors. The kernel kills it with the shim.
func (s *minder) fork() error {
	blockR, blockW, err := os.Pipe()
	if err != nil {
		return fmt.Errorf("create a pipe: %w", err)
	}
	defer blockR.Close() //nolint:errcheck // the program has its own descriptor
	s.block = blockW
	files := []uintptr{0, 1, 2}
	if len(s.launch.Options) > 0 {
		options, err := memoryFile("options", s.options())
		if err != nil {
			return err
		}
		defer options.Close() //nolint:errcheck // the program has its own descriptor
		statusR, statusW, err := os.Pipe()
		if err != nil {
			return fmt.Errorf("create a pipe: %w", err)
		}
		defer statusW.Close() //nolint:errcheck // the program has its own descriptor
		s.status = statusR
		files = append(files, options.Fd(), statusW.Fd())
	}
	files = append(files, blockR.Fd())
	if len(s.launch.Filter) > 0 { // bubblewrap closes only the descriptors of its options
		filter, err := memoryFile("filter", s.launch.Filter)
		if err != nil {
			return err
		}
		defer filter.Close() //nolint:errcheck // the program has its own descriptor
		files = append(files, filter.Fd())
	}
	s.main, err = syscall.ForkExec(s.launch.Program[0], s.launch.Program, &syscall.ProcAttr{ //nolint:gosec // G204: the shim runs this program
		Dir: s.launch.Dir, Env: s.launch.Env, Files: files,
		Sys: &syscall.SysProcAttr{Setsid: true, Pdeathsig: syscall.SIGKILL, Credential: credential(s.launch.UID)},
	})
	if err != nil {
		return fmt.Errorf("start %s: %w", s.launch.Program[0], err)
	}
	return nil
}

// options returns the options of bubblewrap, each followed by a zero byte.
func (s *minder) options() []byte {
	all := []string{"--json-status-fd", strconv.Itoa(fdStatus), "--block-fd", strconv.Itoa(fdBlock)}
	if len(s.launch.Filter) > 0 {
		all = append(all, "--seccomp", strconv.Itoa(fdFilter))
	}
	return []byte(strings.Join(append(all, s.launch.Options...), "\x00") + "\x00")
}

// memoryFile returns a file in memory, so that the options, which contain secrets, have no path.
func memoryFile(name string, text []byte) (*os.File, error) {
	fd, err := unix.MemfdCreate(name, unix.MFD_CLOEXEC)
	if err != nil {
		return nil, fmt.Errorf("create a memory file: %w", err)
	}
	file := os.NewFile(uintptr(fd), name)
	_, err = file.Write(text)
	if err == nil {
		_, err = file.Seek(0, io.SeekStart)
	}
	if err != nil {
		_ = file.Close()
		return nil, fmt.Errorf("write a memory file: %w", err)
	}
	return file, nil
}

// reapAll reaps children until the kernel reports none. The shim is the parent of all orphans, so without children it
// has no descendants.
func (s *minder) reapAll() {
	defer close(s.barren)
	for {
		var status unix.WaitStatus
		pid, err := unix.Wait4(-1, &status, 0, nil)
		switch {
		case errors.Is(err, unix.EINTR):
		case err != nil:
			return
		case pid == s.main && (status.Exited() || status.Signaled()):
			s.exited <- status
		}
	}
}

// killTree kills all processes below the shim, and returns when none is left.
func (s *minder) killTree() {
	for wait := time.Millisecond; ; wait = min(2*wait, 50*time.Millisecond) {
		select {
		case <-s.barren:
			return
		case <-time.After(wait):
		}
		killAll(descendants(os.Getpid()))
	}
}

// mindRun waits for the end of the started command and writes exit.json.
func (s *minder) mindRun() error {
	s.answer(reply{})
	var deadline <-chan struct{}
	if s.launch.Deadline != nil { // frozen time does not count, because this process is frozen too
		deadline = uptime.After(time.Until(*s.launch.Deadline))
	}
	full := s.watchDisk(false)
	end := ending{Code: -1}
	for over := false; !over; {
		select {
		case status := <-s.exited:
			end, over = ended(end, status), true
		case sig := <-s.signal:
			// A worker sends SIGTERM to end the command, and SIGQUIT to kill all processes. The other caught signals
			// have no effect.
			switch sig {
			case unix.SIGTERM:
				end.Reason = "stopped"
				s.forward(unix.SIGTERM)
			case unix.SIGQUIT:
				end.Reason, over = "stopped", true
			}
		case <-deadline:
			end.Reason, over = "the lifetime of the sandbox ended", true
		case why := <-full:
			end.Reason, end.DiskFull, over = why, true, true
		}
	}
	s.killTree()
	end.OOM = oomKilled(s.launch.Cgroups)
	return s.folder.save(fileExit, end)
}

func (s *minder) watchDisk(margin bool) <-chan string {
	return watchDisk(&diskWatch{folder: s.folder, limit: s.launch.Disk, margin: margin, pids: func() []int {
		var pids []int
		for _, one := range descendants(os.Getpid()) {
			pids = append(pids, one.PID)
		}
		return pids
	}})
}

// ended sets the exit code, and the reason if there is none yet.
func ended(end ending, status unix.WaitStatus) ending {
	code, reason := outcome(status)
	if code == tooLarge || status.Signaled() && status.Signal() == unix.SIGXFSZ {
		end.DiskFull, code, reason = true, -1, "a file was as large as the disk limit"
	}
	end.Code = code
	if end.Reason == "" {
		end.Reason = reason
	}
	return end
}

// forward signals the command, which is below the first process of the namespace.
func (s *minder) forward(sig unix.Signal) {
	target := s.main
	var st state
	if _, err := s.folder.load(fileState, &st); err == nil && st.Init.PID != s.main {
		byAge := func(a, b proctable.Process) int { return cmp.Compare(a.Start, b.Start) }
		if below := proctable.Children()[st.Init.PID]; len(below) > 0 { // the oldest child is the command
			target = slices.MinFunc(below, byAge).PID
		}
	}
	_ = unix.Kill(target, sig) // the command may have ended already
}

// tooLarge is the exit code of bubblewrap and shells for a program killed by the limit of the file size.
const tooLarge = 128 + int(unix.SIGXFSZ)

// outcome returns exit code and reason; the code is -1 for a killed command. bubblewrap reports a killed command as 128
// + signal.
func outcome(status unix.WaitStatus) (int, string) {
	if status.Signaled() {
		return -1, "killed by signal " + strconv.Itoa(int(status.Signal()))
	}
	if code := status.ExitStatus(); code != 128+int(unix.SIGKILL) {
		return code, ""
	}
	return -1, "killed by signal 9"
}

// mindExec waits for the end of the command, its timeout, the disk limit, or the end of the worker.
func (s *minder) mindExec() error {
	control := os.NewFile(fdControl, "control")
	left := make(chan struct{})
	go func() {
		defer close(left)
		_, _ = control.Read(make([]byte, 1)) // no data ever comes: Read returns when the worker closes its end
	}()
	end := reply{Code: -1}
	select {
	case status := <-s.exited:
		end.Code, _ = outcome(status)
	case <-time.After(s.launch.Timeout):
		end.TimedOut = true
	case end.Full = <-s.watchDisk(true):
	case <-s.signal:
	case <-left:
	}
	s.killTree()
	s.answer(end)
	return nil
}
