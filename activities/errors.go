package activities

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"runtime/debug"
	"slices"
	"time"

	"go.temporal.io/api/serviceerror"
	"go.temporal.io/sdk/activity"
	"go.temporal.io/sdk/interceptor"
	"go.temporal.io/sdk/temporal"

	"github.com/omoi-dev/omoi/internal/contract"
	"github.com/omoi-dev/omoi/internal/task"
)

// classedError is an error with a failure class.
type classedError struct {
	class task.FailureClass
	cause error
}

func (e *classedError) Error() string { return e.cause.Error() }
func (e *classedError) Unwrap() error { return e.cause }

// classed gives err a failure class.
func classed(class task.FailureClass, err error) error {
	if err == nil {
		return nil
	}
	return &classedError{class: class, cause: err}
}

// ofSandbox gives an error of a sandbox operation the class infrastructure, unless its code implies another class.
func ofSandbox(err error) error {
	if err == nil || classOf(err) != task.ClassNone {
		return err
	}
	return classed(task.ClassInfrastructure, err)
}

// classOf returns the class of err, or the class that its code implies; else the empty class.
func classOf(err error) task.FailureClass {
	if e, ok := errors.AsType[*classedError](err); ok {
		return e.class
	}
	switch task.CodeOf(err) {
	case task.CodeInvalid:
		return task.ClassInvalidInput
	case task.CodeUnauthorized, task.CodeForbidden:
		return task.ClassCredentials
	default:
		return task.ClassNone
	}
}

// codeOf returns the code of err. A deadline is unavailable, which may be retried.
func codeOf(err error) task.Code {
	code := task.CodeOf(err)
	if code == task.CodeInternal && (errors.Is(err, context.DeadlineExceeded) || errors.Is(err, context.Canceled)) {
		return task.CodeUnavailable
	}
	return code
}

// final reports whether a retry cannot succeed.
func final(code task.Code) bool {
	return slices.Contains([]task.Code{task.CodeInvalid, task.CodeNotFound, task.CodeConflict, task.CodeForbidden, task.CodeGone}, code)
}

// applicationError returns the part of err that the history stores: class, code, a sentence without secrets, and the ID
// of the stored full text.
func (a *Activities) applicationError(err error, errorID string) error {
	d := contract.ErrorDetails{Class: classOf(err), Code: codeOf(err), ErrorID: errorID, Redo: errors.Is(err, errRedo), EndReason: task.ReasonOf(err)}
	if d.Class == task.ClassProviderLimit {
		d.ResetAt = time.Now().Add(task.AfterOf(err)).UTC()
	}
	kind := string(d.Class)
	if kind == "" {
		kind = string(d.Code)
	}
	message := fmt.Sprintf("%s: %s", d.Code, a.brief(publicText(err)))
	if errorID != "" {
		message += " (error " + errorID + ")"
	}
	return temporal.NewApplicationErrorWithOptions(message, kind, temporal.ApplicationErrorOptions{
		NonRetryable:   final(d.Code),
		NextRetryDelay: task.AfterOf(err),
		Details:        []any{d},
	})
}

// publicText returns the public message of a coded error, or the whole text of any other. The private cause goes to the
// store only.
func publicText(err error) string {
	if e, ok := errors.AsType[*task.Error](err); ok && e.Code != task.CodeInternal {
		return e.Message
	}
	return err.Error()
}

// Errors returns the interceptor that translates each error of an activity; see [contract.ErrorDetails]. The full text
// goes to the store.
func (a *Activities) Errors() interceptor.WorkerInterceptor {
	return &errorInterceptor{activities: a}
}

type errorInterceptor struct {
	interceptor.WorkerInterceptorBase

	activities *Activities
}

// InterceptActivity wraps an activity with the translation of errors.
func (i *errorInterceptor) InterceptActivity(
	_ context.Context, next interceptor.ActivityInboundInterceptor,
) interceptor.ActivityInboundInterceptor {
	in := &errorInbound{activities: i.activities}
	in.Next = next
	return in
}

type errorInbound struct {
	interceptor.ActivityInboundInterceptorBase

	activities *Activities
}

// ExecuteActivity runs the activity and translates its error or panic.
func (i *errorInbound) ExecuteActivity(ctx context.Context, in *interceptor.ExecuteActivityInput) (out any, err error) {
	defer func() {
		if cutOff(ctx) && i.activities.deps.CutOff != nil {
			i.activities.deps.CutOff(activity.GetInfo(ctx).ActivityType.Name)
		}
		if p := recover(); p != nil {
			err = &panicError{value: p, stack: debug.Stack()}
		}
		if err != nil {
			out, err = nil, i.activities.translate(ctx, err, in.Args)
		} else {
			i.activities.tellRelief(ctx, in.Args)
		}
	}()
	return i.Next.ExecuteActivity(ctx, in)
}

// panicError is a panic of an activity. Its stack goes to the store only.
type panicError struct {
	value any
	stack []byte
}

func (e *panicError) Error() string { return fmt.Sprintf("panic: %v", e.value) }

// fullText returns the text of err for the store.
func fullText(err error) string {
	if e, ok := errors.AsType[*panicError](err); ok {
		return err.Error() + "\n" + string(e.stack)
	}
	return err.Error()
}

