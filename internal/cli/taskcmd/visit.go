package taskcmd

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/omoi-dev/omoi/internal/cli/exit"
	"github.com/omoi-dev/omoi/internal/cli/render"
	"github.com/omoi-dev/omoi/internal/client"
	"github.com/omoi-dev/omoi/internal/sandbox"
	"github.com/omoi-dev/omoi/internal/task"
)

const visitTime = 24 * time.Hour // longest visit

const accessHelp = `
The server is asked first, needs a key with the scope admin, and records the access: omoi receipt shows it. Then this
program goes to the sandbox itself, as a worker does: for local and Docker sandboxes run it on their machine, as the
user that the worker runs as; elsewhere the provider's key is needed.`

// visit is a person in a sandbox.
type visit struct {
	api      *client.Client
	begun    client.BegunVisit
	provider sandbox.Provider
	labels   sandbox.Labels
}

// enter asks the server and opens the provider. The caller leaves.
func (s *session) enter(ctx context.Context, api *client.Client, ref string, in client.NewVisit) (*visit, error) {
	boxes, err := aliveBoxes(ctx, api)
	if err != nil {
		return nil, err
	}
	box, err := aliveBox(ctx, api, boxes, ref)
	if err != nil {
		return nil, err
	}
	if s.Provider == nil {
		return nil, task.Errorf(task.CodeInvalid, "This program can open no sandbox provider.")
	}
	provider, err := s.Provider(box.Provider)
	if err != nil {
		return nil, err
	}
	begun, err := api.BeginVisit(ctx, box.ID, in)
	if err != nil {
		return nil, err
	}
	return &visit{api: api, begun: begun, provider: provider, labels: sandbox.Labels(begun.Labels)}, nil
}

// leave writes down how it ended, and says where to go if the sandbox is not here.
func (v *visit) leave(ctx context.Context, code int, err error) error {
	interrupted, outcome := ctx.Err() != nil, fmt.Sprintf("exit code %d", code)
	ctx, stop := context.WithTimeout(context.WithoutCancel(ctx), 5*time.Second)
	defer stop()
	if err = v.explain(ctx, err); err != nil {
		outcome = task.MessageOf(err)
	}
	if interrupted {
		outcome, err = "interrupted", exit.With(exit.Interrupted, nil)
	}
	noted := v.api.EndVisit(ctx, v.begun.Sandbox.ID, v.begun.Visit.ID, render.Cut(outcome, 1000))
	switch {
	case err != nil:
		return err
	case noted != nil:
		return fmt.Errorf("write down how the visit ended: %w", noted)
	case code != 0:
		return exit.With(max(code, exit.Failed), nil)
	}
	return nil
}

// explain tells a sandbox that is not on this machine from a file that is not in the sandbox.
func (v *visit) explain(ctx context.Context, err error) error {
	if task.CodeOf(err) != task.CodeNotFound || !v.provider.Capabilities().HostBound {
		return err
	}
	if seen, lookErr := v.provider.Inspect(ctx, v.labels); lookErr == nil && seen.State == sandbox.StateAlive {
		return err
	}
	return task.Errorf(task.CodeNotFound, "Sandbox %s is not on this machine, or its user is another: it is on host %s (omoi host list). Run the same command there.",
		render.Short(v.begun.Sandbox.ID), v.begun.Sandbox.HostID).WithCause(err)
}

func (s *session) sandboxExec() *cobra.Command {
	cmd := s.verb("exec <sandbox> -- <command> [argument ...]", "Run a command in a sandbox; the exit code is that of the command",
		func(cmd *cobra.Command, args []string) error {
			if len(args) < 2 {
				return exit.Usagef("%s takes a sandbox and a command, as omoi sandbox exec <sandbox> -- git status", cmd.CommandPath())
			}
			return nil
		},
		func(ctx context.Context, api *client.Client, args []string) error {
			v, err := s.enter(ctx, api, args[0], client.NewVisit{Kind: "exec", What: render.Cut(strings.Join(args[1:], " "), 4000)})
			if err != nil {
				return err
			}
			code, err := s.execute(ctx, v, args[1:])
			return v.leave(ctx, code, err)
		})
	cmd.Long = "Run a command in a sandbox, beside the agent; the exit code is that of the command. " + accessHelp
	return cmd
}

// execute runs a command with the streams of this process, or where the provider cannot, with
// bounded output that comes at the end.
func (s *session) execute(ctx context.Context, v *visit, args []string) (int, error) {
	cmd := sandbox.Command{Args: args, Timeout: visitTime}
	if a, ok := v.provider.(sandbox.Attacher); ok {
		return a.Attach(ctx, v.labels, cmd, sandbox.Streams{Stdin: s.input(), Stdout: s.Stdout, Stderr: s.Stderr})
	}
	cmd.Stdin = s.input()
	res, err := v.provider.Exec(ctx, v.labels, cmd)
	_, outErr := s.Stdout.Write(res.Stdout)
	_, logErr := s.Stderr.Write(res.Stderr)
	return res.ExitCode, errors.Join(err, outErr, logErr)
}

// input is standard input, unless it is a terminal at which nobody was asked for anything.
func (s *session) input() io.Reader {
	if isTerminal(s.Stdin) {
		return strings.NewReader("")
	}
	return s.Stdin
}

