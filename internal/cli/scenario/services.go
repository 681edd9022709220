package scenario

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/omoi-dev/omoi/internal/client"
	"github.com/omoi-dev/omoi/internal/devstack"
)

// Services are those of an installation on this machine.
type Services struct {
	Home string // OMOI_HOME
	Key  string // sent to the server; without authentication none is needed
	// Start starts everything and keeps it running until ctx ends. It calls ready once.
	Start func(ctx context.Context, progress func(step string), ready func(devstack.Info)) error
	// Progress is told of each step.
	Progress func(step string)
}

// Open finds a running omoi dev, or starts everything. The services outlive ctx: stop ends what was started.
func (s Services) Open(ctx context.Context) (info devstack.Info, stop func() error, err error) {
	if info, err := devstack.ReadInfo(s.Home); err == nil && s.answers(ctx, info) {
		s.Progress("using the running omoi dev at " + info.APIURL)
		return info, func() error { return nil }, nil
	}
	running, cancel := context.WithCancel(context.WithoutCancel(ctx))
	ready, ended := make(chan devstack.Info, 1), make(chan error, 1)
	go func() {
		ended <- s.Start(running, s.Progress, func(info devstack.Info) { ready <- info })
	}()
	stop = func() error {
		cancel()
		if err := <-ended; !errors.Is(err, context.Canceled) {
			return err
		}
		return nil
	}
	select {
	case info := <-ready:
		return info, stop, nil
	case err := <-ended:
		cancel()
		return info, nil, fmt.Errorf("start the services: %w", cmp.Or(err, errors.New("they ended before they were ready")))
	case <-ctx.Done():
		return info, nil, errors.Join(ctx.Err(), stop())
	}
}

// answers reports whether an omoi dev is ready.
func (s Services) answers(ctx context.Context, info devstack.Info) bool {
	ctx, cancel := context.WithTimeout(ctx, 2*time.Second)
	defer cancel()
	state, err := client.New(info.APIURL, s.Key).Ready(ctx)
	return err == nil && state.Ready
}
