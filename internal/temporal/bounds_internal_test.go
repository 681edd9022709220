package temporal

import (
	"context"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"
	"go.temporal.io/api/workflowservice/v1"
	"google.golang.org/grpc"
)

// A server that never answers holds up the stop of a worker for a second at most; the SDK would wait ten.
func TestShutdownWorker_ServerDoesNotAnswer(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		ctx, cancel := context.WithTimeout(t.Context(), 10*time.Second)
		defer cancel()
		silent := func(ctx context.Context, _ string, _, _ any, _ *grpc.ClientConn, _ ...grpc.CallOption) error {
			<-ctx.Done()
			return ctx.Err()
		}
		asked := time.Now()
		err := intercepted(ctx, workflowservice.WorkflowService_ShutdownWorker_FullMethodName, silent)
		require.ErrorIs(t, err, context.DeadlineExceeded)
		require.LessOrEqual(t, time.Since(asked), time.Second)
	})
}

// Other calls keep the deadline of the SDK.
func TestShutdownWorker_BoundsNoOtherCall(t *testing.T) {
	t.Parallel()
	ctx, cancel := context.WithTimeout(t.Context(), time.Hour)
	defer cancel()
	want, _ := ctx.Deadline()
	require.NoError(t, intercepted(ctx, workflowservice.WorkflowService_GetSystemInfo_FullMethodName,
		func(ctx context.Context, _ string, _, _ any, _ *grpc.ClientConn, _ ...grpc.CallOption) error {
			got, _ := ctx.Deadline()
			require.Equal(t, want, got)
			return nil
		}))
}

// intercepted makes one call through what stands around all calls to the server.
func intercepted(ctx context.Context, method string, call grpc.UnaryInvoker) error {
	for _, around := range callBounds() {
		next := call
		call = func(ctx context.Context, method string, req, reply any, conn *grpc.ClientConn, options ...grpc.CallOption) error {
			return around(ctx, method, req, reply, conn, next, options...)
		}
	}
	return call(ctx, method, nil, nil, nil)
}
