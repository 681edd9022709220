package temporal

import (
	"context"
	"time"

	"go.temporal.io/api/schedule/v1"
	"go.temporal.io/sdk/client"

	wire "github.com/omoi-dev/omoi/internal/client"
	"github.com/omoi-dev/omoi/internal/task"
)

// Schedule answers a schedule as it stands; one that no worker has made yet is no error.
func (c *Client) Schedule(ctx context.Context, id string) (wire.Schedule, error) {
	ctx, cancel := c.bounded(ctx)
	defer cancel()
	found, err := c.sdk.ScheduleClient().GetHandle(ctx, id).Describe(ctx)
	if err = coded("look at schedule "+id, err); err != nil {
		if task.CodeOf(err) == task.CodeNotFound {
			return wire.Schedule{ID: id, Running: []string{}, Recent: []wire.ScheduleRun{}}, nil
		}
		return wire.Schedule{}, err
	}
	return scheduleOf(id, found), nil
}

func scheduleOf(id string, found *client.ScheduleDescription) wire.Schedule {
	s := wire.Schedule{
		ID: id, Exists: true, Paused: isPaused(found.Schedule), Running: []string{}, Recent: recent(found.Info),
		Skipped: int64(found.Info.NumActionsSkippedOverlap), Missed: int64(found.Info.NumActionsMissedCatchupWindow),
	}
	if found.Schedule.State != nil {
		s.Note = found.Schedule.State.Note
	}
	if spec := found.Schedule.Spec; spec != nil && len(spec.Intervals) > 0 {
		s.EveryS = spec.Intervals[0].Every.Seconds()
	}
	if n := len(found.Info.RecentActions); n > 0 {
		s.LastRun = utc(found.Info.RecentActions[n-1].ActualTime)
	}
	if len(found.Info.NextActionTimes) > 0 && !s.Paused {
		s.NextRun = utc(found.Info.NextActionTimes[0])
	}
	for _, run := range found.Info.RunningWorkflows {
		s.Running = append(s.Running, run.WorkflowID)
	}
	return s
}

func recent(info client.ScheduleInfo) []wire.ScheduleRun {
	runs := []wire.ScheduleRun{}
	for _, action := range info.RecentActions {
		if run := action.StartWorkflowResult; run != nil {
			runs = append(runs, wire.ScheduleRun{WorkflowID: run.WorkflowID, RunID: run.FirstExecutionRunID, BeganAt: action.ActualTime.UTC()})
		}
	}
	return runs
}

func utc(t time.Time) *time.Time {
	t = t.UTC()
	return &t
}

// TriggerSchedule runs a schedule now, after the run that is under way, also while it is paused.
func (c *Client) TriggerSchedule(ctx context.Context, id string) error {
	return c.patchSchedule(ctx, id, &schedule.SchedulePatch{TriggerImmediately: afterThisRun()})
}

// HoldSchedule pauses a schedule until a person resumes it, also one that rests.
func (c *Client) HoldSchedule(ctx context.Context, id, note string) error {
	return c.patchSchedule(ctx, id, &schedule.SchedulePatch{Pause: note})
}

// ResumeSchedule ends a pause, whoever made it.
func (c *Client) ResumeSchedule(ctx context.Context, id, note string) error {
	return c.patchSchedule(ctx, id, &schedule.SchedulePatch{Unpause: note})
}
