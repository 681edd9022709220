package postgres

import (
	"context"
	"encoding/json"
	"fmt"
	"slices"

	"github.com/omoi-dev/omoi/internal/guardian"
	"github.com/omoi-dev/omoi/internal/postgres/db"
	"github.com/omoi-dev/omoi/internal/task"
)

// Types of actions.
const (
	actCancel     = "cancel_task"
	actReallocate = "reallocate_capacity"
	actPriority   = "override_priority"
)

// acting is one action in its transaction.
type acting struct {
	q             *db.Queries
	kind, target  string
	event         string         // event type on the bus
	audit         map[string]any // stored audit record
	before, after map[string]any
	commandID     string
}

// act stores an action with the values before and after, and writes its bus event.
func (s *Store) act(ctx context.Context, call guardian.Call, do func(a *acting) error) (guardian.Action, error) {
	done, err := txResult(ctx, s, func(q *db.Queries) (guardian.Action, error) {
		a := &acting{q: q}
		if err := do(a); err != nil {
			return guardian.Action{}, err
		}
		a.audit["before"], a.audit["after"] = a.before, a.after
		if call.Claimed != "" && call.Claimed != call.By {
			a.audit["claimed_to_be"] = call.Claimed
		}
		return a.write(ctx, call)
	})
	return done, translate("execute an action", err)
}

func (a *acting) write(ctx context.Context, call guardian.Call) (guardian.Action, error) {
	row, err := a.q.InsertAction(ctx, db.InsertActionParams{
		ID: task.NewID(), OrganizationID: call.OrganizationID, ActionType: a.kind, TargetEntity: a.target,
		AuthorityLevel: call.Authority, Reason: storable(call.Reason), InitiatedBy: storable(call.By),
		AuditLog: jsonOf(a.audit), CommandID: orNull(a.commandID),
	})
	if err != nil {
		return guardian.Action{}, err
	}
	return actionOf(row), tellAction(ctx, a.q, row, a.event)
}

func tellAction(ctx context.Context, q *db.Queries, row db.GuardianAction, event string) error {
	return q.TellSteering(ctx, db.TellSteeringParams{
		OrganizationID: &row.OrganizationID, EventType: event, EntityType: "guardian_action", EntityID: row.ID,
		Payload: jsonOf(map[string]any{
			"action_type": row.ActionType, "target_entity": row.TargetEntity, "reason": row.Reason, "initiated_by": row.InitiatedBy,
		}),
	})
}

// CancelByGuardian fails a task and stops its sandbox. [task.CodeConflict] if the task has ended.
func (s *Store) CancelByGuardian(ctx context.Context, call guardian.Call, taskID string) (guardian.Action, error) {
	return s.act(ctx, call, func(a *acting) error {
		a.kind, a.target, a.event = actCancel, taskID, "guardian.intervention.started"
		reason := "EMERGENCY CANCELLATION: " + call.Reason
		asked, row, err := askTask(ctx, a.q, task.CommandRequest{
			OrganizationID: call.OrganizationID, TaskID: taskID, Kind: task.CommandFail, Reason: reason, Sender: call.By,
			Args: jsonOf(map[string]string{"reason": reason}),
		})
		state := func(status string) map[string]any {
			return map[string]any{"status": status, "assigned_agent_id": row.AssignedAgentID, "priority": row.Priority, "sandbox_id": row.SandboxID}
		}
		a.before, a.after, a.commandID = state(row.Status), state(string(asked.Status)), asked.Command.ID
		a.audit = map[string]any{"old_status": row.Status, "intervention_type": "emergency"}
		return err
	})
}

// OverridePriority changes the priority of a task.
func (s *Store) OverridePriority(ctx context.Context, call guardian.Call, taskID, priority string) (guardian.Action, error) {
	return s.act(ctx, call, func(a *acting) error {
		a.kind, a.target, a.event = actPriority, taskID, "guardian.intervention.completed"
		row, err := a.q.LockTask(ctx, call.OrganizationID, taskID)
		if err != nil {
			return missing(translate("lock the task", err), "There is no task %s.", taskID)
		}
		a.before, a.after = map[string]any{"priority": row.Priority}, map[string]any{"priority": priority}
		a.audit = map[string]any{"old_priority": row.Priority, "new_priority": priority}
		return setPriority(ctx, a.q, row, priority)
	})
}

func setPriority(ctx context.Context, q *db.Queries, row db.Task, priority string) error {
	err := q.PatchTask(ctx, db.PatchTaskParams{OrganizationID: row.OrganizationID, ID: row.ID, Priority: &priority})
	if err == nil && row.QueuedAt != nil {
		err = admitAll(ctx, q, row.OrganizationID)
	}
	return err
}

