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

// heartbeatPause is the time before a failed heartbeat call is repeated.
const heartbeatPause = 200 * time.Millisecond

// patientHeartbeats gives heartbeat calls a deadline of their own. In the SDK the deadline is the throttle interval,
// which also delays cancels, and a failed heartbeat ends the activity: a server that does not answer for a second would
// end all activities.
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

// shutdownCall is how long a stopping worker waits for the server. The SDK waits 10 s, beyond the worker's stop
// timeout. Without the call, the server closes the worker's polls when they time out.
const shutdownCall = time.Second

// briefShutdown limits the call with which a worker reports that it stops.
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

// callBounds returns interceptors that replace deadlines of the SDK.
func callBounds() []grpc.UnaryClientInterceptor {
	return []grpc.UnaryClientInterceptor{patientHeartbeats, briefShutdown}
}
