package temporal

import (
	"context"
	"errors"
	"log/slog"
	"time"

	"go.temporal.io/api/enums/v1"
	"go.temporal.io/api/schedule/v1"
	"go.temporal.io/api/workflowservice/v1"
	"go.temporal.io/sdk/client"
	"go.temporal.io/sdk/temporal"

	"github.com/omoi-dev/omoi/internal/contract"
	"github.com/omoi-dev/omoi/internal/task"
)

// EnsureSchedules makes the schedules of an installation, and changes those that say
// something else than this configuration. Any number of processes may call it at once.
func (c *Client) EnsureSchedules(ctx context.Context) error {
	ctx, cancel := c.bounded(ctx)
	defer cancel()
	wanted := c.reaper()
	_, err := c.sdk.ScheduleClient().Create(ctx, wanted)
	if !errors.Is(err, temporal.ErrScheduleAlreadyRunning) {
		return coded("make schedule "+wanted.ID, err)
	}
	return c.changeSchedule(ctx, wanted)
}

// WakeReaper ends the reaper's rest and runs it now, after the run that is under way. Both
// are one request: of two that follow closely the server's scheduler keeps only the later.
func (c *Client) WakeReaper(ctx context.Context) error {
	ctx, cancel := c.bounded(ctx)
	defer cancel()
	_, err := c.sdk.WorkflowService().PatchSchedule(ctx, &workflowservice.PatchScheduleRequest{
		Namespace: c.cfg.Namespace, ScheduleId: contract.ScheduleReaper, RequestId: task.NewID(),
		Patch: &schedule.SchedulePatch{
			Unpause: "there is something to watch",
			TriggerImmediately: &schedule.TriggerImmediatelyRequest{
				OverlapPolicy: enums.SCHEDULE_OVERLAP_POLICY_BUFFER_ONE,
			},
		},
	})
	return coded("wake schedule "+contract.ScheduleReaper, err)
}

// PauseSchedule stops a schedule until it is woken.
func (c *Client) PauseSchedule(ctx context.Context, id, note string) error {
	ctx, cancel := c.bounded(ctx)
	defer cancel()
	err := c.sdk.ScheduleClient().GetHandle(ctx, id).Pause(ctx, client.SchedulePauseOptions{Note: note})
	return coded("pause schedule "+id, err)
}

// reaper is the schedule of the reaper. A run that takes two periods is ended, since a
// stuck one would silence a schedule that skips.
func (c *Client) reaper() client.ScheduleOptions {
	const periods = 2
	return client.ScheduleOptions{
		ID:            contract.ScheduleReaper,
		Spec:          client.ScheduleSpec{Intervals: []client.ScheduleIntervalSpec{{Every: c.cfg.ReaperPeriod}}},
		Overlap:       enums.SCHEDULE_OVERLAP_POLICY_SKIP,
		CatchupWindow: catchup(c.cfg.ReaperPeriod),
		Action: &client.ScheduleWorkflowAction{
			ID: "reaper", Workflow: contract.ReaperWorkflow, TaskQueue: contract.QueueTasks,
			WorkflowExecutionTimeout: periods * c.cfg.ReaperPeriod,
			StaticSummary:            "find sandboxes that nobody owns",
		},
	}
}

// catchup is one period, or the least that the server takes.
func catchup(period time.Duration) time.Duration {
	const least = 10 * time.Second
	return max(period, least)
}

func (c *Client) changeSchedule(ctx context.Context, wanted client.ScheduleOptions) error {
	handle := c.sdk.ScheduleClient().GetHandle(ctx, wanted.ID)
	found, err := handle.Describe(ctx)
	if err != nil {
		return coded("describe schedule "+wanted.ID, err)
	}
	if sameSchedule(found.Schedule, wanted) {
		return nil
	}
	c.log.InfoContext(ctx, "schedule changed", slog.String("schedule", wanted.ID))
	err = handle.Update(ctx, client.ScheduleUpdateOptions{
		DoUpdate: func(in client.ScheduleUpdateInput) (*client.ScheduleUpdate, error) {
			changed := in.Description.Schedule
			changed.Spec, changed.Action = &wanted.Spec, wanted.Action
			changed.Policy.Overlap, changed.Policy.CatchupWindow = wanted.Overlap, wanted.CatchupWindow
			return &client.ScheduleUpdate{Schedule: &changed}, nil
		},
	})
	return coded("change schedule "+wanted.ID, err)
}

func sameSchedule(found client.Schedule, wanted client.ScheduleOptions) bool {
	action, ok := found.Action.(*client.ScheduleWorkflowAction)
	want, wantOK := wanted.Action.(*client.ScheduleWorkflowAction)
	if !ok || !wantOK || found.Spec == nil || found.Policy == nil || len(found.Spec.Intervals) != 1 {
		return false
	}
	return found.Spec.Intervals[0] == wanted.Spec.Intervals[0] &&
		found.Policy.Overlap == wanted.Overlap && found.Policy.CatchupWindow == wanted.CatchupWindow &&
		action.Workflow == want.Workflow && action.TaskQueue == want.TaskQueue &&
		action.WorkflowExecutionTimeout == want.WorkflowExecutionTimeout
}
