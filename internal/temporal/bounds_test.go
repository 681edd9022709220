package temporal_test

import (
	"context"
	"fmt"
	"net"
	"os"
	"os/exec"
	"strconv"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"go.temporal.io/sdk/activity"
	"go.temporal.io/sdk/client"
	sdk "go.temporal.io/sdk/temporal"
	"go.temporal.io/sdk/worker"
	"go.temporal.io/sdk/workflow"

	"github.com/omoi-dev/omoi/internal/contract"
	"github.com/omoi-dev/omoi/internal/temporal"
)

// ownServer is a server that a test may freeze.
func ownServer(t *testing.T) (*os.Process, string) {
	t.Helper()
	path := binary()
	if path == "" {
		t.Skip("SKIPPED: no temporal binary in bin/ or on PATH")
	}
	l, err := net.Listen("tcp", "127.0.0.1:0")
	require.NoError(t, err)
	port := l.Addr().(*net.TCPAddr).Port
	require.NoError(t, l.Close())
	cmd := exec.CommandContext(t.Context(), path, "server", "start-dev", "--headless", "--log-level", "never", "--port", strconv.Itoa(port))
	require.NoError(t, cmd.Start())
	t.Cleanup(func() { _ = cmd.Wait() }) // the test's context ends it
	return cmd.Process, fmt.Sprintf("127.0.0.1:%d", port)
}

// A server that does not answer for 5 seconds ends no activity, and a cancel still arrives with the next heartbeat.
func TestActivitySurvivesAFrozenServer(t *testing.T) {
	t.Parallel()
	server, address := ownServer(t)
	c := redial(t, temporal.Config{HostPort: address, CallTimeout: patient})
	require.Eventually(t, func() bool { return c.Check(t.Context()) == nil }, time.Minute, 50*time.Millisecond)

	began, ended := make(chan int32, 10), make(chan error, 10)
	long := func(ctx context.Context) error {
		began <- activity.GetInfo(ctx).Attempt
		tick := time.NewTicker(500 * time.Millisecond)
		defer tick.Stop()
		for ctx.Err() == nil {
			activity.RecordHeartbeat(ctx)
			select {
			case <-ctx.Done():
			case <-tick.C:
			}
		}
		ended <- context.Cause(ctx)
		return ctx.Err()
	}
	whole := func(ctx workflow.Context) error {
		return workflow.ExecuteActivity(workflow.WithActivityOptions(ctx, workflow.ActivityOptions{
			StartToCloseTimeout: 5 * time.Minute, HeartbeatTimeout: contract.PolicyOf(contract.StartAgent).Heartbeat, WaitForCancellation: true,
		}), "long").Get(ctx, nil)
	}
	w := worker.New(c.SDK(), "frozen", worker.Options{MaxHeartbeatThrottleInterval: time.Second})
	w.RegisterActivityWithOptions(long, activity.RegisterOptions{Name: "long"})
	w.RegisterWorkflowWithOptions(whole, workflow.RegisterOptions{Name: "whole"})
	require.NoError(t, w.Start())
	defer w.Stop()
	run, err := c.SDK().ExecuteWorkflow(t.Context(), client.StartWorkflowOptions{TaskQueue: "frozen"}, "whole")
	require.NoError(t, err)
	require.EqualValues(t, 1, <-began)

	require.NoError(t, server.Signal(syscall.SIGSTOP))
	<-time.After(5 * time.Second)
	require.NoError(t, server.Signal(syscall.SIGCONT))
	require.Eventually(t, func() bool { return c.SDK().CancelWorkflow(t.Context(), run.GetID(), "") == nil }, time.Minute, 50*time.Millisecond)
	asked := time.Now()
	require.True(t, sdk.IsCanceledError(<-ended), "nothing but the cancel ended it")
	t.Logf("the cancel reached the activity after %s", time.Since(asked).Round(time.Millisecond))
	require.True(t, sdk.IsCanceledError(run.Get(t.Context(), nil)))
	require.Empty(t, began, "it ran once")
}
