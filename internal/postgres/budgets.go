package postgres

import (
	"context"
	"encoding/json"
	"fmt"
	"math"
	"slices"

	"github.com/jackc/pgx/v5"

	"github.com/omoi-dev/omoi/api/client"
	"github.com/omoi-dev/omoi/internal/cost"
	"github.com/omoi-dev/omoi/internal/event"
	"github.com/omoi-dev/omoi/internal/explain"
	"github.com/omoi-dev/omoi/internal/ingest"
	"github.com/omoi-dev/omoi/internal/postgres/db"
	"github.com/omoi-dev/omoi/internal/task"
)

// EnforceBudgets updates the usage of running agents that have a budget. Tasks over their budget get a command that
// suspends them. Agents that reached four fifths get a message. EnforceBudgets returns the sandboxes with a new
// message.
func (s *Store) EnforceBudgets(ctx context.Context) ([]string, error) {
	if bind, err := s.q.BudgetsBind(ctx); err != nil || !bind {
		return nil, translate("read whether budgets apply", err)
	}
	ids, err := s.q.BudgetedSandboxes(ctx)
	if err = meter(ctx, s.q, ids, err); err != nil {
		return nil, translate("update usage", err)
	}
	if err := s.q.SettleUses(ctx); err != nil {
		return nil, translate("sum usage", err)
	}
	if err := s.inTx(ctx, func(q *db.Queries) error { return suspendOverBudget(ctx, q) }); err != nil {
		return nil, translate("suspend tasks whose budget is used up", err)
	}
	near, err := collectRows[nearLimit](ctx, s, `SELECT sandbox_id, scope, key, reason FROM omoi_near_limits()`)
	if err != nil {
		return nil, translate("list nearly used budgets", err)
	}
	return s.tellNear(ctx, near)
}

// suspendOverBudget also runs admission, because the reasons of queued tasks change.
func suspendOverBudget(ctx context.Context, q *db.Queries) error {
	ids, err := q.SuspendOverBudget(ctx)
	for _, id := range ids {
		if err := admitAll(ctx, q, id); err != nil {
			return err
		}
	}
	return err
}

// tellNear sends a message to agents whose budget is nearly used up. An agent that cannot get the message does not stop
// the others.
func (s *Store) tellNear(ctx context.Context, near []nearLimit) (told []string, err error) {
	for _, n := range near {
		_, err := s.AcceptMessage(ctx, ingest.NewMessage{
			SandboxID: n.SandboxID, Kind: ingest.MessageSystem, SenderKind: ingest.SenderSystem,
			Content: fmt.Sprintf("The budget of this %s is nearly spent: %s. At the limit the work is saved and you are stopped. Commit what is done, and finish with what matters most.", n.Scope, explain.Amount(task.ParseReason(n.Reason))),
			Once:    ingest.MessageKey{Scope: "inbox:" + n.SandboxID, Key: n.Key},
		})
		switch {
		case err == nil:
			told = append(told, n.SandboxID)
		case !final(err):
			return told, err
		}
	}
	return told, nil
}

// TaskBudget returns the budget of a task and its usage so far.
func (s *Store) TaskBudget(ctx context.Context, organizationID, id string) (client.BudgetUsage, error) {
	budget, err := s.q.TaskBudget(ctx, organizationID, id)
	if err != nil {
		return client.BudgetUsage{}, missing(translate("read the budget of task "+id, err), "There is no task %s.", id)
	}
	return s.used(ctx, budget, id, meterTask(ctx, s.q, organizationID, id), `SELECT what, used FROM omoi_task_usage($1)`)
}

// ProjectBudget returns the budget that the tasks of a project share, and their usage so far.
func (s *Store) ProjectBudget(ctx context.Context, organizationID, id string) (client.BudgetUsage, error) {
	budget, err := s.q.ProjectBudget(ctx, organizationID, id)
	if err != nil {
		return client.BudgetUsage{}, missing(translate("read the budget of project "+id, err), "There is no project %s.", id)
	}
	return s.used(ctx, budget, id, meterProject(ctx, s.q, id), `SELECT what, used FROM omoi_project_usage($1)`)
}

// SetTaskBudget sets the budget of a task. A task that was suspended for its budget resumes if the new budget allows
// it.
func (s *Store) SetTaskBudget(ctx context.Context, organizationID, id, sender string, b task.Budget) (client.BudgetUsage, error) {
	asked, err := s.setBudget(ctx, organizationID, sender, func(q *db.Queries) (string, error) {
		return q.SetTaskBudget(ctx, db.SetTaskBudgetParams{Budget: jsonOf(b), OrganizationID: organizationID, ID: id})
	})
	if err != nil {
		return client.BudgetUsage{}, missing(translate("set the budget of task "+id, err), "There is no task %s.", id)
	}
	out, err := s.TaskBudget(ctx, organizationID, id)
	out.TaskIDs = asked
	return out, err
}

