package postgres

import (
	"context"
	"encoding/json"
	"time"

	"github.com/omoi-dev/omoi/api/client"
	"github.com/omoi-dev/omoi/internal/postgres/db"
	"github.com/omoi-dev/omoi/internal/task"
)

// Task answers one task of an organization with its attempts and what is asked of it.
func (s *Store) Task(ctx context.Context, organizationID, id string) (task.Task, error) {
	row, err := s.q.ReadTask(ctx, organizationID, id)
	if err != nil {
		return task.Task{}, missing(translate("read task "+id, err), "There is no task %s.", id)
	}
	attempts, err := s.q.ReadAttempts(ctx, id)
	if err != nil {
		return task.Task{}, translate("read the attempts of task "+id, err)
	}
	reviews, err := s.q.Reviews(ctx, id)
	if err != nil {
		return task.Task{}, translate("read the verdicts on task "+id, err)
	}
	row.Task.ExecutionConfig = s.openEnv(row.Task.OrganizationID, row.Task.ExecutionConfig)
	tasks := []task.Task{taskRecord(row)}
	tasks[0].Attempts, tasks[0].Reviews = mapAll(attempts, attemptRecord), mapAll(reviews, reviewRecord)
	err = s.addPending(ctx, tasks)
	return tasks[0], err
}

// Tasks lists the tasks of an organization without their attempts, newest first, with what is
// short of their results.
func (s *Store) Tasks(ctx context.Context, organizationID string, query client.TaskQuery) (client.Page[task.Task], error) {
	page, err := pageOf(query.PageRequest, func(p place) ([]db.ReadTasksRow, error) {
		return s.q.ReadTasks(ctx, db.ReadTasksParams{
			OrganizationID: organizationID, Statuses: query.Statuses, PhaseIds: query.PhaseIDs,
			HasSandbox: query.HasSandbox, TicketIds: query.TicketIDs, ProjectIds: query.ProjectIDs,
			Fragments: query.Fragments, BeforeAt: p.at, BeforeID: p.id, MaxRows: p.rows,
		})
	}, func(r db.ReadTasksRow) task.Task {
		r.TaskBrief.ExecutionConfig = s.openEnv(organizationID, r.TaskBrief.ExecutionConfig)
		return briefRecord(r)
	}, func(t task.Task) (time.Time, string) { return t.CreatedAt, t.ID })
	if err != nil {
		return client.Page[task.Task]{}, translate("list tasks", err)
	}
	return page, s.addPending(ctx, page.Items)
}

// addPending fills in what is asked of the tasks and not settled.
func (s *Store) addPending(ctx context.Context, tasks []task.Task) error {
	rows, err := s.q.PendingCommands(ctx, mapAll(tasks, func(t task.Task) string { return t.ID }))
	if err != nil {
		return translate("read pending commands", err)
	}
	for _, row := range rows {
		for n := range tasks {
			if tasks[n].ID == row.TaskID {
				command := commandRecord(row)
				tasks[n].PendingCommand = &command
			}
		}
	}
	return nil
}

// ChangeTask changes a task's title, priority, deadline or description; [task.CodeConflict] for a
// description of a task that is not pending. The gate looks at the priority at once.
func (s *Store) ChangeTask(ctx context.Context, organizationID, id string, c client.TaskChange) error {
	if err := ahead(c.DeadlineAt); err != nil {
		return err
	}
	err := s.inTx(ctx, func(q *db.Queries) error {
		row, err := q.LockTask(ctx, organizationID, id)
		if err != nil {
			return err
		}
		if field := ofPending(c); field != "" && row.Status != string(task.StatusPending) {
			return &task.Error{
				Code: task.CodeConflict, Field: field,
				Message: "Cannot change the " + field + " of a task that is " + row.Status + ": only while it is pending.",
			}
		}
		if err := q.PatchTask(ctx, db.PatchTaskParams{
			Title: c.Title, Description: c.Description, TaskType: c.TaskType, PhaseID: c.PhaseID, Priority: c.Priority, DeadlineAt: c.DeadlineAt, OrganizationID: organizationID, ID: id,
		}); err != nil {
			return err
		}
		return admitAll(ctx, q, organizationID)
	})
	return missing(translate("change task "+id, err), "There is no task %s.", id)
}

// ofPending returns the first field of a change that only a pending task takes; empty: there is none.
func ofPending(c client.TaskChange) string {
	switch {
	case c.Description != nil:
		return "description"
	case c.TaskType != nil:
		return "task_type"
	case c.PhaseID != nil:
		return "phase_id"
	}
	return ""
}

// TaskStatus answers where a task stands.
func (s *Store) TaskStatus(ctx context.Context, organizationID, id string) (client.Standing, error) {
	row, err := s.q.TaskStatus(ctx, organizationID, id)
	return client.Standing{Status: task.Status(row.Status), Ended: row.Ended},
		missing(translate("read the status of task "+id, err), "There is no task %s.", id)
}

// SandboxOwner answers whose sandbox it is: both ids are empty for one that nobody made.
func (s *Store) SandboxOwner(ctx context.Context, id string) (organizationID, taskID string, err error) {
	row, err := s.q.SandboxOwner(ctx, id)
	return task.Deref(row.OrganizationID), task.Deref(row.TaskID), missing(translate("find sandbox "+id, err), "There is no sandbox %s.", id)
}

// SandboxRow answers a row of the ledger as an organization sees it; bare shows those of nobody too.
func (s *Store) SandboxRow(ctx context.Context, organizationID, id string, bare bool) (task.Sandbox, error) {
	row, err := s.q.ReadSandbox(ctx, db.ReadSandboxParams{ID: id, OrganizationID: &organizationID, Bare: bare})
	return keyed(sandboxRecord(row.Sandbox, row.SecondsAlive), row.TaskKey), missing(translate("read sandbox "+id, err), "There is no sandbox %s.", id)
}

// SandboxRows lists the ledger of an organization, newest first.
func (s *Store) SandboxRows(ctx context.Context, organizationID string, query client.SandboxQuery) (client.Page[task.Sandbox], error) {
	page, err := pageOf(query.PageRequest, func(p place) ([]db.ReadSandboxesRow, error) {
		return s.q.ReadSandboxes(ctx, db.ReadSandboxesParams{
			OrganizationID: &organizationID, Bare: query.Bare, TaskIds: query.TaskIDs, States: query.States,
			Unverified: query.Unverified, BeforeAt: p.at, BeforeID: p.id, MaxRows: p.rows,
		})
	}, func(r db.ReadSandboxesRow) task.Sandbox {
		return keyed(sandboxRecord(r.Sandbox, r.SecondsAlive), r.TaskKey)
	},
		func(b task.Sandbox) (time.Time, string) { return b.CreatedAt, b.ID })
	return page, translate("list sandboxes", err)
}

// PulseAge answers how long ago a part of omoi gave a sign of life, in seconds;
// [task.CodeNotFound] if it never did.
func (s *Store) PulseAge(ctx context.Context, part string) (float64, error) {
	age, err := s.q.PartPulse(ctx, part)
	return age, missing(translate("read the pulse of the "+part, err), "The %s has not reported yet.", part)
}

// Ping asks the database whether it answers.
func (s *Store) Ping(ctx context.Context) error {
	return translate("ask the database", s.pool.Ping(ctx))
}

func salvageRecord(raw json.RawMessage) *task.Salvage {
	var salvage task.Salvage
	if len(raw) == 0 || json.Unmarshal(raw, &salvage) != nil {
		return nil // nothing is known, which is what nil says
	}
	return &salvage
}
