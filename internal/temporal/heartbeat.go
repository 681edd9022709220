package temporal

import (
	"context"
	"time"

	"go.temporal.io/api/workflowservice/v1"
	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"

	"github.com/omoi-dev/omoi/internal/contract"
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
		if status.Code(err) != codes.Unavailable {
			return err
		}
		select {
		case <-patient.Done():
			return err
		case <-time.After(heartbeatPause):
		}
	}
}
