package taskcmd

import (
	"cmp"
	"context"
	"fmt"
	"io"
	"os"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/omoi-dev/omoi/api/client"
	"github.com/omoi-dev/omoi/internal/cli/exit"
	"github.com/omoi-dev/omoi/internal/cli/render"
	"github.com/omoi-dev/omoi/internal/sandbox"
	"github.com/omoi-dev/omoi/internal/task"
)

const sessionTime = 24 * time.Hour // maximum duration of an access session

const accessHelp = `
The command needs an API key with the scope admin, and the server records an access session, which omoi receipt shows. The
command then connects to the sandbox itself, as a worker does. For local and Docker sandboxes run it on their host, as the
user of the worker. For other providers it needs the key of the provider.`

// accessSession is an access session of an operator in a sandbox.
type accessSession struct {
	api      *client.Client
	begun    client.StartedAccessSession
	provider sandbox.Provider
	labels   sandbox.Labels
}

// enter starts an access session and opens the provider. The caller must call leave.
func (s *session) enter(ctx context.Context, api *client.Client, ref string, in client.CreateAccessSessionRequest) (*accessSession, error) {
	box, err := s.boxOf(ctx, api, ref)
	if err != nil {
		return nil, err
	}
	if s.Provider == nil {
		return nil, task.Errorf(task.CodeInvalid, "This program cannot open a sandbox provider.")
	}
	provider, err := s.Provider(box.Provider)
	if err != nil {
		return nil, err
	}
	begun, err := api.StartAccessSession(ctx, box.ID, in)
	if err != nil {
		return nil, err
	}
	return &accessSession{api: api, begun: begun, provider: provider, labels: sandbox.Labels(begun.Labels)}, nil
}

// leave records the outcome of the session and returns the exit code.
func (v *accessSession) leave(ctx context.Context, code int, err error) error {
	interrupted, outcome := ctx.Err() != nil, fmt.Sprintf("exit code %d", code)
	ctx, stop := context.WithTimeout(context.WithoutCancel(ctx), 5*time.Second)
	defer stop()
	if err = v.explain(ctx, err); err != nil {
		outcome = task.MessageOf(err)
	}
	if interrupted {
		outcome, err = "interrupted", exit.With(exit.Interrupted, nil)
	}
	noted := v.api.EndAccessSession(ctx, v.begun.Sandbox.ID, v.begun.AccessSession.ID, render.Cut(outcome, 1000))
	switch {
	case err != nil:
		return err
	case noted != nil:
		return fmt.Errorf("end the access session: %w", noted)
	case code != 0:
		return exit.With(max(code, exit.Failed), nil)
	}
	return nil
}

// explain replaces err if the sandbox is not on this machine. Otherwise err is about a missing file in the sandbox.
func (v *accessSession) explain(ctx context.Context, err error) error {
	if task.CodeOf(err) != task.CodeNotFound || !v.provider.Capabilities().HostBound {
		return err
	}
	if seen, lookErr := v.provider.Inspect(ctx, v.labels); lookErr == nil && seen.State == sandbox.StateAlive {
		return err
	}
	return task.Errorf(task.CodeNotFound, "Sandbox %s is not on this machine, or belongs to another user: it is on host %s. Next: omoi host list, then repeat the command on that host",
		render.Short(v.begun.Sandbox.ID), v.begun.Sandbox.HostID).WithCause(err)
}

func (s *session) sandboxExec() *cobra.Command {
	cmd := s.verb("exec <sandbox> -- <command> [argument ...]", "Run a shell command in a sandbox, and return its exit code",
		func(cmd *cobra.Command, args []string) error {
			if len(args) < 2 {
				return exit.Usagef("%s takes a sandbox and a command, for example omoi sandbox exec <sandbox> -- git status", cmd.CommandPath())
			}
			return nil
		},
		func(ctx context.Context, api *client.Client, args []string) error {
			v, err := s.enter(ctx, api, args[0], client.CreateAccessSessionRequest{Kind: "exec", Summary: render.Cut(strings.Join(args[1:], " "), 4000)})
			if err != nil {
				return err
			}
			code, err := v.provider.Attach(ctx, v.labels, sandbox.Command{Args: args[1:], Timeout: sessionTime},
				sandbox.Streams{Stdin: s.input(), Stdout: s.Stdout, Stderr: s.Stderr})
			return v.leave(ctx, code, err)
		})
	cmd.Long = "Run a shell command in a sandbox, beside the agent, and return its exit code. " + accessHelp
	return cmd
}

// input returns standard input; empty if it is a terminal, since the command is not interactive.
func (s *session) input() io.Reader {
	if isTerminal(s.Stdin) {
		return strings.NewReader("")
	}
	return s.Stdin
}

func (s *session) sandboxShell() *cobra.Command {
	cmd := s.verb("shell <sandbox>", "Open a shell in a sandbox", exactly(1, boxArg), func(ctx context.Context, api *client.Client, args []string) error {
		v, err := s.enter(ctx, api, args[0], client.CreateAccessSessionRequest{Kind: "shell", Summary: "an interactive shell"})
		if err != nil {
			return err
		}
		code, err := s.shell(ctx, v)
		return v.leave(ctx, code, err)
	})
	cmd.PreRunE = func(_ *cobra.Command, args []string) error {
		if !isTerminal(s.Stdin) || !isTerminal(s.Stdout) {
			return exit.Usagef("a shell needs a terminal. Next: omoi sandbox exec %s -- <command>", args[0])
		}
		return nil
	}
	cmd.Long = "Open a shell in a sandbox, beside the agent. " + accessHelp
	return cmd
}

func (s *session) shell(ctx context.Context, v *accessSession) (int, error) {
	in, isFile := s.Stdin.(*os.File)
	if !isFile {
		return 0, exit.Usagef("a shell needs a terminal")
	}
	terminal, restore, err := rawTerminal(in)
	if err != nil {
		return 0, err
	}
	defer restore()
	env := map[string]string{"TERM": cmp.Or(s.Env("TERM"), "xterm")}
	return v.provider.Attach(ctx, v.labels, sandbox.Command{Args: sandbox.ShellArgs(), Env: env, Timeout: sessionTime},
		sandbox.Streams{Stdin: in, Stdout: s.Stdout, Stderr: s.Stderr, Terminal: terminal})
}
