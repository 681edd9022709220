package bench

import (
	"context"
	"fmt"
	"time"

	"go.temporal.io/api/enums/v1"
	"go.temporal.io/api/history/v1"
	"go.temporal.io/sdk/client"
)

// past is what a workflow's histories, of all its runs, tell.
type past struct {
	events     int
	activities int
	signals    int
	begun      time.Time
	signalled  []time.Time
	steps      []step
}

// step is one activity of a history.
type step struct {
	name      string
	decided   time.Time // a worker had the workflow task that scheduled it
	scheduled time.Time
	started   time.Time
	ended     time.Time
}

// readPast reads the histories of a workflow, from its first run on.
func readPast(ctx context.Context, c client.Client, workflowID, runID string) (past, error) {
	var p past
	for {
		next, err := p.read(ctx, c, workflowID, runID)
		if err != nil || next == "" {
			return p, err
		}
		runID = next
	}
}

// read adds one run and answers the run that goes on from it.
func (p *past) read(ctx context.Context, c client.Client, workflowID, runID string) (next string, err error) {
	open, order := map[int64]*step{}, []*step{}
	decided := map[int64]time.Time{} // start of a workflow task, by its start's and its end's id
	events := c.GetWorkflowHistory(ctx, workflowID, runID, false, enums.HISTORY_EVENT_FILTER_TYPE_ALL_EVENT)
	for events.HasNext() {
		event, err := events.Next()
		if err != nil {
			return "", fmt.Errorf("read the history of %s: %w", workflowID, err)
		}
		p.count(event)
		decide(event, decided)
		if s := follow(event, open); s != nil {
			s.decided = decided[event.GetActivityTaskScheduledEventAttributes().GetWorkflowTaskCompletedEventId()]
			order = append(order, s)
		}
		if again := event.GetWorkflowExecutionContinuedAsNewEventAttributes(); again != nil {
			next = again.GetNewExecutionRunId()
		}
	}
	for _, s := range order {
		p.steps = append(p.steps, *s)
	}
	return next, nil
}

func (p *past) count(event *history.HistoryEvent) {
	p.events++
	at := event.GetEventTime().AsTime()
	switch event.GetEventType() { //nolint:exhaustive // the rest is only counted
	case enums.EVENT_TYPE_WORKFLOW_EXECUTION_STARTED:
		if p.begun.IsZero() {
			p.begun = at
		}
	case enums.EVENT_TYPE_WORKFLOW_EXECUTION_SIGNALED:
		p.signals++
		p.signalled = append(p.signalled, at)
	case enums.EVENT_TYPE_ACTIVITY_TASK_SCHEDULED:
		p.activities++
	}
}

// decide keeps when workers had the workflow tasks.
func decide(event *history.HistoryEvent, decided map[int64]time.Time) {
	switch event.GetEventType() { //nolint:exhaustive // of workflow tasks only
	case enums.EVENT_TYPE_WORKFLOW_TASK_STARTED:
		decided[event.GetEventId()] = event.GetEventTime().AsTime()
	case enums.EVENT_TYPE_WORKFLOW_TASK_COMPLETED:
		decided[event.GetEventId()] = decided[event.GetWorkflowTaskCompletedEventAttributes().GetStartedEventId()]
	}
}

// follow keeps the times of each activity; it answers one that is new.
func follow(event *history.HistoryEvent, open map[int64]*step) *step {
	at := event.GetEventTime().AsTime()
	switch event.GetEventType() { //nolint:exhaustive // of activities only
	case enums.EVENT_TYPE_ACTIVITY_TASK_SCHEDULED:
		s := &step{name: event.GetActivityTaskScheduledEventAttributes().GetActivityType().GetName(), scheduled: at}
		open[event.GetEventId()] = s
		return s
	case enums.EVENT_TYPE_ACTIVITY_TASK_STARTED:
		if s := open[event.GetActivityTaskStartedEventAttributes().GetScheduledEventId()]; s != nil {
			s.started = at
		}
	case enums.EVENT_TYPE_ACTIVITY_TASK_COMPLETED:
		if s := open[event.GetActivityTaskCompletedEventAttributes().GetScheduledEventId()]; s != nil {
			s.ended = at
		}
	}
	return nil
}
