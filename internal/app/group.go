package app

import (
	"context"
	"errors"
	"fmt"
	"sync"

	"github.com/omoi-dev/omoi/internal/task"
)

// service is a part of a process that runs until its context ends, then completes its work.
type service struct {
	name string
	run  func(ctx context.Context) error
}

// running is a started service.
type running struct {
	name   string
	cancel context.CancelFunc
	done   chan struct{}
	err    error // result; set before done is closed
}

// runAll runs services until ctx ends or a service returns. Then runAll stops the services one after the other, in the
// given order, and waits for each.
func runAll(ctx context.Context, services ...service) error {
	return runWithin(ctx, context.WithoutCancel(ctx), services...)
}

// runWithin is like [runAll], but stops waiting for services when limit ends.
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

// start runs a service with a context of its own, and calls ended after the service has returned.
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

// stopWithin stops services one after the other. When limit ends, stopWithin cancels the remaining services and returns
// an error that names the service that hung.
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

// errCutOff returns the error for a part that did not stop in time.
func errCutOff(part string) error {
	return task.Errorf(task.CodeInternal, "Cannot stop omoi in time: %s did not end and was aborted. Next: omoi dev, which continues all tasks", part)
}
