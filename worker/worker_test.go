package worker_test

import (
	"context"
	"errors"
	"log/slog"
	"net"
	"os"
	"path/filepath"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"go.temporal.io/api/enums/v1"
	"go.temporal.io/api/taskqueue/v1"
	"go.temporal.io/api/workflowservice/v1"
	"go.temporal.io/sdk/client"
	sdklog "go.temporal.io/sdk/log"
	"go.temporal.io/sdk/testsuite"

	"github.com/omoi-dev/omoi/activities"
	"github.com/omoi-dev/omoi/internal/contract"
	"github.com/omoi-dev/omoi/worker"
)

// hosts and schedules count their calls.
type hosts struct {
	seen chan string
	back atomic.Bool
	err  error
}

func (h *hosts) HostSeen(_ context.Context, id string, _, _ []string, _ int) (bool, error) {
	select {
	case h.seen <- id:
	default:
	}
	return h.back.Swap(false), h.err
}

type schedules struct {
	ensured, restored, woken atomic.Int32
}

// EnsureSchedules fails twice, as a server does that has just started.
func (s *schedules) EnsureSchedules(context.Context) error {
	if s.ensured.Add(1) <= 2 {
		return errors.New("the scheduler's worker does not poll yet")
	}
	return nil
}

func (s *schedules) RestoreSchedules(context.Context) error {
	s.restored.Add(1)
	return errors.New("the server is away for a moment")
}

func (s *schedules) WakeReaper(context.Context) error {
	s.woken.Add(1)
	return errors.New("no such schedule")
}

// devServer starts the real server that `make` puts into bin/.
func devServer(t *testing.T) client.Client {
	t.Helper()
	return devServerAt(t, "")
}

// devServerAt starts it at an address; empty: at one that is free.
func devServerAt(t *testing.T, address string) client.Client {
	t.Helper()
	path, err := filepath.Abs("../bin/temporal")
	require.NoError(t, err)
	if _, err := os.Stat(path); err != nil {
		t.Skip("bin/temporal is not there: run `make build`; SKIPPED: the worker on a real server")
	}
	server, err := testsuite.StartDevServer(t.Context(), testsuite.DevServerOptions{
		ExistingPath: path, LogLevel: "error",
		ClientOptions: &client.Options{HostPort: address, Logger: sdklog.NewStructuredLogger(slog.New(slog.DiscardHandler))},
	})
	require.NoError(t, err)
	t.Cleanup(func() { _ = server.Stop() })
	return server.Client()
}

func TestWorker_PollsItsQueuesAndStops(t *testing.T) {
	t.Parallel()
	c := devServer(t)
	s, h := &schedules{}, &hosts{seen: make(chan string, 1), err: errors.New("the store is down")}
	w := worker.New(
		worker.Config{HostID: "h1", Version: "v9", Providers: []string{"local"}, HostBeat: 20 * time.Millisecond, Restore: 20 * time.Millisecond},
		worker.Deps{Client: c, Activities: activities.New(activities.Config{}, activities.Deps{}), Hosts: h, Schedules: s, Log: slog.New(slog.DiscardHandler)},
	)
	ctx, stop := context.WithCancel(t.Context())
	defer stop()
	done := make(chan error, 1)
	go func() { done <- w.Run(ctx) }()

	for range 3 { // heartbeats continue while the store is down
		require.Equal(t, "h1", <-h.seen)
	}
	for queue, kind := range map[string]enums.TaskQueueType{
		contract.QueueTasks:      enums.TASK_QUEUE_TYPE_WORKFLOW,
		contract.QueueSandboxes:  enums.TASK_QUEUE_TYPE_ACTIVITY,
		contract.QueueHost("h1"): enums.TASK_QUEUE_TYPE_ACTIVITY,
	} {
		require.Eventually(t, func() bool { return polled(t, c, queue, kind) }, 20*time.Second, 20*time.Millisecond, queue)
	}
	require.False(t, polled(t, c, contract.QueueHost("h1"), enums.TASK_QUEUE_TYPE_WORKFLOW))
	named := pollers(t, c, contract.QueueTasks, enums.TASK_QUEUE_TYPE_WORKFLOW)[0].GetWorkerVersionCapabilities() //nolint:staticcheck // of workers without a deployment
	require.Equal(t, "v9", named.GetBuildId())
	require.Eventually(t, func() bool { return s.woken.Load() == 1 }, 20*time.Second, 20*time.Millisecond)
	require.Equal(t, int32(3), s.ensured.Load(), "until they are made")
	require.Eventually(t, func() bool { return s.restored.Load() >= 2 }, 20*time.Second, 20*time.Millisecond, "for as long as it works")
	h.back.Store(true) // lost sandboxes do not keep the reaper awake
	require.Eventually(t, func() bool { return s.woken.Load() >= 3 }, 20*time.Second, 20*time.Millisecond, "at each heartbeat until it is awake")

	stop()
	require.NoError(t, <-done)
}

func TestWorker_WaitsForTheServer(t *testing.T) {
	t.Parallel()
	address := freeAddress(t)
	c, err := client.NewLazyClient(client.Options{HostPort: address, Logger: sdklog.NewStructuredLogger(slog.New(slog.DiscardHandler))})
	require.NoError(t, err)
	defer c.Close()
	said := make(lines, 100)
	w := worker.New(worker.Config{HostID: "h2"}, worker.Deps{
		Client: c, Activities: activities.New(activities.Config{}, activities.Deps{}),
		Hosts: &hosts{seen: make(chan string, 1)}, Schedules: &schedules{}, Log: slog.New(slog.NewTextHandler(said, nil)),
	})
	ctx, stop := context.WithCancel(t.Context())
	defer stop()
	done := make(chan error, 1)
	go func() { done <- w.Run(ctx) }()
	require.Contains(t, said.next(t, done), `step="start worker"`)

	devServerAt(t, address)
	for line := ""; !strings.Contains(line, "worker started"); {
		line = said.next(t, done)
	}
	stop()
	require.NoError(t, <-done)
}

// lines are what a log says.
type lines chan string

func (l lines) Write(line []byte) (int, error) {
	l <- string(line)
	return len(line), nil
}

// next is the next line of a worker that has not ended.
func (l lines) next(t *testing.T, done <-chan error) string {
	t.Helper()
	select {
	case line := <-l:
		return line
	case err := <-done:
		require.FailNow(t, "the worker has ended", "%v", err)
		return ""
	}
}

func freeAddress(t *testing.T) string {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	require.NoError(t, err)
	defer func() { require.NoError(t, l.Close()) }()
	return l.Addr().String()
}

func polled(t *testing.T, c client.Client, queue string, kind enums.TaskQueueType) bool {
	t.Helper()
	return len(pollers(t, c, queue, kind)) > 0
}

func pollers(t *testing.T, c client.Client, queue string, kind enums.TaskQueueType) []*taskqueue.PollerInfo {
	t.Helper()
	out, err := c.WorkflowService().DescribeTaskQueue(t.Context(), &workflowservice.DescribeTaskQueueRequest{
		Namespace: "default", TaskQueue: &taskqueue.TaskQueue{Name: queue}, TaskQueueType: kind,
	})
	if err != nil {
		return nil
	}
	return out.GetPollers()
}
