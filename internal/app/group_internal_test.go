package app

import (
	"context"
	"errors"
	"slices"
	"sync"
	"testing"

	"github.com/stretchr/testify/require"
	"go.uber.org/goleak"
)

func TestMain(m *testing.M) {
	goleak.VerifyTestMain(m,
		goleak.IgnoreAnyFunction("net/http.(*persistConn).readLoop"), goleak.IgnoreAnyFunction("net/http.(*persistConn).writeLoop"))
}

// order records the order in which services ended.
type order struct {
	mu    sync.Mutex
	names []string
}

func (o *order) service(name string, err error, fails <-chan struct{}) service {
	return service{name, func(ctx context.Context) error {
		select {
		case <-ctx.Done():
			err = nil
		case <-fails:
		}
		o.mu.Lock()
		defer o.mu.Unlock()
		o.names = append(o.names, name)
		return err
	}}
}

func TestRunAll_StopsInOrder(t *testing.T) {
	t.Parallel()
	o := &order{}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	require.NoError(t, runAll(ctx, o.service("api", nil, nil), o.service("intake", nil, nil), o.service("worker", nil, nil)))
	require.Equal(t, []string{"api", "intake", "worker"}, o.names)
}

// A service that fails stops the others, and the error names the service.
func TestRunAll_FailureStopsAll(t *testing.T) {
	t.Parallel()
	o, failed := &order{}, make(chan struct{})
	close(failed)
	broken := errors.New("broken")
	err := runAll(t.Context(), o.service("api", nil, nil), o.service("relay", broken, failed), o.service("worker", nil, nil))
	require.ErrorIs(t, err, broken)
	require.ErrorContains(t, err, "relay")
	slices.Sort(o.names)
	require.Equal(t, []string{"api", "relay", "worker"}, o.names)
}
