package temporal

import (
	"context"
	"time"

	"go.temporal.io/api/workflowservice/v1"
	"google.golang.org/grpc"
)

// shutdownCall is how long a worker that stops waits for the server to note it. The SDK waits 10 s, which the stop timeout
// of the worker does not bound. The server closes the polls of a worker without it once they time out.
const shutdownCall = time.Second

// briefShutdown bounds the call with which a worker says that it stops.
func briefShutdown( //nolint:revive // argument-limit: the signature is that of gRPC
	ctx context.Context, method string, req, reply any, conn *grpc.ClientConn, call grpc.UnaryInvoker, options ...grpc.CallOption,
) error {
	if method == workflowservice.WorkflowService_ShutdownWorker_FullMethodName {
		var cancel context.CancelFunc
		ctx, cancel = context.WithTimeout(ctx, shutdownCall)
		defer cancel()
	}
	return call(ctx, method, req, reply, conn, options...)
}

// callBounds returns the interceptors that replace deadlines of the SDK.
func callBounds() []grpc.UnaryClientInterceptor {
	return []grpc.UnaryClientInterceptor{patientHeartbeats, briefShutdown}
}
