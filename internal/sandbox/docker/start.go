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
	"github.com/omoi-dev/omoi/internal/task"
)

// startFile is what the shell of a sandbox's container reads.
const startFile = sandbox.Dir + "/.omoi-start"

// Start writes what to run into the sandbox and starts its container: once, since a container
// that has run is not started again.
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

// Stop asks the command to end and ends its whole tree after grace. Files stay.
func (p *Provider) Stop(ctx context.Context, labels sandbox.Labels, grace time.Duration) error {
	found, err := p.find(ctx, labels)
	if err != nil || !found.State.Running {
		return err
	}
	if found.State.Paused {
		if err := p.engine.ContainerUnpause(ctx, found.ID); err != nil && !gone(err) {
			return engineError("wake a container", err)
		}
	}
	if ended, err := p.signal(ctx, found.ID, "TERM", grace); ended || err != nil {
		return err
	}
	ended, err := p.signal(ctx, found.ID, "KILL", time.Minute)
	if err == nil && !ended {
		err = task.Errorf(task.CodeUnavailable, "the docker engine did not end sandbox %s within a minute", labels.SandboxID)
	}
	return err
}

// gone reports that a container does not run, or is being removed, or is not there.
func gone(err error) bool { return cerrdefs.IsConflict(err) || cerrdefs.IsNotFound(err) }

// signal reports whether the container has ended within patience.
func (p *Provider) signal(ctx context.Context, id, name string, patience time.Duration) (bool, error) {
	if err := p.engine.ContainerKill(ctx, id, name); err != nil {
		if gone(err) {
			return true, nil
		}
		return false, engineError("end a container", err)
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

// ending is the end of a container, or why it cannot be waited for.
type ending struct {
	code int
	err  error
}

// ending begins to wait at once. The engine's client holds a goroutine until somebody takes its
// answer, so somebody always does.
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

// script runs a command: its arguments and environment are in no place that others see. It
// removes the file that it is in first. After life, if there is one, it ends all that runs; it counts
// short sleeps, so that of the time in which the container is paused a minute counts at most.
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
	if file == startFile { // one stream, so that its lines keep their order
		b.WriteString("exec 2>&1\n")
	}
	fmt.Fprintf(&b, "cd %s || exit 126\n", sandbox.Quoted(cmp.Or(cmd.Dir, sandbox.Workspace)))
	for name, value := range cmd.Env {
		fmt.Fprintf(&b, "export %s=%s\n", name, sandbox.Quoted(value))
	}
	fmt.Fprintf(&b, "exec %s\n", sandbox.Quoted(cmd.Args...))
	return b.String()
}

// putScript writes it into the omoi volume, for the sandbox's user alone.
func (p *Provider) putScript(ctx context.Context, id, file, text string) error {
	body := spooled{io.NopCloser(strings.NewReader(text)), int64(len(text))}
	archive := p.archive(entry{name: path.Base(file), mode: 0o400, body: body}, nil)
	err := p.engine.CopyToContainer(ctx, id, sandbox.Dir, archive, container.CopyToContainerOptions{})
	if err = errors.Join(err, archive.Close()); err != nil {
		return engineError("write into a sandbox", err)
	}
	return nil
}
