package postgres

import (
	"context"
	"encoding/json"
	"maps"
	"slices"
	"time"

	"github.com/omoi-dev/omoi/api/client"
	"github.com/omoi-dev/omoi/internal/event"
	"github.com/omoi-dev/omoi/internal/postgres/db"
	"github.com/omoi-dev/omoi/internal/task"
)

// Task returns a task of an organization with its attempts and its pending command.
func (s *Store) Task(ctx context.Context, organizationID, id string) (task.Task, error) {
	row, err := s.q.ReadTask(ctx, organizationID, id)
	if err != nil {
		return task.Task{}, missing(translate("read task "+id, err), "There is no task %s.", id)
	}
	attempts, err := s.q.ReadAttempts(ctx, event.AgentRestored, id)
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
	err = s.addRest(ctx, tasks)
	return tasks[0], err
}

// Tasks lists the tasks of an organization without attempts and with shortened results.
func (s *Store) Tasks(ctx context.Context, organizationID string, query client.TaskQuery) (client.Page[task.Task], error) {
	asked := taskParams(organizationID, query)
	read := func(p place) ([]db.ReadTasksRow, error) {
		asked.BeforeAt, asked.BeforeID, asked.MaxRows = p.at, p.id, p.rows
		return s.q.ReadTasks(ctx, asked)
	}
	record := func(r db.ReadTasksRow) task.Task {
		r.TaskBrief.ExecutionConfig = s.openEnv(organizationID, r.TaskBrief.ExecutionConfig)
		return briefRecord(r)
	}
	var page client.Page[task.Task]
	var err error
	if query.ByGroup {
		page, err = pageByGroup(query.PageRequest, &asked, read, record)
	} else {
		page, err = pageOf(query.PageRequest, read, record, func(t task.Task) (time.Time, string) { return t.CreatedAt, t.ID })
	}
	if err != nil {
		return client.Page[task.Task]{}, translate("list tasks", err)
	}
	return page, s.addRest(ctx, page.Items)
}

// addRest adds what other tables know of the state of tasks.
func (s *Store) addRest(ctx context.Context, tasks []task.Task) error {
	for _, add := range []func(context.Context, []task.Task) error{s.addSaid, s.addKeys, s.addPending, s.addQuestions} {
		if err := add(ctx, tasks); err != nil {
			return err
		}
	}
	return nil
}

// addKeys adds the keys of the dependencies for which tasks wait.
func (s *Store) addKeys(ctx context.Context, tasks []task.Task) error {
	of := map[string]*task.Reason{}
	for n, t := range tasks {
		if c := t.QueueReason.Code; c == task.ReasonDependency || c == task.ReasonDependencyFailed {
			of[t.ID] = &tasks[n].QueueReason
		}
	}
	if len(of) == 0 {
		return nil
	}
	rows, err := s.q.OpenDependencies(ctx, slices.Collect(maps.Keys(of)))
	for _, row := range rows {
		if r := of[row.TaskID]; r.Code == task.ReasonDependency || task.Status(row.Status).Final() {
			r.Keys = append(r.Keys, row.Key)
		}
	}
	return translate("read open dependencies", err)
}

// addSaid adds what the agents that wait for a message said last.
func (s *Store) addSaid(ctx context.Context, tasks []task.Task) error {
	of := map[string]*task.Task{}
	for n, t := range tasks {
		if t.Status == task.StatusRunning && t.Group == task.GroupNeedsYou {
			of[task.Deref(t.SandboxID)] = &tasks[n]
		}
	}
	if len(of) == 0 {
		return nil
	}
	rows, err := s.q.LastSaid(ctx, event.AgentMessage, slices.Collect(maps.Keys(of)))
	for _, row := range rows {
		of[row.ID].Said = row.Content
	}
	return translate("read the last words of agents", err)
}

// addPending adds the commands that are not settled.
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

// ChangeTask changes fields of a task and runs admission. [task.CodeConflict] for a field that can change only while
// the task is pending.
func (s *Store) ChangeTask(ctx context.Context, organizationID, id string, c client.TaskChange) error {
	if err := task.CheckDeadline(c.DeadlineAt); err != nil {
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

// ofPending returns the first changed field that requires a pending task; empty: none.
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

// TaskStatus returns the status of a task, and whether its events have ended.
func (s *Store) TaskStatus(ctx context.Context, organizationID, id string) (client.Standing, error) {
	row, err := s.q.TaskStatus(ctx, organizationID, id)
	return client.Standing{Status: task.Status(row.Status), Ended: row.Ended, Silent: row.Silent},
		missing(translate("read the status of task "+id, err), "There is no task %s.", id)
}

// SandboxOwner returns the organization and the task of a sandbox; both are empty for an unmanaged sandbox.
func (s *Store) SandboxOwner(ctx context.Context, id string) (organizationID, taskID string, err error) {
	row, err := s.q.SandboxOwner(ctx, id)
	return task.Deref(row.OrganizationID), task.Deref(row.TaskID), missing(translate("find sandbox "+id, err), "There is no sandbox %s.", id)
}

// SandboxRow returns a row of the sandbox ledger for an organization; bare includes unmanaged sandboxes.
func (s *Store) SandboxRow(ctx context.Context, organizationID, id string, bare bool) (task.Sandbox, error) {
	row, err := s.q.ReadSandbox(ctx, db.ReadSandboxParams{ID: id, OrganizationID: &organizationID, Bare: bare})
	return keyed(sandboxRecord(row.Sandbox, row.SecondsAlive), row.TaskKey), missing(translate("read sandbox "+id, err), "There is no sandbox %s.", id)
}

// SandboxRows lists the sandboxes of an organization, newest first.
func (s *Store) SandboxRows(ctx context.Context, organizationID string, query client.SandboxQuery) (client.Page[task.Sandbox], error) {
	page, err := pageOf(query.PageRequest, func(p place) ([]db.ReadSandboxesRow, error) {
		return s.q.ReadSandboxes(ctx, db.ReadSandboxesParams{
			OrganizationID: &organizationID, Bare: query.Bare, TaskIds: query.TaskIDs, States: query.States,
			Unverified: query.Unverified, Ended: query.Ended, BeforeAt: p.at, BeforeID: p.id, MaxRows: p.rows,
		})
	}, func(r db.ReadSandboxesRow) task.Sandbox {
		return keyed(sandboxRecord(r.Sandbox, r.SecondsAlive), r.TaskKey)
	},
		func(b task.Sandbox) (time.Time, string) { return b.CreatedAt, b.ID })
	return page, translate("list sandboxes", err)
}

// PulseAge returns the seconds since the last heartbeat of a component; [task.CodeNotFound] if there is none.
func (s *Store) PulseAge(ctx context.Context, part string) (float64, error) {
	age, err := s.q.PartPulse(ctx, part)
	return age, missing(translate("read the pulse of the "+part, err), "The %s has not reported yet.", part)
}

// Ping checks the connection to the database.
func (s *Store) Ping(ctx context.Context) error {
	return translate("ping the database", s.pool.Ping(ctx))
}

func salvageRecord(raw json.RawMessage) *task.Salvage {
	var salvage task.Salvage
	if len(raw) == 0 || json.Unmarshal(raw, &salvage) != nil {
		return nil // nil means unknown
	}
	return &salvage
}
