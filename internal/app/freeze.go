package app

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"strconv"
	"sync"
	"time"

	"github.com/omoi-dev/omoi/internal/sandbox"
	"github.com/omoi-dev/omoi/internal/task"
	"github.com/omoi-dev/omoi/internal/wait"
)

// A stop of omoi dev takes 10 s at most: freezing, then the API, the worker, freezing what came up
// meanwhile, and the stack ([devstack.StopGrace]).
const (
	freezeTime = 2 * time.Second
	apiStop    = time.Second
	workerStop = 2 * time.Second
	lateTime   = time.Second

	// noteTime is how long freezing waits for the database first, and how long it may take to take back
	// that the sandboxes are frozen.
	noteTime = 500 * time.Millisecond
)

// thawTime is how long providers have to thaw before the time of a stop ends without them. They are
// asked again at least so often.
const thawTime = 10 * time.Second

// shutdown is how long the services of a process may take to stop: requests under way, and activities under way.
type shutdown struct{ api, worker time.Duration }

// shutdownTimeout is the limit of each in servers. It fits into the 30 s that Kubernetes and systemd leave between
// SIGTERM and SIGKILL, both together.
const shutdownTimeout = 10 * time.Second

// servicesTime is how long the services of omoi dev may take to stop, all together. It leaves the last freezing the
// time to take back what it has noted.
const servicesTime = freezeTime + apiStop + workerStop - noteTime

// serve runs services until ctx ends, and cuts off those that do not stop in time.
func (d *dev) serve(ctx context.Context, c *core, f *freezer, services ...service) error {
	limit, cancel := wait.Outlast(ctx, servicesTime)
	defer cancel()
	defer d.freezeLate(ctx, c, f)
	return runWithin(ctx, limit, services...)
}

// within closes what the services used, and waits for it until limit ends: a connection to a database
// that hangs ends with the database.
func within(limit context.Context, closing func() error) error {
	done := make(chan error, 1)
	go func() { done <- closing() }()
	select {
	case err := <-done:
		return err
	case <-limit.Done():
		return errCutOff("a connection")
	}
}

// freezer freezes and thaws the sandboxes of this machine.
type freezer struct {
	installation string
	providers    map[string]sandbox.Freezer
}

func (c *core) freezer(ctx context.Context) (*freezer, error) {
	installation, err := c.store.Installation(ctx)
	f := &freezer{installation: installation, providers: map[string]sandbox.Freezer{}}
	for name, p := range c.found {
		if one, ok := p.(sandbox.Freezer); ok {
			f.providers[name] = one
		}
	}
	return f, err
}

// each asks providers side by side, and returns those that failed.
func (f *freezer) each(ctx context.Context, of map[string]sandbox.Freezer, act func(sandbox.Freezer, context.Context, string) (int, error)) (total int, failed map[string]sandbox.Freezer, err error) {
	var all sync.WaitGroup
	var mu sync.Mutex
	failed = map[string]sandbox.Freezer{}
	for name, p := range of {
		all.Go(func() {
			count, perr := act(p, ctx, f.installation)
			mu.Lock()
			defer mu.Unlock()
			total += count
			if perr != nil {
				failed[name] = p
				err = errors.Join(err, fmt.Errorf("%s: %w", name, perr))
			}
		})
	}
	all.Wait()
	return total, failed, err
}

// tend thaws what the last stop froze, once the API answers, and at the stop freezes what runs,
// before anything else is stopped.
func (d *dev) tend(ctx context.Context, c *core, f *freezer) error {
	d.untilReady(ctx)
	d.thaw(ctx, c, f)
	<-ctx.Done()
	d.farewell(context.WithoutCancel(ctx), c, f)
	return nil
}

// thaw lets time count again after the first pass, whatever a provider answers: one that is away
// for long must not switch off everybody's budgets. It asks those that failed until they succeed,
// ever less often, or ctx ends.
func (d *dev) thaw(ctx context.Context, c *core, f *freezer) {
	left := f.providers
	for delay := time.Second; ctx.Err() == nil; delay = min(2*delay, thawTime) {
		count, failed, err := f.thawOnce(ctx, left)
		if count > 0 {
			d.say("thawed " + counted(count, "sandbox", "sandboxes") + " of the last stop; their agents continue")
		}
		if err = errors.Join(err, c.noteThawed(ctx, time.Second)); err == nil {
			return
		}
		if left = failed; delay == time.Second { // log it once
			c.log.WarnContext(ctx, "thaw sandboxes failed", slog.String("retry_in", delay.String()), slog.String("error", err.Error()))
		}
		_ = wait.For(ctx, delay)
	}
}

