package claude_test

import (
	"bufio"
	"cmp"
	"encoding/json"
	"fmt"
	"io"
	"os"
	"os/exec"
	"os/signal"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/omoi-dev/omoi/internal/agent/proc"
)

// fakeDir is the variable with the folder of the tapes. If it is set, the test binary is a fake Claude Code.
const fakeDir = "OMOI_FAKE_CLAUDE"

func TestMain(m *testing.M) {
	if dir := os.Getenv(fakeDir); dir != "" {
		os.Exit(newFake(dir).play()) //nolint:forbidigo // this process is the fake
	}
	if err := proc.Adopt(); err != nil {
		panic(err)
	}
	m.Run()
}

// step is one step of a tape. One field is set.
type step struct {
	Hear        bool   `json:"hear,omitempty"`        // wait for a message and accept it
	Print       string `json:"print,omitempty"`       // print a line
	Bytes       int    `json:"bytes,omitempty"`       // print a line of this many bytes, as the result of the call "big"
	Answered    string `json:"answered,omitempty"`    // wait for the answer to the control request with this ID, and report it
	Interrupted bool   `json:"interrupted,omitempty"` // wait for an interrupt and stop
	Mark        string `json:"mark,omitempty"`        // report that this step is reached
	Until       string `json:"until,omitempty"`       // wait for a signal of the test
	Write       string `json:"write,omitempty"`       // write a file in the workspace
	Text        string `json:"text,omitempty"`        // content of the file; empty: its name
	Child       bool   `json:"child,omitempty"`       // start a child process that only SIGKILL ends
	End         bool   `json:"end,omitempty"`         // wait for the end of the input
	Deaf        bool   `json:"deaf,omitempty"`        // neither read nor end
	Signal      int    `json:"signal,omitempty"`      // end by this signal
	Exit        int    `json:"exit,omitempty"`
}

// fake plays a tape: the recorded output of the real program, between waits for input.
type fake struct {
	dir string
	in  *bufio.Scanner
}

func newFake(dir string) *fake {
	in := bufio.NewScanner(os.Stdin)
	in.Buffer(nil, 16<<20)
	return &fake{dir: dir, in: in}
}

func (f *fake) play() int {
	args := os.Args[1:]
	if len(args) == 1 && args[0] == "--version" {
		version, _ := os.ReadFile(filepath.Join(f.dir, "version"))
		_, _ = os.Stdout.Write(version)
		return 0
	}
	tape := f.tape(args)
	remember(args)
	for _, s := range tape {
		if code := f.step(s); code >= 0 {
			return code
		}
	}
	return 0
}

// tape returns the first tape that no other process has taken.
func (f *fake) tape(args []string) (tape []step) {
	for n := 1; ; n++ {
		path := filepath.Join(f.dir, fmt.Sprintf("tape-%d", n))
		text, err := os.ReadFile(path)
		if err != nil {
			return []step{{Print: "this fake has no further tape"}, {Exit: 3}}
		}
		taken, err := os.OpenFile(fmt.Sprintf("%s.args", path), os.O_CREATE|os.O_EXCL|os.O_WRONLY, 0o600)
		if err != nil {
			continue
		}
		_, _ = io.WriteString(taken, strings.Join(args, " "))
		_ = taken.Close()
		if err := json.Unmarshal(text, &tape); err != nil {
			panic(err)
		}
		return tape
	}
}

// step runs a step and returns the exit code; -1: continue.
func (f *fake) step(s step) int {
	switch {
	case s.Hear:
		f.hear()
	case s.Print != "":
		f.print(s.Print)
	case s.Bytes > 0:
		f.print(`{"type":"user","message":{"role":"user","content":[{"tool_use_id":"big","type":"tool_result","content":"` + strings.Repeat("x", s.Bytes) + `"}]}}`)
	case s.Answered != "":
		f.mark(s.Answered, string(f.await("control_response").Response))
	case s.Interrupted:
		f.await("control_request")
		f.print(`{"type":"result","subtype":"error_during_execution","is_error":true,"num_turns":1,"total_cost_usd":0,"errors":[]}`)
	case s.Mark != "":
		f.mark(s.Mark, "")
	case s.Until != "":
		f.until(filepath.Join(f.dir, s.Until))
	case s.Write != "":
		if err := os.WriteFile(s.Write, []byte(cmp.Or(s.Text, s.Write+"\n")), 0o600); err != nil {
			panic(err)
		}
	case s.Child:
		f.child()
	case s.End:
		for f.in.Scan() {
			continue
		}
	case s.Deaf:
		signal.Ignore(syscall.SIGTERM)
		<-time.After(24 * time.Hour) // longer than any test; select {} ends a program without cgo
	case s.Signal > 0:
		// A shell sends the signal, because this program survives some of them.
		end := fmt.Sprintf("kill -%d $$", s.Signal)
		panic(syscall.Exec("/bin/sh", []string{"sh", "-c", end}, os.Environ()))
	case s.Exit > 0:
		return s.Exit
	}
	return -1
}

func (f *fake) print(line string) {
	work, _ := os.Getwd()
	_, _ = io.WriteString(os.Stdout, strings.ReplaceAll(line, "{{workspace}}", work)+"\n")
}

type heard struct {
	Type    string          `json:"type"`
	UUID    string          `json:"uuid"`
	Message json.RawMessage `json:"message"`
	// Response of a control response.
	Response json.RawMessage `json:"response"`
}

// await reads until a line of this type. At the end of the input the process exits.
func (f *fake) await(kind string) (h heard) {
	for f.in.Scan() {
		if err := json.Unmarshal(f.in.Bytes(), &h); err != nil {
			panic(err)
		}
		if h.Type == kind {
			return h
		}
	}
	panic("nothing more is said")
}

func (f *fake) until(path string) {
	for range time.Tick(time.Millisecond) {
		if _, err := os.Stat(path); err == nil {
			return
		}
	}
}

func (f *fake) hear() {
	h := f.await("user")
	f.print(fmt.Sprintf(`{"type":"user","isReplay":true,"uuid":%q,"message":%s}`, h.UUID, h.Message))
}

// child starts a process in its own session and records its PID.
func (f *fake) child() {
	cmd := exec.Command("sh", "-c", `trap "" TERM HUP INT; while :; do sleep 1000; done`)
	cmd.SysProcAttr = &syscall.SysProcAttr{Setsid: true}
	if err := cmd.Start(); err != nil {
		panic(err)
	}
	f.mark("child", strconv.Itoa(cmd.Process.Pid))
}

func (f *fake) mark(name, text string) {
	_ = os.WriteFile(filepath.Join(f.dir, name+".new"), []byte(text), 0o600)
	_ = os.Rename(filepath.Join(f.dir, name+".new"), filepath.Join(f.dir, name))
}

// remember writes a transcript to the real program's path, so that the session can be resumed.
func remember(args []string) {
	work, _ := os.Getwd()
	for n, arg := range args {
		if arg == "--session-id" {
			dir := filepath.Join(os.Getenv("CLAUDE_CONFIG_DIR"), "projects", regexp.MustCompile("[^a-zA-Z0-9]").ReplaceAllString(work, "-"))
			_ = os.MkdirAll(dir, 0o700)
			_ = os.WriteFile(filepath.Join(dir, args[n+1]+".jsonl"), []byte("{}\n"), 0o600)
		}
	}
}
