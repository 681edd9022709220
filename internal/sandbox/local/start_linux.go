package local

import (
	"context"
	"os"
	"time"

	"golang.org/x/sys/unix"

	"github.com/omoi-dev/omoi/internal/sandbox"
	"github.com/omoi-dev/omoi/internal/task"
)

// Start runs the command, once for the life of the sandbox: where it was started before,
// by whomever, the answer is success. It answers [sandbox.ErrFenced] after a delete.
func (p *Provider) Start(ctx context.Context, labels sandbox.Labels, cmd sandbox.Command) error {
	if cmd.Stdin != nil {
		return task.Invalid("stdin", "a started command has no standard input")
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

// spawn starts the shim and waits until it says that the command runs. If the answer is
// lost the next Start finds the shim's lock or its state.
func (p *Provider) spawn(ctx context.Context, f folder, l launch) error {
	out, err := os.OpenFile(f.at(fileLog), os.O_WRONLY|os.O_CREATE|os.O_APPEND, 0o600)
	if err != nil {
		return unavailable("open the log of a sandbox", err)
	}
	defer out.Close() //nolint:errcheck // the shim has its own
	if l.UID >= 0 {   // a script may open /dev/stderr by name
		if err := out.Chown(l.UID, l.UID); err != nil {
			return unavailable("give the log to its user", err)
		}
	}
	cmd := p.shimCommand(kindRun, f)
	cmd.Stdout, cmd.Stderr = out, out
	s, err := startShim(cmd)
	if err != nil {
		return err
	}
	go func() { _ = cmd.Wait() }() // so that it is no zombie; a shim may outlive this process
	_, err = s.ask(ctx, l)
	return err
}

// killPatience is how long a shim may take to end its tree before it is killed itself.
const killPatience = 3 * time.Second

// Stop ends the started command: SIGTERM to it, after grace SIGKILL to its whole tree. It
// answers once nothing of the tree is left. Nothing started, or ended already, is success. A
// frozen one is thawed, so that it hears.
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

// end makes a shim end, by asking where it has a grace and then by force, and lets go of it.
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
	return task.Errorf(task.CodeUnavailable, "a shim of the sandbox survives SIGKILL")
}
