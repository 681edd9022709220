package docker

import (
	"context"
	"crypto/rand"
	"io"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/docker/docker/api/types"
	"github.com/docker/docker/api/types/container"
	"github.com/docker/docker/pkg/stdcopy"

	"github.com/omoi-dev/omoi/internal/sandbox"
	"github.com/omoi-dev/omoi/internal/task"
)

// Exec runs a command in a container of its own over the sandbox's volumes, beside the agent
// or after it has ended. Whatever it leaves running ends with it.
func (p *Provider) Exec(ctx context.Context, labels sandbox.Labels, cmd sandbox.Command) (sandbox.ExecResult, error) {
	if err := checkCommand(cmd); err != nil {
		return sandbox.ExecResult{}, err
	}
	if cmd.Timeout <= 0 {
		cmd.Timeout = time.Minute
	}
	run, err := p.begin(ctx, labels, cmd)
	if err != nil {
		return sandbox.ExecResult{}, err
	}
	defer run.close(ctx)
	within, cancel := context.WithTimeout(ctx, cmd.Timeout)
	defer cancel()
	return run.follow(ctx, within)
}

// running is the container of an Exec.
type running struct {
	p    *Provider
	id   string
	conn types.HijackedResponse
	out  bounded
	errs bounded

	ended <-chan ending
	read  chan error // the end of both streams
}

// begin starts it, unless the sandbox is gone.
func (p *Provider) begin(ctx context.Context, labels sandbox.Labels, cmd sandbox.Command) (*running, error) {
	run := &running{p: p, read: make(chan error, 1)}
	err := p.locked(ctx, labels, func(ctx context.Context, f *fence) error {
		found, err := p.ready(ctx, f, labels)
		if err != nil {
			return err
		}
		file := sandbox.Dir + "/.omoi-exec-" + strings.ToLower(rand.Text())
		if run.id, err = p.beside(ctx, f, found, file, cmd.Stdin != nil); err != nil {
			return err
		}
		return p.launch(ctx, run, cmd, file)
	})
	if err != nil && run.id != "" {
		run.close(ctx)
	}
	return run, err
}

// beside makes a container like the sandbox's own.
func (p *Provider) beside(ctx context.Context, f *fence, main container.InspectResponse, script string, stdin bool) (string, error) {
	cfg := p.config(main.Image, written(labelsOf(main.Config.Labels), roleExec), script)
	cfg.OpenStdin, cfg.StdinOnce = stdin, stdin
	host := *main.HostConfig
	host.Mounts = nil
	return p.over(ctx, f, main, cfg, &host)
}

// launch starts it with its streams attached, so that nothing of them is missed.
func (p *Provider) launch(ctx context.Context, run *running, cmd sandbox.Command, file string) error {
	err := p.putScript(ctx, run.id, file, script(cmd, file, cmd.Timeout+time.Minute))
	if err != nil {
		return err
	}
	streams := container.AttachOptions{Stream: true, Stdout: true, Stderr: true, Stdin: cmd.Stdin != nil}
	if run.conn, err = p.engine.ContainerAttach(ctx, run.id, streams); err != nil {
		return engineError("listen to a command", err)
	}
	// The wait outlives this call; the removal of the container ends it.
	run.ended = p.ending(context.WithoutCancel(ctx), run.id, container.WaitConditionNextExit)
	if err := startError(p.engine.ContainerStart(ctx, run.id, container.StartOptions{})); err != nil {
		return err
	}
	go func() {
		_, err := stdcopy.StdCopy(&run.out, &run.errs, run.conn.Reader)
		run.read <- err
	}()
	if cmd.Stdin != nil {
		go func() {
			_, _ = io.Copy(run.conn.Conn, cmd.Stdin)
			_ = run.conn.CloseWrite()
		}()
	}
	return nil
}

// follow waits for the end. What came until then is answered also if that is an error.
func (r *running) follow(ctx, within context.Context) (sandbox.ExecResult, error) {
	select {
	case err := <-r.read:
		if err != nil && within.Err() == nil {
			return r.result(-1), engineError("listen to a command", err)
		}
	case <-within.Done():
		return r.cut(ctx)
	}
	select {
	case end := <-r.ended:
		if end.err != nil {
			return r.result(-1), engineError("wait for a command", end.err)
		}
		return r.result(end.code), nil
	case <-within.Done():
		return r.cut(ctx)
	}
}

// cut is the answer when the time is over.
func (r *running) cut(ctx context.Context) (sandbox.ExecResult, error) {
	if err := ctx.Err(); err != nil {
		return r.result(-1), err
	}
	return r.result(-1), task.Errorf(task.CodeUnavailable, "the command did not end in its time")
}

// close ends the command and removes its container.
func (r *running) close(ctx context.Context) {
	r.p.discard(ctx, r.id)
	if r.conn.Conn != nil {
		r.conn.Close()
	}
}

func (r *running) result(code int) sandbox.ExecResult {
	return sandbox.ExecResult{ExitCode: code, Stdout: r.out.bytes(), Stderr: r.errs.bytes()}
}

// bounded keeps the beginning of what is written to it.
type bounded struct {
	mu   sync.Mutex
	kept []byte
}

// Write never fails: whoever says too much is not held up.
func (b *bounded) Write(text []byte) (int, error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.kept = append(b.kept, text[:min(len(text), sandbox.MaxExecOutput-len(b.kept))]...)
	return len(text), nil
}

func (b *bounded) bytes() []byte {
	b.mu.Lock()
	defer b.mu.Unlock()
	return slices.Clone(b.kept)
}
