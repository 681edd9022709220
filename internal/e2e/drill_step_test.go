package e2e_test

import (
	"context"
	"errors"
	"slices"
	"strings"
	"time"

	"go.temporal.io/api/enums/v1"
	"go.temporal.io/api/history/v1"
	"go.temporal.io/api/serviceerror"
	"go.temporal.io/sdk/client"

	"github.com/omoi-dev/omoi/internal/contract"
)

// span is one step of a task, or of the cleanup of its first sandbox, read from its workflow history.
type span struct {
	begun chan struct{} // closed when the step is scheduled
	over  chan struct{} // closed when the step has ended, or will never be scheduled
	ended time.Time     // by Temporal's clock; zero if unknown. Read it after over is closed.
}

// Where a fault hit.
const (
	inStep    = "in its step"
	afterStep = "after its step"
	missed    = "nothing to kill"
)

// follow reads the histories of a task while they grow.
func follow(ctx context.Context, c client.Client, taskID, step string) *span {
	s := &span{begun: make(chan struct{}), over: make(chan struct{})}
	go func() {
		defer close(s.over)
		for workflow := contract.TaskWorkflowID(taskID); workflow != "" && ctx.Err() == nil; {
			workflow = s.read(ctx, c, workflow, step)
		}
	}()
	return s
}

// read follows one history. It returns the workflow to read next: the same if it does not exist yet, or the cleanup.
func (s *span) read(ctx context.Context, c client.Client, workflow, step string) string {
	var id int64
	for events := c.GetWorkflowHistory(ctx, workflow, "", true, enums.HISTORY_EVENT_FILTER_TYPE_ALL_EVENT); events.HasNext(); {
		e, err := events.Next()
		if err != nil {
			if _, absent := errors.AsType[*serviceerror.NotFound](err); absent && id == 0 {
				return workflow
			}
			return ""
		}
		switch {
		case id == 0 && e.GetActivityTaskScheduledEventAttributes().GetActivityType().GetName() == step:
			id = e.GetEventId()
			close(s.begun)
		case id != 0 && endOf(e) == id:
			s.ended = e.GetEventTime().AsTime()
			return ""
		case id == 0 && strings.HasPrefix(childOf(e), contract.CleanupWorkflowID("")):
			return childOf(e)
		}
	}
	return ""
}

// childOf returns the ID of the child workflow that an event requests. Reading it early catches its first steps.
func childOf(e *history.HistoryEvent) string {
	return e.GetStartChildWorkflowExecutionInitiatedEventAttributes().GetWorkflowId()
}

// endOf returns the scheduled event ID of the activity that an event ends; 0 for other events.
func endOf(e *history.HistoryEvent) int64 {
	return max(
		e.GetActivityTaskCompletedEventAttributes().GetScheduledEventId(),
		e.GetActivityTaskFailedEventAttributes().GetScheduledEventId(),
		e.GetActivityTaskTimedOutEventAttributes().GetScheduledEventId(),
		e.GetActivityTaskCanceledEventAttributes().GetScheduledEventId(),
	)
}

// isScheduled waits until the step is scheduled. It reports false if that never happens.
func (s *span) isScheduled() bool {
	select {
	case <-s.begun:
	case <-s.over:
	}
	select {
	case <-s.begun:
		return true
	default:
		return false
	}
}

// position returns where the fault hit, by Temporal's clock.
func (b *injection) position(ctx context.Context) string {
	if b.injectedAt.IsZero() {
		return missed
	}
	select {
	case <-b.span.over:
	case <-ctx.Done():
		return afterStep
	}
	if b.injectedAt.Before(b.span.ended) {
		return inStep
	}
	return afterStep
}

// onlyCompleting reports whether only tasks that are published reach a step.
func onlyCompleting(step string) bool {
	return slices.Contains([]string{contract.CollectWork, contract.OpenPullRequest}, step)
}
