// Package gitproc runs the git commands of the host.
package gitproc

import (
	"context"
	"errors"
	"fmt"
	"os/exec"
	"syscall"
	"time"

	"github.com/omoi-dev/omoi/internal/hostfault"
)

// grace is the time that git has to remove its locks and temporary files, from SIGTERM to SIGKILL.
const grace = 5 * time.Second

// Run runs git in a process group of its own. When ctx ends, the group gets SIGTERM, upon which git removes its locks, and after a
// grace period SIGKILL. The error then holds that of ctx. cmd must have been made with ctx.
func Run(ctx context.Context, cmd *exec.Cmd) error {
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
		return fmt.Errorf("%w: %w", ctx.Err(), err)
	}
	return err
}

// HostFault reports whether a command of [Run] failed through the host and not through what it worked on: a signal ended it, it could
// not be started, or it printed that the host lacks something.
func HostFault(err error, stderr string) bool {
	if err == nil {
		return false
	}
	exit, ended := errors.AsType[*exec.ExitError](err)
	return !ended || !exit.Exited() || hostfault.InText(stderr)
}