// Reallocate moves n units of the concurrency limit from one project to another. from and to are IDs of projects, or of
// tasks, sandboxes or agents in them. [task.CodeExhausted] if the limit is below n.
func (s *Store) Reallocate(ctx context.Context, call guardian.Call, from, to string, n int) (guardian.Action, error) {
	return s.act(ctx, call, func(a *acting) error {
		a.kind, a.target, a.event = actReallocate, from+"→"+to, "guardian.resource.reallocated"
		sides, err := lockSides(ctx, a.q, call.OrganizationID, from, to)
		if err != nil {
			return err
		}
		if sides[0].ID == sides[1].ID {
			return task.Invalid("to_agent_id", "Both agents belong to project %s: no capacity to move.", sides[0].Name)
		}
		if sides[0].MaxSlots < n {
			return task.Errorf(task.CodeExhausted, "Project %s has a limit of %d concurrent tasks: cannot move %d.", sides[0].Name, sides[0].MaxSlots, n)
		}
		a.before, a.after = slots(sides, 0), slots(sides, n)
		a.audit = map[string]any{"capacity_transferred": n, "from_project": sides[0].ID, "to_project": sides[1].ID}
		return moveSlots(ctx, a.q, sides, n)
	})
}

// projectOfAny returns the project of an ID: a project, or the project of a task, a sandbox or an agent.
func projectOfAny(ctx context.Context, q *db.Queries, organizationID, id string) (string, error) {
	if projectID, found, err := maybe(q.ProjectIDOf(ctx, organizationID, id)); found || err != nil {
		return projectID, translate("find a project", err)
	}
	box, err := resolve(ctx, q, db.ActiveByAnyIDParams{OrganizationID: organizationID, ID: id})
	if task.CodeOf(err) == task.CodeNotFound {
		return "", task.Errorf(task.CodeNotFound, "Unknown agent, task or project %s.", clip(id))
	} else if err != nil {
		return "", err
	}
	projectID, err := q.ProjectIDOf(ctx, organizationID, box)
	return projectID, translate("find a project", err)
}

// lockSides locks the projects of two IDs.
func lockSides(ctx context.Context, q *db.Queries, organizationID, from, to string) (sides [2]db.Project, err error) {
	var ids [2]string
	for i, id := range []string{from, to} {
		if ids[i], err = projectOfAny(ctx, q, organizationID, id); err != nil {
			return sides, err
		}
	}
	rows, err := q.LockProjects(ctx, organizationID, ids[:])
	if err != nil {
		return sides, translate("lock projects", err)
	}
	for i, id := range ids {
		at := slices.IndexFunc(rows, func(p db.Project) bool { return p.ID == id })
		if at < 0 {
			return sides, task.Errorf(task.CodeNotFound, "Project %s is deleted.", id)
		}
		sides[i] = rows[at]
	}
	return sides, nil
}

func slots(sides [2]db.Project, moved int) map[string]any {
	return map[string]any{"from_capacity": sides[0].MaxSlots - moved, "to_capacity": sides[1].MaxSlots + moved}
}

func moveSlots(ctx context.Context, q *db.Queries, sides [2]db.Project, n int) error {
	for i, change := range []int{-n, n} {
		if err := q.SetProjectSlots(ctx, sides[i].MaxSlots+change, sides[i].ID); err != nil {
			return err
		}
	}
	return admitAll(ctx, q, sides[0].OrganizationID)
}

// GuardianActions lists the actions of users through the guardian's routes, newest first.
func (s *Store) GuardianActions(ctx context.Context, organizationID string, kinds, targets []string, limit int) ([]guardian.Action, error) {
	rows, err := s.q.Actions(ctx, db.ActionsParams{
		OrganizationID: organizationID, ActionTypes: kinds, TargetEntities: targets, MaxRows: limit,
	})
	return mapAll(rows, actionOf), translate("list actions of the guardian", err)
}

// GuardianAction returns one action.
func (s *Store) GuardianAction(ctx context.Context, organizationID, id string) (guardian.Action, error) {
	row, err := s.q.ActionByID(ctx, organizationID, id)
	return actionOf(row), missing(translate("read action "+id, err), "There is no action %s.", id)
}

