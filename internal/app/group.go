package app

import (
	"context"
	"errors"
	"fmt"
	"sync"

	"github.com/omoi-dev/omoi/internal/task"
)

// service is something that works until its context ends, then finishes what it has begun.
type service struct {
	name string
	run  func(ctx context.Context) error
}

// running is a service that was started.
type running struct {
	name   string
	cancel context.CancelFunc
	done   chan struct{}
	err    error // why it ended, once done is closed
}

// runAll runs services until ctx ends or one of them does. Then it stops them one after the
// other, in the order given, and waits for each.
func runAll(ctx context.Context, services ...service) error {
	return runWithin(ctx, context.WithoutCancel(ctx), services...)
}

// runWithin is [runAll] that waits for no service any longer once limit has ended.
func runWithin(ctx, limit context.Context, services ...service) error {
	over := make(chan struct{})
	var once sync.Once
	all := make([]*running, len(services))
	for i, s := range services {
		all[i] = start(ctx, s, func() { once.Do(func() { close(over) }) })
	}
	select {
	case <-ctx.Done():
	case <-over:
	}
	return stopWithin(limit, all)
}

// start runs a service in a life of its own, and calls ended when it has ended.
func start(ctx context.Context, s service, ended func()) *running {
	life, cancel := context.WithCancel(context.WithoutCancel(ctx))
	r := &running{name: s.name, cancel: cancel, done: make(chan struct{})}
	go func() {
		defer close(r.done)
		defer ended()
		if err := s.run(life); err != nil && !errors.Is(err, context.Canceled) {
			r.err = fmt.Errorf("%s: %w", s.name, err)
		}
	}()
	return r
}

// stopWithin stops services one after the other. When limit ends it cancels those that are left, and names the one that hung.
func stopWithin(limit context.Context, all []*running) error {
	var errs []error
	for i, r := range all {
		r.cancel()
		select {
		case <-r.done:
			errs = append(errs, r.err)
		case <-limit.Done():
			for _, left := range all[i+1:] {
				left.cancel()
			}
			return errors.Join(append([]error{errCutOff(r.name)}, errs...)...)
		}
	}
	return errors.Join(errs...)
}

// errCutOff says that a part took longer than a stop may take.
func errCutOff(part string) error {
	return task.Errorf(task.CodeInternal, "Cannot stop omoi in time: %s did not end and was aborted. Next: omoi dev, which continues all tasks", part)
}
