package acp

import (
	"bufio"
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"os/exec"
	"syscall"
	"time"

	"github.com/omoi-dev/omoi/internal/jsonrpc"
)

// Version starts the program at path in a folder of its own, with the given environment, and returns the version that it
// names in answer to initialize. An agent needs no credential for that.
func (d Dialect) Version(ctx context.Context, path, dir string, environ []string) (string, error) {
	if d.Probe != nil {
		return d.Probe(ctx, path, environ)
	}
	cmd := exec.CommandContext(ctx, path, d.Args...) //nolint:gosec // G204: the operator's own program
	cmd.Dir, cmd.Env, cmd.WaitDelay = dir, environ, time.Second
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	cmd.Cancel = func() error { return syscall.Kill(-cmd.Process.Pid, syscall.SIGKILL) }
	in, err := cmd.StdinPipe()
	if err != nil {
		return "", fmt.Errorf("open input of %s: %w", path, err)
	}
	out, err := cmd.StdoutPipe()
	if err == nil {
		err = cmd.Start()
	}
	if err != nil {
		return "", fmt.Errorf("start %s: %w", path, err)
	}
	_, _ = io.WriteString(in, `{"id":1,"jsonrpc":"2.0","method":"initialize","params":{"protocolVersion":1,"clientCapabilities":{}}}`+"\n")
	defer context.AfterFunc(ctx, func() { _ = out.Close() })() // a process of another group may hold it open
	version, err := greeted(out)
	_ = cmd.Cancel()
	if ended := cmd.Wait(); err != nil {
		return "", fmt.Errorf("%s gave no answer: %w", path, cmp.Or(ctx.Err(), ended, err))
	}
	return version, d.CheckVersion(version)
}

// greeted reads lines up to the answer to initialize.
func greeted(out io.Reader) (version string, err error) {
	for lines := bufio.NewReaderSize(out, 64<<10); err == nil; {
		var f *jsonrpc.Frame
		f, _, err = jsonrpc.Read(lines)
		if f != nil && string(f.ID) == "1" && f.Method == "" {
			if f.Error != nil {
				return "", f.Error
			}
			return jsonrpc.Into[greeting](f.Result).Agent.Version, nil
		}
	}
	if errors.Is(err, io.EOF) {
		err = errEnded
	}
	return "", err
}