func (f *freezer) thawOnce(ctx context.Context, left map[string]sandbox.Freezer) (int, map[string]sandbox.Freezer, error) {
	ctx, cancel := context.WithTimeout(ctx, thawTime)
	defer cancel()
	return f.each(ctx, left, sandbox.Freezer.Thaw)
}

// noteThawed ends the time of the stop, even if ctx has ended meanwhile.
func (c *core) noteThawed(ctx context.Context, limit time.Duration) error {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), limit)
	defer cancel()
	return c.store.NoteThawed(ctx)
}

// farewell freezes the agents and says what the next start continues with, and what still costs.
func (d *dev) farewell(ctx context.Context, c *core, f *freezer) {
	ctx, cancel := context.WithTimeout(ctx, freezeTime)
	defer cancel()
	agents := "agents of this machine keep running, unsupervised and without budget, until the next omoi dev"
	if !d.opts.LeaveRunning {
		agents = frozenWords(c.freeze(ctx, f))
	}
	d.say("stopping; " + agents)
	if open, err := c.store.OpenTasks(ctx, 0); err == nil && len(open) > 0 {
		d.say("the next omoi dev continues with " + tasksOpen(len(open)))
	}
	elsewhere, err := c.store.SandboxesElsewhere(ctx)
	if err != nil {
		return
	}
	for _, one := range elsewhere {
		d.say("keeps running: " + one.String())
	}
}

// freeze returns how many sandboxes are frozen, why not all are, and why the time counts though they are. The note in the database
// comes first, since a stop may be cut short, and is taken back if freezing fails: agents that nobody froze work, and their time counts.
func (c *core) freeze(ctx context.Context, f *freezer) (count int, failed, unnoted error) {
	noted := c.noteFrozen(ctx)
	count, _, failed = f.each(ctx, f.providers, sandbox.Freezer.Freeze)
	if unnoted = noted(); unnoted != nil {
		c.log.WarnContext(ctx, "record freeze failed, the time of the stop counts", slog.String("error", unnoted.Error()))
	}
	if failed == nil {
		return count, nil, unnoted
	}
	c.log.WarnContext(ctx, "freeze sandboxes failed", slog.String("error", failed.Error()))
	if nerr := c.noteThawed(ctx, noteTime); nerr != nil {
		c.log.WarnContext(ctx, "clear freeze record failed, the time of the stop does not count", slog.String("error", nerr.Error()))
	}
	return count, failed, unnoted
}

// noteFrozen records that sandboxes are frozen; noted waits for the record. A database that does not answer must not use up the
// time for freezing: after noteTime the freezing continues in parallel.
func (c *core) noteFrozen(ctx context.Context) (noted func() error) {
	var err error
	done := make(chan struct{})
	go func() {
		defer close(done)
		err = c.store.NoteFrozen(ctx)
	}()
	select {
	case <-done:
	case <-time.After(noteTime):
	}
	return func() error { <-done; return err }
}

// frozenWords says what became of the agents, and whether the time of the stop counts.
func frozenWords(count int, failed, unnoted error) string {
	switch {
	case failed != nil:
		return fmt.Sprintf("cannot freeze all agents of this machine: %s. Those that are not frozen keep running", task.MessageOf(failed))
	case count == 0:
		return "no agent runs on this machine"
	}
	frozen := counted(count, "sandbox is frozen: its agent does", "sandboxes are frozen: their agents do") + " nothing until the next omoi dev"
	if unnoted != nil {
		return frozen + "; the time of this stop counts, because omoi cannot store that it froze them: " + unnotedWords(unnoted)
	}
	return frozen + ", and the time does not count"
}

// unnotedWords says why the database did not take a note.
func unnotedWords(err error) string {
	if errors.Is(err, context.DeadlineExceeded) {
		return "The database does not answer."
	}
	return task.MessageOf(err)
}

// freezeLate freezes what came up while the services stopped.
func (d *dev) freezeLate(ctx context.Context, c *core, f *freezer) {
	if d.opts.LeaveRunning {
		return
	}
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), lateTime)
	defer cancel()
	_, _, _ = c.freeze(ctx, f) // it has logged why not
}

func counted(n int, one, many string) string {
	if n == 1 {
		return "1 " + one
	}
	return strconv.Itoa(n) + " " + many
}
