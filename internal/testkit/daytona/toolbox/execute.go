package toolbox

import (
	"bytes"
	"context"
	"errors"
	"net/http"
	"os/exec"
	"regexp"
	"strings"
	"syscall"
	"time"
)

// defaultTimeout is what the description of the API says; clients do well to send their own.
const defaultTimeout = 10 * time.Second

var variableName = regexp.MustCompile(`^[A-Za-z_][A-Za-z0-9_]*$`)

type executeRequest struct {
	Command string            `json:"command"`
	Cwd     string            `json:"cwd"`
	Envs    map[string]string `json:"envs"`
	Timeout int               `json:"timeout"`
}

type executeResponse struct {
	ExitCode int    `json:"exitCode"`
	Result   string `json:"result"`
}

// execute feeds a command to a shell and answers when all that holds its output is done.
func (d *daemon) execute(w http.ResponseWriter, r *http.Request) error {
	var in executeRequest
	if err := read(r, &in); err != nil {
		return err
	}
	if in.Command == "" {
		return badRequest("command is required")
	}
	for name := range in.Envs {
		if !variableName.MatchString(name) {
			return badRequest("invalid environment variable name: " + name)
		}
	}
	limit := defaultTimeout
	if in.Timeout > 0 {
		limit = time.Duration(in.Timeout) * time.Second
	}
	// Not the request's context: the command goes on where its caller is gone.
	ctx, cancel := context.WithTimeout(context.WithoutCancel(r.Context()), limit)
	defer cancel()
	out, err := d.runShell(ctx, in)
	if err != nil {
		return err
	}
	return answer(w, http.StatusOK, out)
}

func (d *daemon) runShell(ctx context.Context, in executeRequest) (executeResponse, error) {
	var output bytes.Buffer
	cmd := exec.CommandContext(ctx, d.shell()) //nolint:gosec // the sandbox's own shell
	cmd.Dir, cmd.Env = d.cfg.Home, d.environment(in.Envs)
	if in.Cwd != "" {
		cmd.Dir = in.Cwd
	}
	cmd.Stdin, cmd.Stdout, cmd.Stderr = strings.NewReader(in.Command+"\n"), &output, &output
	cmd.SysProcAttr = &syscall.SysProcAttr{Setsid: true}
	cmd.Cancel = func() error { return killGroup(cmd.Process.Pid, syscall.SIGKILL) }
	cmd.WaitDelay = time.Second
	if err := d.tree.start(cmd); err != nil {
		return executeResponse{ExitCode: -1, Result: err.Error()}, nil //nolint:nilerr // Daytona says 200 here
	}
	err := d.tree.wait(cmd)
	if ctx.Err() != nil {
		return executeResponse{}, &fault{http.StatusRequestTimeout, "PROCESS_EXECUTION_TIMEOUT", "command execution timeout"}
	}
	if exit := (*exec.ExitError)(nil); err != nil && !errors.As(err, &exit) && !errors.Is(err, syscall.EPIPE) {
		return executeResponse{ExitCode: -1, Result: output.String() + err.Error()}, nil
	}
	return executeResponse{ExitCode: cmd.ProcessState.ExitCode(), Result: output.String()}, nil
}

// killGroup signals all processes of a group that we made.
func killGroup(leader int, sig syscall.Signal) error {
	if err := syscall.Kill(-leader, sig); err != nil && !errors.Is(err, syscall.ESRCH) {
		return err
	}
	return nil
}
