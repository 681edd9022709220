package api

import (
	"cmp"
	"context"
	"net/http"
	"slices"
	"strings"

	"github.com/danielgtaylor/huma/v2"

	"github.com/omoi-dev/omoi/api/client"
	"github.com/omoi-dev/omoi/internal/live"
	"github.com/omoi-dev/omoi/internal/task"
)

type legacyTasksIn struct {
	Status     string `query:"status" doc:"Only tasks in this stage; an unknown one selects none. Default: all."`
	PhaseID    string `query:"phase_id" doc:"Only tasks of this phase; default: all."`
	HasSandbox string `query:"has_sandbox" doc:"true: only tasks with a sandbox_id, running or ended; false: only those without; default: all."`
	TicketID   string `query:"ticket_id" doc:"Only tasks of this ticket; default: all."`
	Limit      int    `query:"limit" default:"100" minimum:"1" maximum:"10000" doc:"Maximum number of elements of the array."`
}

func (a *API) legacyTasks(ctx context.Context, in *legacyTasksIn) (*huma.StreamResponse, error) {
	q := client.TaskQuery{Statuses: given(in.Status), PhaseIDs: given(in.PhaseID), TicketIDs: given(in.TicketID)}
	if in.HasSandbox != "" {
		q.HasSandbox = new(slices.Contains([]string{"true", "1", "yes", "on"}, strings.ToLower(in.HasSandbox)))
	}
	organization := callerOf(ctx).organization
	list := legacyList[client.Task]{
		head: "[", tail: func(int) string { return "]" }, limit: in.Limit, most: in.Limit,
		keep: func(client.Task) bool { return true },
		form: func(t client.Task) any { return legacyTask(t) },
		read: func(ctx context.Context, at client.PageRequest) (client.Page[client.Task], error) {
			q.PageRequest = at
			return a.deps.Tasks.Tasks(ctx, organization, q)
		},
	}
	return list.send(ctx, a, "tasks in legacy form")
}

// given returns a filter for one value; nil: no filter.
func given(value string) []string {
	if value == "" {
		return nil
	}
	return []string{value}
}

func legacyTask(t client.Task) client.LegacyTask {
	return client.LegacyTask{
		ID: t.ID, TicketID: t.TicketID, PhaseID: t.PhaseID, TaskType: t.TaskType, Title: t.Title, Description: t.Description,
		Priority: t.Priority, Status: string(t.Status), SandboxID: t.SandboxID, AssignedAgentID: t.AssignedAgent,
		CreatedAt: pythonic(t.CreatedAt),
	}
}

// legacyChangeIn is a change of the object in the path whose body the handler decodes itself.
type legacyChangeIn struct {
	IDPath
	rawIn
}

func (a *API) patchLegacyTask(ctx context.Context, in *legacyChangeIn) (*bodyOut[client.LegacyTaskUpdate], error) {
	var said client.UpdateLegacyTaskRequest
	if err := decode(in.RawBody, &said); err != nil {
		return nil, err
	}
	ends, err := endingOf(said.Status)
	if err == nil && ends != "" {
		err = a.openLegacyTask(ctx, in.ID)
	}
	if err == nil {
		err = a.changeLegacyTask(ctx, in.ID, said)
	}
	if err == nil && ends != "" {
		_, err = a.endLegacyTask(ctx, in.ID, ends, said.ErrorMessage, http.StatusBadRequest)
	}
	if err != nil {
		return nil, err
	}
	t, err := a.readTask(ctx, in.ID)
	out := client.LegacyTaskUpdate{
		ID: t.ID, TicketID: t.TicketID, Title: t.Title, Description: t.Description, Priority: t.Priority,
		Status: cmp.Or(task.Deref(said.Status), string(t.Status)), UpdatedAt: pythonic(t.UpdatedAt),
	}
	return body(out, err)
}

// endingOf returns the command that gives a task a status; empty: none is asked for.
func endingOf(status *string) (string, error) {
	switch task.Status(task.Deref(status)) { //nolint:exhaustive // only these are the user's to set
	case "":
		return "", nil
	case task.StatusFailed:
		return task.CommandFail, nil
	case task.StatusCancelled:
		return task.CommandCancel, nil
	}
	return "", task.Invalid("status", "The status %q cannot be set: it follows from the work. Next: set failed or cancelled, or POST "+
		"/api/v1/tasks/{id}/retry", clip(*status))
}

// openLegacyTask returns an error if a task has ended, before a request changes any of its fields.
func (a *API) openLegacyTask(ctx context.Context, id string) error {
	t, err := a.readTask(ctx, id)
	if err == nil && t.Status.Final() {
		err = &statusError{http.StatusBadRequest, task.Errorf(task.CodeConflict, "Cannot end task %s: it is %s.", id, t.Status)}
	}
	return err
}

func (a *API) changeLegacyTask(ctx context.Context, id string, said client.UpdateLegacyTaskRequest) error {
	if said.Title == nil && said.Description == nil && said.Priority == nil {
		return nil
	}
	if err := checkPatch(client.UpdateTaskRequest{Title: said.Title, Description: said.Description, Priority: said.Priority}); err != nil {
		return err
	}
	change := client.TaskChange{Title: said.Title, Description: said.Description, Priority: said.Priority}
	if err := a.deps.Tasks.ChangeTask(ctx, callerOf(ctx).organization, id, change); err != nil {
		return err
	}
	a.deps.Bus.Wake(live.Task(id))
	return nil
}

func (a *API) failLegacyTask(ctx context.Context, in *legacyChangeIn) (*bodyOut[client.LegacyTaskFailed], error) {
	reason, err := reasonOf(in, "marked_failed_by_user")
	if err != nil {
		return nil, err
	}
	old, err := a.endLegacyTask(ctx, in.ID, task.CommandFail, reason, http.StatusBadRequest)
	return body(client.LegacyTaskFailed{TaskID: in.ID, Status: string(task.StatusFailed), Reason: reason, OldStatus: old}, err)
}

func (a *API) cancelLegacyTask(ctx context.Context, in *legacyChangeIn) (*bodyOut[client.LegacyTaskCancelled], error) {
	reason, err := reasonOf(in, "cancelled_by_request")
	if err != nil {
		return nil, err
	}
	_, err = a.endLegacyTask(ctx, in.ID, task.CommandCancel, reason, http.StatusNotFound)
	return body(client.LegacyTaskCancelled{TaskID: in.ID, Cancelled: true, Reason: reason}, err)
}

func reasonOf(in *legacyChangeIn, standard string) (string, error) {
	said := client.EndLegacyTaskRequest{Reason: standard}
	if len(in.RawBody) == 0 {
		return standard, nil
	}
	return said.Reason, decode(in.RawBody, &said)
}

// endLegacyTask gives the command to end a task, and returns the status before. A task that has ended gets the status
// ended.
func (a *API) endLegacyTask(ctx context.Context, id, kind, reason string, ended int) (string, error) {
	before, err := a.readTask(ctx, id)
	if err != nil {
		return "", err
	}
	_, err = a.askFor(ctx, task.CommandRequest{TaskID: id, Kind: kind, Reason: reason})
	if task.CodeOf(err) == task.CodeConflict {
		err = &statusError{ended, err}
	}
	return string(before.Status), err
}