func (s *session) sandboxShell() *cobra.Command {
	cmd := s.verb("shell <sandbox>", "Open a shell in a sandbox", exactly(1, boxArg), func(ctx context.Context, api *client.Client, args []string) error {
		v, err := s.enter(ctx, api, args[0], client.NewVisit{Kind: "shell", What: "an interactive shell"})
		if err != nil {
			return err
		}
		code, err := s.shell(ctx, v)
		return v.leave(ctx, code, err)
	})
	cmd.PreRunE = func(_ *cobra.Command, args []string) error {
		if !isTerminal(s.Stdin) || !isTerminal(s.Stdout) {
			return exit.Usagef("a shell needs a terminal; without one: omoi sandbox exec %s -- <command>", args[0])
		}
		return nil
	}
	cmd.Long = "Open a shell in a sandbox, beside the agent. " + accessHelp
	return cmd
}

func (s *session) shell(ctx context.Context, v *visit) (int, error) {
	a, ok := v.provider.(sandbox.Attacher)
	if !ok {
		return 0, task.Errorf(task.CodeInvalid, "Sandboxes of %s take no terminal. Next: omoi sandbox exec %s -- <command>",
			v.provider.Name(), render.Short(v.begun.Sandbox.ID))
	}
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
	return a.Attach(ctx, v.labels, sandbox.Command{Args: sandbox.ShellArgs(), Env: env, Timeout: visitTime},
		sandbox.Streams{Stdin: in, Stdout: s.Stdout, Stderr: s.Stderr, Terminal: terminal})
}

func (s *session) sandboxCopy() *cobra.Command {
	cmd := s.verb("cp <from> <to>", "Copy a file out of a sandbox or into it", exactly(2, "a file to copy and where to, one of them as <sandbox>:<path>"),
		func(ctx context.Context, api *client.Client, args []string) error {
			return s.copyFile(ctx, api, args[0], args[1])
		})
	cmd.Long = fmt.Sprintf(`Copy one file out of a sandbox or into it. The sandbox's side is written <sandbox>:<path>, with a path below %s,
%s or %s. Whole folders: omoi sandbox exec <sandbox> -- tar c <folder> > folder.tar
`, sandbox.Workspace, sandbox.Home, sandbox.Dir) + accessHelp
	return cmd
}

// place is one side of a copy.
func place(arg string) (box, path string) {
	box, path, found := strings.Cut(arg, ":")
	if !found || strings.ContainsAny(box, `/\.`) {
		return "", arg
	}
	return cmp.Or(box, "-"), path
}

func (s *session) copyFile(ctx context.Context, api *client.Client, from, to string) error {
	fromBox, fromPath := place(from)
	toBox, toPath := place(to)
	switch {
	case (fromBox == "") == (toBox == ""):
		return exit.Usagef("one side of the copy is a sandbox's, written <sandbox>:<path>, the other one is a file here")
	case fromBox != "":
		return s.copyOut(ctx, api, fromBox, fromPath, toPath)
	}
	return s.copyIn(ctx, api, fromPath, toBox, toPath)
}

func (s *session) copyOut(ctx context.Context, api *client.Client, box, from, to string) error {
	to, err := s.path(to)
	if err != nil {
		return exit.With(exit.Usage, err)
	}
	if isFolder(to) {
		to = filepath.Join(to, filepath.Base(from))
	}
	v, err := s.enter(ctx, api, box, client.NewVisit{Kind: "copy_out", What: render.Cut(from, 4000)})
	if err != nil {
		return err
	}
	return v.leave(ctx, 0, v.out(ctx, from, to))
}

// out never replaces a file here: what a sandbox holds is hostile, and a typing error is quick.
func (v *visit) out(ctx context.Context, from, to string) error {
	in, err := v.provider.ReadFile(ctx, v.labels, from)
	if err != nil {
		return err
	}
	defer func() { _ = in.Close() }()
	file, err := os.OpenFile(to, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o600)
	if err != nil {
		return task.Errorf(task.CodeInvalid, "%s cannot be made: %s", to, pathReason(err)).WithCause(err)
	}
	_, err = io.Copy(file, in)
	if err = errors.Join(err, file.Close()); err != nil {
		return errors.Join(fmt.Errorf("copy %s: %w", from, err), os.Remove(to))
	}
	return nil
}

func (s *session) copyIn(ctx context.Context, api *client.Client, from, box, to string) error {
	from, err := s.path(from)
	if err != nil {
		return exit.With(exit.Usage, err)
	}
	file, err := os.Open(from)
	if err != nil {
		return exit.Usagef("%s cannot be read: %s", from, pathReason(err))
	}
	defer func() { _ = file.Close() }()
	info, err := file.Stat()
	if err != nil || !info.Mode().IsRegular() {
		return exit.Usagef("%s is no regular file; whole folders go by tar: omoi sandbox exec <sandbox> -- tar x < folder.tar", from)
	}
	v, err := s.enter(ctx, api, box, client.NewVisit{Kind: "copy_in", What: render.Cut(to, 4000)})
	if err != nil {
		return err
	}
	return v.leave(ctx, 0, v.provider.WriteFile(ctx, v.labels, to, uint32(info.Mode().Perm()), file))
}

// pathReason is why a file could not be opened, without its name, which is said already.
func pathReason(err error) string {
	if path, ok := errors.AsType[*os.PathError](err); ok {
		return path.Err.Error()
	}
	return err.Error()
}
