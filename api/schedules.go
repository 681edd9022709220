package api

import (
	"context"

	"github.com/omoi-dev/omoi/api/client"
	"github.com/omoi-dev/omoi/internal/contract"
	"github.com/omoi-dev/omoi/internal/task"
)

// Public names of schedules.
const (
	scheduleGuardian  = "guardian"
	scheduleConductor = "conductor"
)

type scheduleIn struct {
	Name string `path:"name" enum:"guardian,conductor,reaper,retention" doc:"Which of omoi's schedules"`
}

type scheduleAskIn struct {
	Name string `path:"name" enum:"guardian,conductor,reaper,retention" doc:"Which of omoi's schedules"`
	Body *client.ReasonRequest
}

func (a *API) getSchedule(ctx context.Context, in *scheduleIn) (*bodyOut[client.Schedule], error) {
	return body(a.scheduleOf(ctx, in.Name))
}

func (a *API) scheduleOf(ctx context.Context, name string) (client.Schedule, error) {
	found, err := a.deps.Schedules.Schedule(ctx, "omoi-"+name)
	found.PausedIdle = found.Paused && contract.PausedIdle(found.Note)
	return found, err
}

// askSchedule returns the handler of run, pause and resume. The note of the schedule names the user.
func (a *API) askSchedule(what string) func(context.Context, *scheduleAskIn) (*bodyOut[client.Schedule], error) {
	return func(ctx context.Context, in *scheduleAskIn) (*bodyOut[client.Schedule], error) {
		found, err := a.scheduleOf(ctx, in.Name)
		if err != nil {
			return nil, err
		}
		if !found.Exists {
			return nil, task.Errorf(task.CodeConflict,
				"Schedule %s does not exist: a worker creates it when it starts, and within a minute after a deletion. "+
					"Next: omoi worker, if none runs",
				in.Name).WithKind(task.KindInvalidState)
		}
		note := what + "d by " + callerOf(ctx).name
		if in.Body != nil && in.Body.Reason != "" {
			if err := checkText("reason", in.Body.Reason, maxReason); err != nil {
				return nil, err
			}
			note += ": " + in.Body.Reason
		}
		switch what {
		case "run":
			err = a.deps.Schedules.TriggerSchedule(ctx, found.ID)
		case "pause":
			err = a.deps.Schedules.HoldSchedule(ctx, found.ID, note)
		default:
			err = a.deps.Schedules.ResumeSchedule(ctx, found.ID, note)
		}
		if err != nil {
			return nil, err
		}
		return body(a.scheduleOf(ctx, in.Name))
	}
}
