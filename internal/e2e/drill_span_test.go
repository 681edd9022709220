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

// span is one step of a task, or of the cleanup of its first sandbox, as its history tells of it.
type span struct {
	begun chan struct{} // closed once the step is handed out
	over  chan struct{} // closed once it has ended, or will not come
	ended time.Time     // by the server's clock; zero: that is not known. To be read once over is closed.
}

// Where a blow fell.
const (
	inStep     = "in its step"
	behindStep = "behind its step"
	missed     = "met nothing"
)

// follow reads the histories of a task as they grow.
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

// read follows one history. It answers the one to read then: the same, if it is not there yet, or that of the cleanup.
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

// childOf names the workflow that an event asks for, before it is there: what it does first is over soon.
func childOf(e *history.HistoryEvent) string {
	return e.GetStartChildWorkflowExecutionInitiatedEventAttributes().GetWorkflowId()
}

// endOf names the activity whose end an event is; 0 of others.
func endOf(e *history.HistoryEvent) int64 {
	return max(
		e.GetActivityTaskCompletedEventAttributes().GetScheduledEventId(),
		e.GetActivityTaskFailedEventAttributes().GetScheduledEventId(),
		e.GetActivityTaskTimedOutEventAttributes().GetScheduledEventId(),
		e.GetActivityTaskCanceledEventAttributes().GetScheduledEventId(),
	)
}

// comes waits until the step is handed out; false: it never is.
func (s *span) comes() bool {
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

// fell says where the blow fell, by the server's own times.
func (b *bout) fell(ctx context.Context) string {
	if b.struck.IsZero() {
		return missed
	}
	select {
	case <-b.span.over:
	case <-ctx.Done():
		return behindStep
	}
	if b.struck.Before(b.span.ended) {
		return inStep
	}
	return behindStep
}

// onlyCompleting are the steps of tasks that are published.
func onlyCompleting(step string) bool {
	return slices.Contains([]string{contract.CollectWork, contract.OpenPullRequest}, step)
}
