// Package gitproc runs the git commands of the host.
package gitproc

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"strings"
	"syscall"
	"time"

	"github.com/omoi-dev/omoi/internal/agent/textcut"
	"github.com/omoi-dev/omoi/internal/hostfault"
)

const (
	// grace is the time that git has to remove its locks and temporary files, from SIGTERM to SIGKILL.
	grace = 5 * time.Second
	// mostSaid is how much is kept of the end of what git says.
	mostSaid = 16 << 10
)

// Error is a git command that failed, with what it said.
type Error struct {
	Verb, Stderr string
	Err          error
}

// Error says which command failed, how, and what git said.
func (e *Error) Error() string { return fmt.Sprintf("git %s: %v: %s", e.Verb, e.Err, e.Stderr) }

// Unwrap returns how it ended.
func (e *Error) Unwrap() error { return e.Err }

// HostFault reports whether a command failed through the host and not through what it worked on: a signal ended it, it could not be
// started, or it printed that the host lacks something.
func (e *Error) HostFault() bool {
	exit, ended := errors.AsType[*exec.ExitError](e.Err)
	return !ended || !exit.Exited() || hostfault.InText(e.Stderr)
}

// ExitCode returns how git ended: 0 for success, -1 if it did not run to an end.
func ExitCode(err error) int {
	if err == nil {
		return 0
	}
	if exit, ok := errors.AsType[*exec.ExitError](err); ok {
		return exit.ExitCode()
	}
	return -1
}

// Options are settings in the form in which the command line of git has them.
func Options(settings ...string) []string {
	args := make([]string, 0, 2*len(settings))
	for _, setting := range settings {
		args = append(args, "-c", setting)
	}
	return args
}

// Environ is what git may know of the host's environment, and more: no configuration but what a command is told, and no prompts.
func Environ(more ...string) []string {
	return append(more, "PATH="+os.Getenv("PATH"), "HOME=/nonexistent", "LC_ALL=C", "TMPDIR="+os.TempDir(),
		"GIT_CONFIG_NOSYSTEM=1", "GIT_CONFIG_GLOBAL=/dev/null", "GIT_TERMINAL_PROMPT=0", "GIT_ATTR_NOSYSTEM=1")
}

// Run runs git in a process group of its own; verb names the command in its [Error]. When ctx ends, the group gets SIGTERM, upon which
// git removes its locks, and after a grace period SIGKILL. The error then holds that of ctx. cmd must have been made with ctx.
func Run(ctx context.Context, cmd *exec.Cmd, verb string) error {
	said := &textcut.Tail{Max: mostSaid}
	cmd.Stderr = said
	if cmd.SysProcAttr == nil {
		cmd.SysProcAttr = &syscall.SysProcAttr{}
	}
	cmd.SysProcAttr.Setpgid = true
	var kill *time.Timer
	cmd.Cancel = func() error {
		kill = time.AfterFunc(grace, func() { _ = syscall.Kill(-cmd.Process.Pid, syscall.SIGKILL) })
		return syscall.Kill(-cmd.Process.Pid, syscall.SIGTERM)
	}
	cmd.WaitDelay = grace + time.Second
	err := cmd.Run()
	if kill != nil {
		kill.Stop()
	}
	if err != nil && ctx.Err() != nil {
		err = fmt.Errorf("%w: %w", ctx.Err(), err)
	}
	if err != nil {
		return &Error{verb, strings.TrimSpace(string(said.Bytes())), err}
	}
	return nil
}
