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

	wire "github.com/omoi-dev/omoi/api/client"
	"github.com/omoi-dev/omoi/internal/contract"
	"github.com/omoi-dev/omoi/internal/task"
)

// EnsureSchedules creates the schedules of an installation, and updates those that differ from the configuration.
// Several processes may call it concurrently.
func (c *Client) EnsureSchedules(ctx context.Context) error {
	for _, wanted := range c.wanted() {
		made, err := c.makeSchedule(ctx, wanted)
		if err == nil && !made {
			err = c.changeSchedule(ctx, wanted)
		}
		if err != nil {
			return err
		}
	}
	return nil
}

// RestoreSchedules creates deleted schedules again and changes none. If it created one, it resumes the reaper, which
// pauses all of them again if there is nothing to watch.
func (c *Client) RestoreSchedules(ctx context.Context) error {
	anew := false
	var errs []error
	for _, wanted := range c.wanted() {
		made, err := c.makeSchedule(ctx, wanted)
		anew, errs = anew || made, append(errs, err)
	}
	if anew {
		errs = append(errs, c.WakeReaper(ctx))
	}
	return errors.Join(errs...)
}

// makeSchedule creates a schedule unless it exists.
func (c *Client) makeSchedule(ctx context.Context, wanted client.ScheduleOptions) (made bool, err error) {
	ctx, cancel := c.bounded(ctx)
	defer cancel()
	_, err = c.sdk.ScheduleClient().Create(ctx, wanted)
	if errors.Is(err, temporal.ErrScheduleAlreadyRunning) {
		return false, nil
	}
	return err == nil, coded("make schedule "+wanted.ID, err)
}

// WakeReaper resumes the schedules of reaper, guardian and conductor, and triggers the reaper after its current run.
// Resume and trigger are one request: of two in quick succession the server's scheduler keeps only the later.
func (c *Client) WakeReaper(ctx context.Context) error {
	ctx, cancel := c.bounded(ctx)
	defer cancel()
	err := c.patchSchedule(ctx, contract.ScheduleReaper, &schedule.SchedulePatch{
		Unpause: "there is something to watch", TriggerImmediately: afterThisRun(),
	})
	return errors.Join(err, c.endRest(ctx, contract.ScheduleGuardian), c.endRest(ctx, contract.ScheduleConductor))
}

// endRest resumes a schedule, unless an operator paused it.
func (c *Client) endRest(ctx context.Context, id string) error {
	found, err := c.Schedule(ctx, id)
	if err != nil || !found.Paused || !contract.PausedIdle(found.Note) {
		return err
	}
	return c.patchSchedule(ctx, id, &schedule.SchedulePatch{Unpause: "there is somebody to watch"})
}

// afterThisRun triggers a schedule after its current run, once for any number of requests.
func afterThisRun() *schedule.TriggerImmediatelyRequest {
	return &schedule.TriggerImmediatelyRequest{OverlapPolicy: enums.SCHEDULE_OVERLAP_POLICY_BUFFER_ONE}
}

func (c *Client) patchSchedule(ctx context.Context, id string, patch *schedule.SchedulePatch) error {
	ctx, cancel := c.bounded(ctx)
	defer cancel()
	_, err := c.sdk.WorkflowService().PatchSchedule(ctx, &workflowservice.PatchScheduleRequest{
		Namespace: c.cfg.Namespace, ScheduleId: id, RequestId: task.NewID(), Patch: patch,
	})
	return coded("change schedule "+id, err)
}

// PauseSchedule pauses a schedule. A paused one stays as it is.
func (c *Client) PauseSchedule(ctx context.Context, id, note string) error {
	ctx, cancel := c.bounded(ctx)
	defer cancel()
	handle := c.sdk.ScheduleClient().GetHandle(ctx, id)
	found, err := handle.Describe(ctx)
	if err != nil || isPaused(found.Schedule) {
		return coded("look at schedule "+id, err)
	}
	return coded("pause schedule "+id, handle.Pause(ctx, client.SchedulePauseOptions{Note: note}))
}

// wanted returns the configured schedules. The schedule of retention is never paused for idleness: data expires while
// no task is open.
func (c *Client) wanted() []client.ScheduleOptions {
	return []client.ScheduleOptions{
		periodic(c.cfg.ReaperPeriod, contract.ScheduleReaper, client.ScheduleWorkflowAction{
			ID: "reaper", Workflow: contract.ReaperWorkflow, StaticSummary: "find orphaned sandboxes",
		}),
		c.supervising(c.cfg.GuardianPeriod, contract.ScheduleGuardian, client.ScheduleWorkflowAction{
			ID: "guardian", Workflow: contract.GuardianWorkflow, StaticSummary: "analyze active agents",
		}),
		c.supervising(c.cfg.ConductorPeriod, contract.ScheduleConductor, client.ScheduleWorkflowAction{
			ID: "conductor", Workflow: contract.ConductorWorkflow, StaticSummary: "analyze the active agents of each organization",
		}),
		periodic(c.cfg.RetentionPeriod, contract.ScheduleRetention, client.ScheduleWorkflowAction{
			ID: "retention", Workflow: contract.RetentionWorkflow, StaticSummary: "remove expired data of ended tasks",
		}),
	}
}