// SetProjectBudget sets the budget of a project. Tasks that were suspended for the budget resume if the new budget
// allows them.
func (s *Store) SetProjectBudget(ctx context.Context, organizationID, id, sender string, b task.Budget) (client.BudgetUsage, error) {
	asked, err := s.setBudget(ctx, organizationID, sender, func(q *db.Queries) (string, error) {
		return q.SetProjectBudget(ctx, db.SetProjectBudgetParams{Budget: jsonOf(b), OrganizationID: organizationID, ID: id})
	})
	if err != nil {
		return client.BudgetUsage{}, missing(translate("set the budget of project "+id, err), "There is no project %s.", id)
	}
	out, err := s.ProjectBudget(ctx, organizationID, id)
	out.TaskIDs = asked
	return out, err
}

// setBudget writes a budget, resumes suspended tasks of the project, and runs admission. The usage is updated first,
// because usage without a budget is not tracked.
func (s *Store) setBudget(ctx context.Context, organizationID, sender string, set func(*db.Queries) (projectID string, err error)) ([]string, error) {
	return txResult(ctx, s, func(q *db.Queries) ([]string, error) {
		projectID, err := set(q)
		if err != nil {
			return nil, err
		}
		if err := meterProject(ctx, q, projectID); err != nil {
			return nil, err
		}
		asked, err := q.ResumeParked(ctx, db.ResumeParkedParams{
			ProjectID: projectID, Blocked: string(task.BlockedBudget), Reason: "the budget was raised", Sender: sender,
		})
		if err != nil {
			return nil, err
		}
		return asked, admitAll(ctx, q, organizationID)
	})
}

// Rows of SQL functions, whose columns sqlc does not know.
type (
	nearLimit struct{ SandboxID, Scope, Key, Reason string }
	use       struct {
		What string
		Used float64
	}
)

func collectRows[T any](ctx context.Context, s *Store, query string, args ...any) ([]T, error) {
	rows, err := s.pool.Query(ctx, query, args...)
	if err != nil {
		return nil, err
	}
	return pgx.CollectRows(rows, pgx.RowToStructByPos[T])
}

// used reads the usage of a task or project by query; metered is the error of updating that usage.
func (s *Store) used(ctx context.Context, budget json.RawMessage, id string, metered error, query string) (client.BudgetUsage, error) {
	if metered != nil {
		return client.BudgetUsage{}, translate("update the usage of "+id, metered)
	}
	rows, err := collectRows[use](ctx, s, query, id)
	if err != nil {
		return client.BudgetUsage{}, translate("read what "+id+" has used", err)
	}
	unknown, err := s.q.CostUnknown(ctx, id)
	return spending(budget, rows, unknown), translate("read whether the cost of "+id+" is known", err)
}

func spending(budget json.RawMessage, rows []use, unknown bool) client.BudgetUsage {
	out := client.BudgetUsage{TaskIDs: []string{}, Used: client.Usage{CostUnknown: unknown}}
	if json.Unmarshal(budget, &out.Budget) != nil {
		out.Budget = task.Budget{} // cannot happen: omoi wrote the value; an empty budget is no limit
	}
	for _, r := range rows {
		switch r.What {
		case "tokens":
			out.Used.Tokens = r.Used
		case "usd":
			out.Used.USD = cost.Known(r.Used, unknown)
		case "wall_clock_s":
			out.Used.WallClockS = r.Used
		case "sandbox_s":
			out.Used.SandboxSeconds = r.Used
		}
	}
	return out
}

const meterPage = 20 // sandboxes whose usage events are read together

func meterTask(ctx context.Context, q *db.Queries, organizationID, taskID string) error {
	ids, err := q.UnmeteredOfTask(ctx, &organizationID, &taskID)
	return meter(ctx, q, ids, err)
}

func meterProject(ctx context.Context, q *db.Queries, projectID string) error {
	ids, err := q.UnmeteredOfProject(ctx, projectID)
	return meter(ctx, q, ids, err)
}

// meter adds the usage that new events of sandboxes report; err is the error of finding the sandboxes.
func meter(ctx context.Context, q *db.Queries, ids []string, err error) error {
	if err != nil {
		return err
	}
	for part := range slices.Chunk(ids, meterPage) {
		rows, err := q.ReportedUsage(ctx, event.Types(event.Usage), part)
		if err != nil {
			return err
		}
		for len(rows) > 0 {
			end := slices.IndexFunc(rows, func(r db.ReportedUsageRow) bool { return r.ID != rows[0].ID })
			if end < 0 {
				end = len(rows)
			}
			if err := meterOne(ctx, q, rows[:end]); err != nil {
				return err
			}
			rows = rows[end:]
		}
	}
	return nil
}

// meterOne adds the rows of one sandbox.
func meterOne(ctx context.Context, q *db.Queries, rows []db.ReportedUsageRow) error {
	box := rows[0]
	sum := event.Metered{
		CostUSD: box.CostUsd, InputTokens: float64(box.InputTokens), OutputTokens: float64(box.OutputTokens), CostUnknown: box.CostUnknown,
	}
	for _, row := range rows {
		var report event.UsageReport
		if err := json.Unmarshal(row.Report, &report); err != nil {
			return err
		}
		sum.Add(row.EventType, report)
	}
	return q.Meter(ctx, db.MeterParams{
		Until: box.LastSequence, CostUsd: sum.CostUSD, InputTokens: int64(math.Round(sum.InputTokens)), OutputTokens: int64(math.Round(sum.OutputTokens)),
		CostUnknown: sum.CostUnknown, ID: box.ID, Metered: box.Metered,
	})
}
