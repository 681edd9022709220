package local

import (
	"context"
	"errors"
	"slices"
	"sync"
	"time"

	"golang.org/x/sys/unix"

	"github.com/omoi-dev/omoi/internal/proctable"
	"github.com/omoi-dev/omoi/internal/sandbox"
	"github.com/omoi-dev/omoi/internal/task"
	"github.com/omoi-dev/omoi/internal/wait"
)

var _ sandbox.Freezer = (*Provider)(nil)

// Freeze stops all processes of each started command of an installation, and its shim, which stops the clock of the
// lifetime. Commands of Attach continue, because they end with their caller.
func (p *Provider) Freeze(ctx context.Context, installation string) (int, error) {
	p.frozen.Store(true)
	return p.each(ctx, installation, freeze)
}

// Thaw lets the processes continue.
func (p *Provider) Thaw(ctx context.Context, installation string) (int, error) {
	p.frozen.Store(false)
	return p.each(ctx, installation, thaw)
}

// each calls act for all sandboxes of an installation in parallel, and counts those for which act returns true.
func (p *Provider) each(ctx context.Context, installation string, act func(context.Context, folder, meta) (bool, error)) (int, error) {
	boxes, err := p.List(ctx, installation)
	if err != nil {
		return 0, err
	}
	var all sync.WaitGroup
	var mu sync.Mutex
	count := 0
	for _, box := range boxes {
		all.Go(func() {
			f, m, ferr := p.find(box.Labels)
			if task.CodeOf(ferr) == task.CodeNotFound { // deleted meanwhile
				return
			}
			acted := false
			if ferr == nil {
				acted, ferr = act(ctx, f, m)
			}
			mu.Lock()
			defer mu.Unlock()
			err = errors.Join(err, ferr)
			if acted {
				count++
			}
		})
	}
	all.Wait()
	return count, err
}

// freeze stops the shim first, so that it starts no other process.
func freeze(ctx context.Context, f folder, m meta) (bool, error) {
	shim, err := signalShim(f, unix.SIGSTOP)
	if err != nil {
		return false, err
	}
	all, err := tree(f, m, shim)
	if err != nil {
		return shim != 0, err
	}
	return shim != 0 || len(all) > 0, stopTree(ctx, f, m, shim)
}

// stopTree repeats until no process runs, because a program may start another one meanwhile.
func stopTree(ctx context.Context, f folder, m meta, shim int) error {
	told := map[process]bool{}
	for delay := time.Millisecond; ; delay = min(2*delay, 50*time.Millisecond) {
		all, err := tree(f, m, shim)
		if err != nil {
			return err
		}
		left := running(all, told)
		if len(left) == 0 {
			return nil
		}
		for _, one := range left {
			one.signal(unix.SIGSTOP)
			told[one] = true
		}
		if err := wait.For(ctx, delay); err != nil {
			return task.Errorf(task.CodeUnavailable, "%d processes of sandbox %s could not be frozen", len(left), m.Labels.SandboxID).WithCause(err)
		}
	}
}

func thaw(_ context.Context, f folder, m meta) (bool, error) {
	pid, err := holder(f.at(fileLife), spanAgent)
	if err != nil {
		return false, err
	}
	all, err := tree(f, m, pid)
	if err != nil {
		return false, err
	}
	was := stopped(pid) || slices.ContainsFunc(all, func(one process) bool { return stopped(one.PID) })
	for _, one := range all {
		one.signal(unix.SIGCONT)
	}
	_, err = signalShim(f, unix.SIGCONT)
	return was, err
}

// signalShim signals the shim and returns its PID; 0 without a shim.
func signalShim(f folder, sig unix.Signal) (int, error) {
	g, err := seize(f.at(fileLife), spanAgent)
	if g == nil || err != nil {
		return 0, err
	}
	defer g.close()
	g.signal(sig)
	return g.pid, nil
}

// tree returns the running processes of the started command.
func tree(f folder, m meta, shim int) ([]process, error) {
	l, err := newLook(f, m, scopeAgent)
	if err != nil {
		return nil, err
	}
	found := l.survivors()
	if shim == 0 {
		return found, nil
	}
	for _, one := range descendants(shim) {
		if !slices.Contains(found, one) {
			found = append(found, one)
		}
	}
	return found, nil
}

// running returns the processes that are not stopped. A process in uninterruptible sleep, as between vfork and exec,
// counts as stopped after SIGSTOP: it stops before it executes further instructions.
func running(all []process, told map[process]bool) (left []process) {
	for _, one := range all {
		s, ok := proctable.Read(one.PID)
		same := ok && !s.HasEnded() && s.Start == one.Start
		if same && !s.IsStopped() && (s.State != 'D' || !told[one]) {
			left = append(left, one)
		}
	}
	return left
}

// stopped reports whether a process is stopped by a signal or by a debugger.
func stopped(pid int) bool {
	s, ok := proctable.Read(pid)
	return ok && s.IsStopped()
}
