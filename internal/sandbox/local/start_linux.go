package local

import (
	"context"
	"os"
	"time"

	"golang.org/x/sys/unix"

	"github.com/omoi-dev/omoi/internal/sandbox"
	"github.com/omoi-dev/omoi/internal/task"
)

// Start runs the command once in the life of the sandbox. If a command was started before, Start returns nil. After a
// delete the error is [sandbox.ErrFenced].
func (p *Provider) Start(ctx context.Context, labels sandbox.Labels, cmd sandbox.Command) error {
	if cmd.Stdin != nil {
		return task.Invalid("stdin", "Start does not accept standard input")
	}
	fence, err := p.fence(ctx, labels)
	if err != nil {
		return err
	}
	defer fence.Release()
	if fence.IsDeleted() {
		return sandbox.ErrFenced
	}
	f, m, err := p.find(labels)
	if err != nil {
		return err
	}
	if started, err := f.load(fileState, &state{}); started || err != nil {
		return err
	}
	l, err := p.prepare(f, m, cmd, kindRun)
	if err != nil {
		return err
	}
	l.Deadline = m.Deadline
	if p.frozen.Load() {
		return sandbox.ErrFrozen
	}
	return p.spawn(ctx, f, l)
}

// spawn starts the shim and waits until it reports that the command runs. If the answer is lost, the next Start finds
// the lock of the shim or state.json.
func (p *Provider) spawn(ctx context.Context, f folder, l launch) error {
	out, err := os.OpenFile(f.at(fileLog), os.O_WRONLY|os.O_CREATE|os.O_APPEND, 0o600)
	if err != nil {
		return unavailable("open the log of a sandbox", err)
	}
	defer out.Close() //nolint:errcheck // the shim has its own descriptor
	if l.UID >= 0 {   // a script may open /dev/stderr by name
		if err := out.Chown(l.UID, l.UID); err != nil {
			return unavailable("change the owner of the log", err)
		}
	}
	cmd := p.shimCommand(kindRun, f)
	cmd.Stdout, cmd.Stderr = out, out
	s, err := startShim(cmd)
	if err != nil {
		return err
	}
	go func() { _ = cmd.Wait() }() // prevents a zombie; the shim may outlive this process
	_, err = s.ask(ctx, l)
	return err
}

// killPatience is the time that a shim gets to end its processes before the next stronger signal.
const killPatience = 3 * time.Second

// Stop sends SIGTERM to the started command, and after grace SIGKILL to all its processes. Stop returns when none is
// left. Without a running command Stop returns nil. A frozen command is thawed first, so that it can handle SIGTERM.
func (p *Provider) Stop(ctx context.Context, labels sandbox.Labels, grace time.Duration) error {
	f, m, err := p.find(labels)
	if err != nil {
		return err
	}
	if _, err := thaw(ctx, f, m); err != nil {
		return err
	}
	g, err := seize(f.at(fileLife), spanAgent)
	if err != nil {
		return err
	}
	if g != nil {
		if err := g.end(ctx, grace); err != nil {
			return err
		}
	}
	l, err := newLook(f, m, scopeAgent)
	if err != nil {
		return err
	}
	return l.kill(ctx, p.log)
}

// end ends a shim: with SIGTERM if grace is not 0, then SIGQUIT, then SIGKILL. end closes g.
func (g *grip) end(ctx context.Context, grace time.Duration) error {
	defer g.close()
	steps := []struct {
		signal unix.Signal
		wait   time.Duration
	}{{unix.SIGTERM, grace}, {unix.SIGQUIT, killPatience}, {unix.SIGKILL, killPatience}}
	if grace <= 0 {
		steps = steps[1:]
	}
	for _, step := range steps {
		g.signal(step.signal)
		if dead, err := g.await(ctx, step.wait); dead || err != nil {
			return err
		}
	}
	return task.Errorf(task.CodeUnavailable, "a shim of the sandbox still runs after SIGKILL")
}
