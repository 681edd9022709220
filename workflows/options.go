package workflows

import (
	"cmp"
	"errors"
	"time"

	"go.temporal.io/api/enums/v1"
	"go.temporal.io/sdk/temporal"
	"go.temporal.io/sdk/workflow"

	"github.com/omoi-dev/omoi/internal/contract"
	"github.com/omoi-dev/omoi/internal/task"
)

// call is one activity to run.
type call struct {
	name    string
	queue   string        // empty: the workflow's own
	summary string        // shown in the Web UI's timeline
	within  time.Duration // overrides the table's schedule-to-close bound
	local   bool          // runs in the worker of the workflow task, and is one history event
	pickup  time.Duration // schedule-to-start timeout; zero: none
}

// start schedules the activity under the contract's policy.
func (c call) start(ctx workflow.Context, in any) workflow.Future {
	p := contract.PolicyOf(c.name)
	if c.within > 0 {
		p.ScheduleToClose = c.within
		p.StartToClose = min(p.StartToClose, c.within)
	}
	var args []any
	if in != nil {
		args = append(args, in)
	}
	if c.local || p.Local {
		return workflow.ExecuteLocalActivity(workflow.WithLocalActivityOptions(ctx, c.localOptions(p)), c.name, args...)
	}
	return workflow.ExecuteActivity(workflow.WithActivityOptions(ctx, c.options(p)), c.name, args...)
}

func (c call) options(p contract.Policy) workflow.ActivityOptions {
	return workflow.ActivityOptions{
		TaskQueue:              c.queue,
		ScheduleToStartTimeout: c.pickup,
		StartToCloseTimeout:    p.StartToClose,
		ScheduleToCloseTimeout: p.ScheduleToClose,
		HeartbeatTimeout:       p.Heartbeat,
		WaitForCancellation:    true,
		Summary:                c.summary,
		RetryPolicy:            retryPolicy(p),
	}
}

// localOptions returns the options of a local activity. A pause of more than 10 s between two tries is a workflow timer, so
// that an outage of the database adds few history events.
func (c call) localOptions(p contract.Policy) workflow.LocalActivityOptions {
	const unbounded = 10 * 365 * 24 * time.Hour // zero would mean one try
	return workflow.LocalActivityOptions{
		StartToCloseTimeout:    p.StartToClose,
		ScheduleToCloseTimeout: cmp.Or(p.ScheduleToClose, unbounded),
		Summary:                c.summary,
		RetryPolicy:            retryPolicy(p),
	}
}

func retryPolicy(p contract.Policy) *temporal.RetryPolicy {
	return &temporal.RetryPolicy{
		InitialInterval:    p.Initial,
		BackoffCoefficient: 2,
		MaximumInterval:    p.Max,
		MaximumAttempts:    p.Attempts,
	}
}

// get runs the activity and waits for its result.
func (c call) get(ctx workflow.Context, in, out any) error {
	return c.start(ctx, in).Get(ctx, out)
}

// unattended reports whether an activity failed because no worker started it in time.
func unattended(err error) bool {
	late, ok := errors.AsType[*temporal.TimeoutError](err)
	return ok && late.TimeoutType() == enums.TIMEOUT_TYPE_SCHEDULE_TO_START
}

// classOf returns the failure class of an activity's error: the error's type if that names a class, else the class of its
// error code, else infrastructure.
func classOf(err error) task.FailureClass {
	app, ok := errors.AsType[*temporal.ApplicationError](err)
	if !ok {
		return task.ClassInfrastructure
	}
	switch c := task.FailureClass(app.Type()); c {
	case task.ClassInfrastructure, task.ClassProviderLimit, task.ClassAgentError, task.ClassResources, task.ClassStopped,
		task.ClassInvalidInput, task.ClassCredentials, task.ClassPublish, task.ClassBudget, task.ClassTerminated, task.ClassReported:
		return c
	case task.ClassNone:
	}
	switch task.Code(app.Type()) {
	case task.CodeInvalid, task.CodeNotFound:
		return task.ClassInvalidInput
	case task.CodeUnauthorized, task.CodeForbidden:
		return task.ClassCredentials
	case task.CodeConflict, task.CodeGone, task.CodeExhausted, task.CodeUnavailable, task.CodeInternal:
	}
	return task.ClassInfrastructure
}

// sentence returns the message of an activity's error, cut to 200 characters. Activities have removed secrets from it.
func sentence(err error) string {
	text := err.Error()
	if app, ok := errors.AsType[*temporal.ApplicationError](err); ok {
		text = app.Message()
	}
	if r := []rune(text); len(r) > maxReason {
		return string(r[:maxReason])
	}
	return text
}

// detailsOf returns the details of an activity's error; the zero value if there are none.
func detailsOf(err error) contract.ErrorDetails {
	var details contract.ErrorDetails
	if app, ok := errors.AsType[*temporal.ApplicationError](err); ok && app.HasDetails() && app.Details(&details) == nil {
		return details
	}
	return contract.ErrorDetails{}
}

const maxReason = 200
