//go:build !linux

package daytona

import (
	"context"
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"syscall"

	"github.com/omoi-dev/omoi/internal/testkit/daytona/toolbox"
)

func ownProgram() string {
	path, err := os.Executable()
	if err != nil {
		return os.Args[0]
	}
	return path
}

func socketAt(dir *os.File, name string) string { return filepath.Join(dir.Name(), name) }

// command is the daemon as a process of this machine, not started yet.
func (c cell) command() *exec.Cmd {
	cmd := exec.Command(ownProgram(), toolbox.Argument) //nolint:gosec,noctx // ends by its pipe
	cmd.Env, cmd.Dir = []string{"PATH=" + boxPath}, filepath.Join(c.dir, "home")
	cmd.SysProcAttr = &syscall.SysProcAttr{Setsid: true}
	return cmd
}

func firstInside(*os.File) func() { return func() {} }

func probe(context.Context, cell) error { return errors.New("bubblewrap needs Linux") }