// supervising returns a schedule that exists also if it is switched off, so that it is visible as paused.
func (c *Client) supervising(period time.Duration, id string, action client.ScheduleWorkflowAction) client.ScheduleOptions {
	wanted := periodic(period, id, action)
	if c.cfg.GuardianOff {
		wanted.Paused, wanted.Note = true, noteOff
	}
	return wanted
}

// noteOff is the note of a schedule that the configuration switches off.
const noteOff = "switched off by monitoring.enabled"

// periodic returns a schedule that runs a workflow at intervals, never two runs at a time. A run is terminated after
// two periods, since a stuck run would block the schedule.
func periodic(period time.Duration, id string, action client.ScheduleWorkflowAction) client.ScheduleOptions {
	const periods = 2
	action.TaskQueue, action.WorkflowExecutionTimeout = contract.QueueTasks, periods*period
	return client.ScheduleOptions{
		ID: id, Spec: client.ScheduleSpec{Intervals: []client.ScheduleIntervalSpec{{Every: period}}},
		Overlap: enums.SCHEDULE_OVERLAP_POLICY_SKIP, CatchupWindow: max(period, leastCatchup), Action: &action,
	}
}

// leastCatchup is the minimum catch-up window that the server accepts.
const leastCatchup = 10 * time.Second

func (c *Client) changeSchedule(ctx context.Context, wanted client.ScheduleOptions) error {
	ctx, cancel := c.bounded(ctx)
	defer cancel()
	handle := c.sdk.ScheduleClient().GetHandle(ctx, wanted.ID)
	found, err := handle.Describe(ctx)
	if err != nil {
		return coded("describe schedule "+wanted.ID, err)
	}
	paused, note := pausedAs(found.Schedule, wanted)
	if sameSchedule(found.Schedule, wanted) && paused == isPaused(found.Schedule) {
		return nil
	}
	c.log.InfoContext(ctx, "schedule changed", slog.String("schedule", wanted.ID))
	err = handle.Update(ctx, client.ScheduleUpdateOptions{
		DoUpdate: func(in client.ScheduleUpdateInput) (*client.ScheduleUpdate, error) {
			changed := in.Description.Schedule
			changed.Spec, changed.Action = &wanted.Spec, wanted.Action
			changed.Policy.Overlap, changed.Policy.CatchupWindow = wanted.Overlap, wanted.CatchupWindow
			changed.State.Paused, changed.State.Note = paused, note
			return &client.ScheduleUpdate{Schedule: &changed}, nil
		},
	})
	return coded("change schedule "+wanted.ID, err)
}

// pausedAs returns whether to pause a schedule, and the note. The configuration overrides only its own pause.
func pausedAs(found client.Schedule, wanted client.ScheduleOptions) (paused bool, note string) {
	switch {
	case wanted.Paused:
		return true, wanted.Note
	case found.State == nil, found.State.Paused && found.State.Note == noteOff:
		return false, ""
	}
	return found.State.Paused, found.State.Note
}

func isPaused(s client.Schedule) bool { return s.State != nil && s.State.Paused }

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

// Schedule returns the state of a schedule. A schedule that no worker created yet is no error.
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
		s.Interval = spec.Intervals[0].Every.Seconds()
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
			runs = append(runs, wire.ScheduleRun{WorkflowID: run.WorkflowID, RunID: run.FirstExecutionRunID, StartedAt: action.ActualTime.UTC()})
		}
	}
	return runs
}

func utc(t time.Time) *time.Time {
	t = t.UTC()
	return &t
}

// TriggerSchedule runs a schedule after its current run, even if it is paused.
func (c *Client) TriggerSchedule(ctx context.Context, id string) error {
	return c.patchSchedule(ctx, id, &schedule.SchedulePatch{TriggerImmediately: afterThisRun()})
}

// HoldSchedule pauses a schedule, also one that is paused for idleness, until a user resumes it.
func (c *Client) HoldSchedule(ctx context.Context, id, note string) error {
	return c.patchSchedule(ctx, id, &schedule.SchedulePatch{Pause: note})
}

// ResumeSchedule ends any pause.
func (c *Client) ResumeSchedule(ctx context.Context, id, note string) error {
	return c.patchSchedule(ctx, id, &schedule.SchedulePatch{Unpause: note})
}
