package app

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"sync"
	"time"

	"github.com/omoi-dev/omoi/internal/sandbox"
	"github.com/omoi-dev/omoi/internal/task"
	"github.com/omoi-dev/omoi/internal/wait"
)

// Time limits of the shutdown of omoi dev, 10 seconds in total: freeze, stop the API, stop the worker, freeze late
// sandboxes, and stop the servers ([devstack.StopGrace]).
const (
	freezeTime = 2 * time.Second
	apiStop    = time.Second
	workerStop = 2 * time.Second
	lateTime   = time.Second

	// noteTime is the timeout of the freeze record.
	noteTime = 500 * time.Millisecond
)

// thawTime is the timeout of one thaw request, and the maximum interval of its retries.
const thawTime = 10 * time.Second

// shutdown holds the time limits for requests and activities in progress.
type shutdown struct{ api, worker time.Duration }

// shutdownTimeout is the limit of API and worker on servers. Both together fit into the 30 seconds between SIGTERM and
// SIGKILL that Kubernetes allows by default.
const shutdownTimeout = 10 * time.Second

// servicesTime is the time limit of all services of omoi dev together. The limit leaves noteTime for the record of
// the late freeze.
const servicesTime = freezeTime + apiStop + workerStop - noteTime

// serve runs services until ctx ends, then aborts services that do not stop in time.
func (d *dev) serve(ctx context.Context, c *core, f *freezer, services ...service) error {
	limit, cancel := wait.Outlast(ctx, servicesTime)
	defer cancel()
	defer d.freezeLate(ctx, c, f)
	return runWithin(ctx, limit, services...)
}

// within calls closing and returns an error if closing takes longer than limit. A hanging database connection ends with
// the database.
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

// each calls act on all providers in parallel and returns those that failed.
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

// tend thaws the sandboxes of the last shutdown once the API is ready. When ctx ends, tend freezes the running
// sandboxes before the other services stop. Clocks and budgets count after the first pass of thawing, even if a provider
// fails, because an unreachable provider must not disable budgets.
func (d *dev) tend(ctx context.Context, c *core, f *freezer) error {
	d.untilReady(ctx)
	left, err := d.thaw(ctx, f, f.providers)
	var rest sync.WaitGroup
	rest.Go(func() { d.thawRest(ctx, c, f, left, err) })
	for ctx.Err() == nil {
		if err := c.store.KeepThawed(ctx); err != nil && ctx.Err() == nil {
			c.log.WarnContext(ctx, "record that sandboxes are not frozen failed, retrying", slog.String("error", err.Error()))
		}
		_ = wait.For(ctx, c.store.PulsePeriod())
	}
	rest.Wait()
	d.farewell(context.WithoutCancel(ctx), c, f)
	return nil
}

// thawRest retries failed providers with backoff until ctx ends.
func (d *dev) thawRest(ctx context.Context, c *core, f *freezer, left map[string]sandbox.Freezer, err error) {
	for delay := time.Second; err != nil; delay = min(2*delay, thawTime) {
		if delay == time.Second { // log once
			c.log.WarnContext(ctx, "thaw sandboxes failed", slog.String("retry_in", delay.String()), slog.String("error", err.Error()))
		}
		if wait.For(ctx, delay) != nil {
			return
		}
		left, err = d.thaw(ctx, f, left)
	}
}

// thaw thaws the sandboxes of some providers, and returns those that failed.
func (d *dev) thaw(ctx context.Context, f *freezer, of map[string]sandbox.Freezer) (map[string]sandbox.Freezer, error) {
	ctx, cancel := context.WithTimeout(ctx, thawTime)
	defer cancel()
	count, failed, err := f.each(ctx, of, sandbox.Freezer.Thaw)
	if count > 0 {
		d.say("thawed " + task.Count(count, "sandbox") + " of the last stop; their agents continue")
	}
	return failed, err
}

// farewell freezes the agents and reports what the next start continues with, and which sandboxes still cost money.
func (d *dev) farewell(ctx context.Context, c *core, f *freezer) {
	ctx, cancel := context.WithTimeout(ctx, freezeTime)
	defer cancel()
	agents := "agents of this machine keep running, unsupervised and without budget, until the next omoi dev"
	if d.opts.LeaveRunning {
		c.note(ctx, c.store.NoteThawed)
	} else {
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

// freeze freezes the sandboxes. If that fails, time counts, because agents that still run must count their time.
func (c *core) freeze(ctx context.Context, f *freezer) (count int, failed error) {
	if count, _, failed = f.each(ctx, f.providers, sandbox.Freezer.Freeze); failed == nil {
		c.note(ctx, c.store.NoteFrozen)
		return count, nil
	}
	c.log.WarnContext(ctx, "freeze sandboxes failed", slog.String("error", failed.Error()))
	c.note(ctx, c.store.NoteThawed)
	return count, failed
}

// note records whether sandboxes are frozen, even if ctx has ended.
func (c *core) note(ctx context.Context, record func(context.Context) error) {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), noteTime)
	defer cancel()
	if err := record(ctx); err != nil {
		c.log.WarnContext(ctx, "record freeze failed", slog.String("error", err.Error()))
	}
}

// frozenWords describes the result of a freeze to users.
func frozenWords(count int, failed error) string {
	switch {
	case failed != nil:
		return fmt.Sprintf("cannot freeze all agents of this machine: %s. Those that are not frozen keep running", task.MessageOf(failed))
	case count == 0:
		return "no agent runs on this machine"
	}
	state := " are frozen: their agents do"
	if count == 1 {
		state = " is frozen: its agent does"
	}
	return task.Count(count, "sandbox") + state + " nothing until the next omoi dev, and the time does not count"
}

// freezeLate freezes sandboxes that were created while the services stopped.
func (d *dev) freezeLate(ctx context.Context, c *core, f *freezer) {
	if d.opts.LeaveRunning {
		return
	}
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), lateTime)
	defer cancel()
	_, _ = c.freeze(ctx, f) // freeze has logged the errors
}
