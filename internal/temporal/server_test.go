package temporal_test

import (
	"context"
	"fmt"
	"log/slog"
	"os"
	"os/exec"
	"path/filepath"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"go.temporal.io/api/workflowservice/v1"
	"go.temporal.io/sdk/client"
	"go.temporal.io/sdk/log"
	sdk "go.temporal.io/sdk/temporal"
	"go.temporal.io/sdk/testsuite"
	"go.temporal.io/sdk/worker"
	"go.temporal.io/sdk/workflow"
	"google.golang.org/protobuf/types/known/durationpb"

	"github.com/omoi-dev/omoi/internal/contract"
	"github.com/omoi-dev/omoi/internal/task"
	"github.com/omoi-dev/omoi/internal/temporal"
)

// server is one dev server for all tests of this package, on a free port.
var server struct {
	once sync.Once
	dev  *testsuite.DevServer
	err  error
}

func TestMain(m *testing.M) {
	m.Run()
	if server.dev != nil {
		_ = server.dev.Stop()
	}
}

func quiet() log.Logger { return log.NewStructuredLogger(slog.New(slog.DiscardHandler)) }

func binary() string {
	path := filepath.Join("..", "..", "bin", "temporal")
	if _, err := os.Stat(path); err == nil {
		return path
	}
	path, _ = exec.LookPath("temporal")
	return path
}

func needServer(t *testing.T) *testsuite.DevServer {
	t.Helper()
	path := binary()
	if path == "" {
		t.Skip("SKIPPED: no temporal binary in bin/ or on PATH")
	}
	server.once.Do(func() {
		server.dev, server.err = testsuite.StartDevServer(context.Background(), testsuite.DevServerOptions{
			ExistingPath: path, LogLevel: "error", ClientOptions: &client.Options{Logger: quiet()},
		})
	})
	require.NoError(t, server.err)
	return server.dev
}

// patient is the longest that a call of a test takes: the server is busy with all of them.
const patient = time.Minute

// connect gives each test a namespace and a client of its own.
func connect(t *testing.T, cfg temporal.Config) *temporal.Client {
	t.Helper()
	dev := needServer(t)
	cfg.CallTimeout = patient
	cfg.HostPort, cfg.Namespace = dev.FrontendHostPort(), "n"+task.NewSandboxID()
	_, err := dev.Client().WorkflowService().RegisterNamespace(t.Context(), &workflowservice.RegisterNamespaceRequest{
		Namespace: cfg.Namespace, WorkflowExecutionRetentionPeriod: durationpb.New(24 * time.Hour),
	})
	require.NoError(t, err)
	c := redial(t, cfg)
	// A new namespace is known everywhere after a while.
	require.Eventually(t, func() bool {
		_, err := c.Describe(t.Context(), "nothing")
		return task.CodeOf(err) == task.CodeNotFound
	}, time.Minute, 10*time.Millisecond)
	return c
}

func redial(t *testing.T, cfg temporal.Config) *temporal.Client {
	t.Helper()
	c, err := temporal.Dial(cfg, nil)
	require.NoError(t, err)
	t.Cleanup(c.Close)
	return c
}

// echo stands in for the task's workflow: it notes what it is told and ends as told.
func echo(ctx workflow.Context, in contract.TaskInput) ([]string, error) {
	told := []string{"command " + in.CommandID, fmt.Sprint("attributes ", in.SearchAttributes)}
	digests := workflow.GetSignalChannel(ctx, contract.SignalSandboxEvents)
	commands := workflow.GetSignalChannel(ctx, contract.SignalCommand)
	admitted := workflow.GetSignalChannel(ctx, contract.SignalAdmitted)
	for {
		var last contract.Command
		commands.Receive(ctx, &last)
		var d contract.Digest
		for digests.ReceiveAsync(&d) {
			told = append(told, fmt.Sprint("digest ", d.From, "-", d.To))
		}
		for admitted.ReceiveAsync(nil) {
			told = append(told, "admitted")
		}
		switch last.Kind {
		case contract.CommandComplete:
			return told, nil
		case contract.CommandFail:
			return told, sdk.NewNonRetryableApplicationError("as told", "reported", nil)
		}
	}
}

// work runs a worker with the stand-ins until the test ends.
func work(t *testing.T, c *temporal.Client) {
	t.Helper()
	w := worker.New(c.SDK(), contract.QueueTasks, worker.Options{})
	w.RegisterWorkflowWithOptions(echo, workflow.RegisterOptions{Name: contract.TaskWorkflow})
	w.RegisterWorkflowWithOptions(func(workflow.Context, contract.CleanupInput) error { return nil },
		workflow.RegisterOptions{Name: contract.CleanupWorkflow})
	w.RegisterWorkflowWithOptions(func(workflow.Context) error { return nil },
		workflow.RegisterOptions{Name: contract.ReaperWorkflow})
	require.NoError(t, w.Start())
	t.Cleanup(w.Stop)
}