// translate stores the full text of err, records the reason for users, and returns the error for Temporal.
func (a *Activities) translate(ctx context.Context, err error, args []any) error {
	if canceled(ctx, err) {
		return temporal.NewCanceledError()
	}
	err = cutShort(ctx, err)
	info := activity.GetInfo(ctx)
	taskID := taskOf(info, args)
	text := a.scrub(fullText(err))
	errorID := a.keep(ctx, taskID, a.scrub(publicText(err))+"\n\n"+fmt.Sprintf("%s, try %d: %s", info.ActivityType.Name, info.Attempt, text))
	a.tellTrouble(ctx, info, taskID, err)
	a.log.WarnContext(
		ctx, "activity failed",
		slog.String("activity", info.ActivityType.Name),
		slog.String("task_id", taskID),
		slog.Int("attempt", int(info.Attempt)),
		slog.String("code", string(codeOf(err))),
		slog.String("error_id", errorID),
		slog.String("error", cutRunes(text, 2000)),
	)
	return a.applicationError(err, errorID)
}

// canceled reports whether err follows from a cancel that Temporal requested. The error itself does not show it:
// programs that end with the activity fail in many ways. A stopping worker also ends the context; that try is repeated
// and does not count as canceled.
func canceled(ctx context.Context, err error) bool {
	return temporal.IsCanceledError(err) || temporal.IsCanceledError(context.Cause(ctx))
}

// cutOff reports whether Temporal did not answer a heartbeat of the activity, or timed the activity out, without a
// cancel request.
func cutOff(ctx context.Context) bool {
	_, answered := errors.AsType[serviceerror.ServiceError](context.Cause(ctx))
	return answered
}

// cutShort makes a final error retryable if the context of the activity has ended: the error then says nothing about
// the sandbox or repository.
func cutShort(ctx context.Context, err error) error {
	if ctx.Err() == nil || !final(codeOf(err)) {
		return err
	}
	return classed(task.ClassNone, task.Errorf(task.CodeUnavailable, "The step was interrupted: %s", publicText(err)).WithCause(err))
}

// Limits of a stored error.
const (
	maxErrorRunes = 64 << 10
	keepTimeout   = 3 * time.Second
)

// keep stores a text and returns its ID; empty if the store fails, which must not replace the error itself.
func (a *Activities) keep(ctx context.Context, taskID, text string) string {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), keepTimeout)
	defer cancel()
	id, err := a.deps.Texts.SaveText(ctx, taskID, "error", cutRunes(text, maxErrorRunes))
	if err != nil {
		a.log.WarnContext(ctx, "store error text failed, error recorded without text", slog.String("task_id", taskID), slog.String("error", err.Error()))
		return ""
	}
	return id
}

// taskOf returns the task of an activity; empty if none.
func taskOf(info activity.Info, args []any) string {
	if id, ok := contract.TaskIDOf(info.WorkflowExecution.ID); ok {
		return id
	}
	for _, arg := range args {
		switch in := arg.(type) {
		case contract.SandboxRef:
			return in.TaskID
		case contract.CleanupInput:
			return in.TaskID
		}
	}
	return ""
}

// askedOfOthers reports whether an activity calls a provider or a Git host while its task waits. omoi shows users why
// such an activity is retried.
func askedOfOthers(name string) bool {
	switch name {
	case contract.EnsureBranch, contract.EnsureSandbox, contract.StartAgent, contract.CollectWork, contract.RepeatTests, contract.PublishBranch, contract.OpenPullRequest:
		return true
	}
	return false
}

// tellTrouble records why a step failed and is retried. A final failure becomes the reason of the attempt's end
// instead.
func (a *Activities) tellTrouble(ctx context.Context, info activity.Info, taskID string, err error) {
	var reason task.Reason
	if !final(codeOf(err)) {
		wait := cmp.Or(task.AfterOf(err).Round(time.Second), nextTry(info.ActivityType.Name, info.Attempt))
		reason = task.Reason{Code: task.ReasonRetrying, Detail: a.brief(publicText(err)), Tries: int(info.Attempt), Seconds: wait.Seconds()}
	}
	a.noteTrouble(ctx, info, taskID, reason)
}

// tellRelief clears the recorded reason of earlier tries.
func (a *Activities) tellRelief(ctx context.Context, args []any) {
	if info := activity.GetInfo(ctx); info.Attempt > 1 {
		a.noteTrouble(ctx, info, taskOf(info, args), task.Reason{})
	}
}

func (a *Activities) noteTrouble(ctx context.Context, info activity.Info, taskID string, reason task.Reason) {
	if taskID == "" || !askedOfOthers(info.ActivityType.Name) {
		return
	}
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), keepTimeout)
	defer cancel()
	if err := a.deps.Texts.NoteTrouble(ctx, taskID, reason); err != nil { // users see less; nothing else depends on it
		a.log.WarnContext(ctx, "record retry reason failed, users do not see it", slog.String("task_id", taskID), slog.String("error", a.brief(err.Error())))
	}
}

// nextTry returns the maximum time until an activity is retried after this many tries.
func nextTry(name string, tries int32) time.Duration {
	p := contract.PolicyOf(name)
	wait := p.Initial
	for range min(tries-1, 30) {
		wait = min(2*wait, p.Max)
	}
	return wait
}
