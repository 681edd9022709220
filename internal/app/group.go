package app

import (
	"context"
	"errors"
	"fmt"
	"sync"
)

// service is something that works until its context ends, then finishes what it has begun.
type service struct {
	name string
	run  func(ctx context.Context) error
}

// runAll runs services until ctx ends or one of them does. Then it stops them one after the
// other, in the order given, and waits for each.
func runAll(ctx context.Context, services ...service) error {
	over := make(chan struct{})
	var once sync.Once
	errs := make([]error, len(services))
	stops := make([]func(), len(services))
	for i, s := range services {
		life, cancel := context.WithCancel(context.WithoutCancel(ctx))
		done := make(chan struct{})
		go func() {
			defer close(done)
			defer once.Do(func() { close(over) })
			if err := s.run(life); err != nil && !errors.Is(err, context.Canceled) {
				errs[i] = fmt.Errorf("%s: %w", s.name, err)
			}
		}()
		stops[i] = func() { cancel(); <-done }
	}
	select {
	case <-ctx.Done():
	case <-over:
	}
	for _, stop := range stops {
		stop()
	}
	return errors.Join(errs...)
}
