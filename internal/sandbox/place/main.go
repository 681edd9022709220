package place

import (
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"os"
	"os/signal"
	"path/filepath"
	"syscall"

	"github.com/omoi-dev/omoi/internal/sandbox"
	"github.com/omoi-dev/omoi/internal/sandbox/local"
	"github.com/omoi-dev/omoi/internal/task"
)

// Main carries out the request that in has, or that is in the file of the only argument, which may contain secrets and is removed. Its caller
// exits with the returned code.
func Main(args []string, in io.Reader, out io.Writer) int {
	var text []byte
	var err error
	if len(args) == 1 {
		text, err = os.ReadFile(args[0])
		_ = os.Remove(args[0])
	} else {
		text, err = io.ReadAll(in)
	}
	var ask Request
	if err == nil {
		err = Decode(string(text), &ask)
	}
	answer := Answer{Fault: faultOf(err)}
	if err == nil {
		ctx, stop := signal.NotifyContext(context.Background(), syscall.SIGTERM)
		defer stop()
		answer = ask.carryOut(ctx)
	}
	word, err := Encode(answer)
	if err != nil {
		return 1
	}
	_, _ = fmt.Fprintln(out, word)
	return 0
}

func (r Request) carryOut(ctx context.Context) (a Answer) {
	var err error
	switch r.Method {
	case More:
		a, err = r.more(ctx)
	case Feed:
		err = r.feed()
	case Leave:
		err = r.leave(ctx)
	default:
		var p *local.Provider
		if p, err = r.open(); err == nil { //nolint:contextcheck // the provider lives as long as this process
			a, err = r.at(ctx, p)
		}
	}
	a.Fault = faultOf(err)
	return a
}

// open opens the local provider.
func (r Request) open() (*local.Provider, error) {
	isolation := local.IsolationNone
	if r.Wrapped {
		isolation = local.IsolationRequire
	}
	return local.New(local.Config{Root: r.Root, Isolation: isolation, Limits: r.Limits}, slog.New(slog.DiscardHandler))
}

// at makes a call of the provider.
func (r Request) at(ctx context.Context, p *local.Provider) (a Answer, err error) {
	switch r.Method {
	case Ensure:
		a.Box, err = p.Ensure(ctx, r.Spec)
	case Inspect:
		a.Seen, err = p.Inspect(ctx, r.Labels)
	case Start:
		err = p.Start(ctx, r.Labels, r.command())
	case Stop:
		err = p.Stop(ctx, r.Labels, r.Grace)
	case Delete:
		err = p.Delete(ctx, r.Labels)
	case List:
		a.Boxes, err = p.List(ctx, r.Installation)
	case Survey:
		a.Boxes, err = p.Survey(ctx)
	case WriteFile:
		err = r.write(ctx, p)
	case ReadFile:
		a.Out, err = r.store(p.ReadFile(ctx, r.Labels, r.Path))
	case Log:
		a.Out, err = r.store(p.Log(ctx, r.Labels, r.Offset))
	case Attach:
		err = r.attach(ctx, p)
	default:
		err = task.Invalid("method", "unknown method %q", r.Method)
	}
	return a, err
}

func (r Request) command() sandbox.Command {
	return sandbox.Command{Args: r.Command.Args, Env: r.Command.Env, Dir: r.Command.Dir, Timeout: r.Command.Timeout}
}

// write writes the uploaded content of a file, and removes the upload.
func (r Request) write(ctx context.Context, p *local.Provider) error {
	from, err := os.Open(r.File)
	if err != nil {
		return task.Errorf(task.CodeUnavailable, "the uploaded content cannot be read").WithCause(err)
	}
	defer func() { _ = from.Close(); _ = os.Remove(r.File) }()
	return p.WriteFile(ctx, r.Labels, r.Path, r.Mode, from)
}

// store writes what is read to the file of the request, and returns its size; without such a file, it is not wanted.
func (r Request) store(from io.ReadCloser, err error) (size int64, _ error) {
	if err != nil {
		return 0, err
	}
	defer func() { _ = from.Close() }()
	if r.File == "" {
		return 0, nil
	}
	to, err := os.OpenFile(r.File, os.O_CREATE|os.O_EXCL|os.O_WRONLY, 0o600)
	if err == nil {
		size, err = io.Copy(to, from)
		err = errors.Join(err, to.Close())
	}
	if err != nil {
		return 0, task.Errorf(task.CodeUnavailable, "the content cannot be stored").WithCause(err)
	}
	return size, nil
}

// Paths returns the folders of a sandbox, as the local provider has them.
func Paths(root string, wrapped bool, labels sandbox.Labels) sandbox.Paths {
	if wrapped {
		return sandbox.DefaultPaths()
	}
	return local.PathsBelow(filepath.Join(root, task.SandboxName(labels.SandboxID)))
}
