package docker

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"path"
	"strings"
	"time"

	cerrdefs "github.com/containerd/errdefs"
	"github.com/docker/docker/api/types/container"

	"github.com/omoi-dev/omoi/internal/sandbox"
	"github.com/omoi-dev/omoi/internal/sandbox/fence"
	"github.com/omoi-dev/omoi/internal/shellcmd"
	"github.com/omoi-dev/omoi/internal/task"
)

// startFile is the script of a sandbox's container.
const startFile = sandbox.Dir + "/.omoi-start"

// Start writes the script of the command into the sandbox and starts its container. A container that has run is not
// started again.
func (p *Provider) Start(ctx context.Context, labels sandbox.Labels, cmd sandbox.Command) error {
	if err := cmd.Check(); err != nil {
		return err
	}
	return p.locked(ctx, labels, func(ctx context.Context, f *fence.Fence) error {
		found, err := p.ready(ctx, f, labels)
		if err != nil || started(found) {
			return err
		}
		life, _ := time.ParseDuration(found.Config.Labels[labelLifetime] + "s")
		if err := p.putScript(ctx, found.ID, startFile, script(cmd, startFile, life)); err != nil {
			return err
		}
		if p.frozen.Load() {
			return sandbox.ErrFrozen
		}
		return startError(p.engine.ContainerStart(ctx, found.ID, container.StartOptions{}))
	})
}

func startError(err error) error {
	switch {
	case err == nil:
		return nil
	case cerrdefs.IsNotFound(err):
		return task.Errorf(task.CodeNotFound, "the sandbox was removed before it was started").WithCause(err)
	}
	return engineError("start a container", err)
}

// Stop sends SIGTERM to the command, and after grace SIGKILL to all its processes. Files stay.
func (p *Provider) Stop(ctx context.Context, labels sandbox.Labels, grace time.Duration) error {
	found, err := p.find(ctx, labels)
	if err != nil || !found.State.Running {
		return err
	}
	if found.State.Paused {
		if err := p.engine.ContainerUnpause(ctx, found.ID); err != nil && !gone(err) {
			return engineError("unpause a container", err)
		}
	}
	if ended, err := p.signal(ctx, found.ID, "TERM", grace); ended || err != nil {
		return err
	}
	ended, err := p.signal(ctx, found.ID, "KILL", time.Minute)
	if err == nil && !ended {
		err = task.Errorf(task.CodeUnavailable, "the docker engine did not kill sandbox %s within a minute", labels.SandboxID)
	}
	return err
}

// gone reports that a container does not run, is being removed, or does not exist.
func gone(err error) bool { return cerrdefs.IsConflict(err) || cerrdefs.IsNotFound(err) }

// signal sends a signal, and reports whether the container ended within patience.
func (p *Provider) signal(ctx context.Context, id, name string, patience time.Duration) (bool, error) {
	if err := p.engine.ContainerKill(ctx, id, name); err != nil {
		if gone(err) {
			return true, nil
		}
		return false, engineError("signal a container", err)
	}
	within, cancel := context.WithTimeout(ctx, patience)
	defer cancel()
	end := <-p.ending(within, id, container.WaitConditionNotRunning)
	switch {
	case end.err == nil, cerrdefs.IsNotFound(end.err):
		return true, nil
	case within.Err() != nil:
		return false, ctx.Err()
	}
	return false, engineError("wait for a container", end.err)
}

// ending is the exit code of a container, or the error of the wait.
type ending struct {
	code int
	err  error
}

// ending starts to wait before it returns. Its goroutine reads the answer in any case, because otherwise a goroutine of
// the engine's client would leak.
func (p *Provider) ending(ctx context.Context, id string, when container.WaitCondition) <-chan ending {
	ended, failed := p.engine.ContainerWait(ctx, id, when)
	out := make(chan ending, 1)
	go func() {
		select {
		case end := <-ended:
			out <- ending{code: int(end.StatusCode)}
		case err := <-failed:
			out <- ending{err: err}
		}
	}()
	return out
}

// script returns a shell script that runs a command, so that no label or command line contains arguments and
// environment. The script first removes its file. After life, if not 0, it kills all processes. The timer sleeps at
// most 60 seconds at a time, so that at most one minute of a pause counts.
func script(cmd sandbox.Command, file string, life time.Duration) string {
	var b strings.Builder
	fmt.Fprintf(&b, "rm -f %s\n", file)
	if life > 0 {
		seconds := max(int64(life/time.Second), 1)
		nap := min(seconds, 60)
		fmt.Fprintf(&b, "( ( n=0; while [ $n -lt %d ]; do sleep %d; n=$((n+%d)); done; kill -9 -1 ) </dev/null >/dev/null 2>&1 & )\n", seconds, nap, nap)
	}
	if cmd.Stdin == nil {
		b.WriteString("exec </dev/null\n")
	}
	if file == startFile { // a single stream keeps the order of the lines
		b.WriteString("exec 2>&1\n")
	}
	fmt.Fprintf(&b, "cd %s || exit 126\n", shellcmd.Line(cmp.Or(cmd.Dir, sandbox.Workspace)))
	for name, value := range cmd.Env {
		fmt.Fprintf(&b, "export %s=%s\n", name, shellcmd.Line(value))
	}
	fmt.Fprintf(&b, "exec %s\n", shellcmd.Line(cmd.Args...))
	return b.String()
}

// putScript writes a script into the omoi volume, readable by the sandbox's user only.
func (p *Provider) putScript(ctx context.Context, id, file, text string) error {
	body := spooled{io.NopCloser(strings.NewReader(text)), int64(len(text))}
	archive := p.archive(entry{name: path.Base(file), mode: 0o400, body: body}, nil)
	err := p.engine.CopyToContainer(ctx, id, sandbox.Dir, archive, container.CopyToContainerOptions{})
	if err = errors.Join(err, archive.Close()); err != nil {
		return engineError("write into a sandbox", err)
	}
	return nil
}
