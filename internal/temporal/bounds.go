package temporal

import (
	"context"
	"time"

	"go.temporal.io/api/workflowservice/v1"
	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"

	"github.com/omoi-dev/omoi/internal/contract"
	"github.com/omoi-dev/omoi/internal/wait"
)

// heartbeatPause is the time between two calls for one heartbeat that the server did not take.
const heartbeatPause = 200 * time.Millisecond

// patientHeartbeats gives the call for a heartbeat of an activity a deadline of its own. The SDK's is the throttle interval, which
// also says how late an activity learns of its cancel, and a heartbeat that fails ends the activity: a server that does not answer
// for a second would end them all.
func patientHeartbeats( //nolint:revive // argument-limit: the signature is that of gRPC
	ctx context.Context, method string, req, reply any, conn *grpc.ClientConn, call grpc.UnaryInvoker, options ...grpc.CallOption,
) error {
	if method != workflowservice.WorkflowService_RecordActivityTaskHeartbeat_FullMethodName {
		return call(ctx, method, req, reply, conn, options...)
	}
	patient, cancel := context.WithTimeout(context.WithoutCancel(ctx), contract.HeartbeatCall)
	defer cancel()
	defer context.AfterFunc(ctx, func() {
		if context.Cause(ctx) != context.DeadlineExceeded { //nolint:errorlint // that of the context itself, never wrapped
			cancel() // the activity has ended
		}
	})()
	for {
		err := call(patient, method, req, reply, conn, options...)
		if status.Code(err) != codes.Unavailable || wait.For(patient, heartbeatPause) != nil {
			return err
		}
	}
}

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