func actionOf(r db.GuardianAction) guardian.Action {
	return guardian.Action{
		ID: r.ID, Type: r.ActionType, Target: r.TargetEntity, Authority: r.AuthorityLevel, AuthorityName: guardian.AuthorityName(r.AuthorityLevel),
		Reason: r.Reason, InitiatedBy: r.InitiatedBy, ApprovedBy: r.ApprovedBy, ExecutedAt: utc(r.ExecutedAt), RevertedAt: r.RevertedAt,
		Audit: r.AuditLog, CreatedAt: r.CreatedAt.UTC(),
	}
}

// RevertAction reverts an action as far as possible, and returns what was reverted. [task.CodeNotFound] if the action
// is unknown or was reverted before.
func (s *Store) RevertAction(ctx context.Context, call guardian.Call, id string) (guardian.RevertedAction, error) {
	out, err := txResult(ctx, s, func(q *db.Queries) (out guardian.RevertedAction, err error) {
		row, err := q.LockAction(ctx, call.OrganizationID, id)
		if err != nil {
			return out, missing(translate("lock the action", err), "There is no action %s to revert.", id)
		}
		if out, err = revert(ctx, q, call, row); err != nil {
			return out, err
		}
		audit := map[string]any{
			"revert_reason": call.Reason, "reverted_by": call.By, "undone": out.Items, "not_undone": out.NotReverted,
		}
		if call.Claimed != "" && call.Claimed != call.By {
			audit["revert_claimed_to_be"] = call.Claimed
		}
		row, err = q.RevertAction(ctx, jsonOf(audit), id)
		if err != nil {
			return out, err
		}
		out.Action = actionOf(row)
		return out, tellAction(ctx, q, row, "guardian.intervention.reverted")
	})
	return out, translate("revert action "+id, err)
}

func revert(ctx context.Context, q *db.Queries, call guardian.Call, row db.GuardianAction) (guardian.RevertedAction, error) {
	audit := readObject(row.AuditLog)
	switch row.ActionType {
	case actCancel:
		return revertCancel(ctx, q, call, row.TargetEntity)
	case actPriority:
		return revertPriority(ctx, q, call, row.TargetEntity, audit)
	}
	return revertReallocation(ctx, q, call, audit)
}

// revertCancel retries the task. Work that the attempt did not save is lost with its sandbox.
func revertCancel(ctx context.Context, q *db.Queries, call guardian.Call, taskID string) (guardian.RevertedAction, error) {
	_, _, err := askTask(ctx, q, task.CommandRequest{
		OrganizationID: call.OrganizationID, TaskID: taskID, Kind: task.CommandRetry, Reason: call.Reason, Sender: call.By,
		Args: jsonOf(map[string]string{"reason": call.Reason}),
	})
	if err != nil {
		return guardian.RevertedAction{}, err
	}
	return guardian.RevertedAction{
		Items:       []string{"The task was retried on the same branch."},
		NotReverted: []string{"The ended attempt does not continue: its sandbox is deleted. The receipt of the task lists its saved work."},
	}, nil
}

func revertPriority(ctx context.Context, q *db.Queries, call guardian.Call, taskID string, audit object) (guardian.RevertedAction, error) {
	row, err := q.LockTask(ctx, call.OrganizationID, taskID)
	if err != nil {
		return guardian.RevertedAction{}, missing(translate("lock the task", err), "There is no task %s.", taskID)
	}
	was, became := audit.text("old_priority"), audit.text("new_priority")
	if row.Priority != became {
		return guardian.RevertedAction{NotReverted: []string{fmt.Sprintf("The priority stays %s: another request has changed it since.", row.Priority)}}, nil
	}
	return guardian.RevertedAction{Items: []string{fmt.Sprintf("The priority is %s again.", was)}}, setPriority(ctx, q, row, was)
}

func revertReallocation(ctx context.Context, q *db.Queries, call guardian.Call, audit object) (guardian.RevertedAction, error) {
	sides, err := lockSides(ctx, q, call.OrganizationID, audit.text("to_project"), audit.text("from_project"))
	if err != nil {
		return guardian.RevertedAction{}, err
	}
	var n int
	if err := json.Unmarshal(audit["capacity_transferred"], &n); err != nil {
		return guardian.RevertedAction{}, err
	}
	if sides[0].MaxSlots < n {
		return guardian.RevertedAction{NotReverted: []string{fmt.Sprintf("Project %s now has a limit of %d concurrent tasks: cannot move %d back.", sides[0].Name, sides[0].MaxSlots, n)}}, nil
	}
	return guardian.RevertedAction{Items: []string{fmt.Sprintf("Project %s may run %d more concurrent tasks again, project %s as many fewer.", sides[1].Name, n, sides[0].Name)}},
		moveSlots(ctx, q, sides, n)
}
