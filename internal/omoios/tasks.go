package omoios

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"regexp"
	"slices"
	"strings"
	"time"
	"unicode/utf8"

	"github.com/jackc/pgx/v5"

	"github.com/omoi-dev/omoi/internal/event"
	"github.com/omoi-dev/omoi/internal/explain"
	"github.com/omoi-dev/omoi/internal/postgres/db"
	"github.com/omoi-dev/omoi/internal/retention"
	"github.com/omoi-dev/omoi/internal/scm"
	"github.com/omoi-dev/omoi/internal/task"
)

const (
	maxDescription = 64 << 10 // bytes
	maxRetries     = 10
	maxSandboxID   = 100 // characters
)

// imported is the label of imported sandboxes.
const imported = `{"imported_from": "omoios"}`

type taskRow struct {
	ID

	TicketID, PhaseID, TaskType, Title, Description, Priority, Status *string
	Agent, SandboxID, Result, ErrorMessage, Config                    *string
	RetryCount, MaxRetries                                            *int
	CreatedAt, UpdatedAt, StartedAt, CompletedAt                      *time.Time
	TicketText, UserID, CreatedBy, OrganizationID, Branch             *string // of the ticket, its user, creator and organization of its project, the newest event
}

func (r *run) tasks(ctx context.Context) error {
	const table = "tasks"
	k, err := r.table(ctx, table)
	if k == nil {
		return err
	}
	branch, events := r.branchOf()
	return each(ctx, r, k, "SELECT "+r.src.list(table, "t", "id text", "ticket_id text", "phase_id text", "task_type text", "title text", "description text",
		"priority text", "status text", "assigned_agent_id text", "sandbox_id text", "result text", "error_message text", "execution_config text",
		"retry_count integer", "max_retries integer", "created_at timestamptz", "updated_at timestamptz", "started_at timestamptz", "completed_at timestamptz")+
		", "+r.src.list("tickets", "k", "description text", "user_id text")+", "+r.src.list("projects", "p", "created_by text", "organization_id text")+", "+branch+
		" FROM tasks t"+r.src.join("tickets", "k", r.src.col(table, "t", "ticket_id", "text"))+
		r.src.join("projects", "p", r.src.col("tickets", "k", "project_id", "text"))+events+" ORDER BY 16, 1", r.addTask,
		[]string{event.AgentCompleted, event.ContinuousCompleted, event.IterationValidation})
}

// branchOf returns the expression for the newest branch that the events of a task name, and its join. $1 are the types of
// these events.
func (r *run) branchOf() (expression, join string) {
	if !r.src.has("sandbox_events", "event_data") || !r.src.has("tasks", "sandbox_id") {
		return "NULL::text", " CROSS JOIN (SELECT $1::text[]) none"
	}
	return "b.name", ` LEFT JOIN LATERAL (SELECT n.name FROM sandbox_events e CROSS JOIN LATERAL (SELECT ` + field("e.event_data", "branch_name") + ` AS name) n
		WHERE e.sandbox_id = t.sandbox_id AND e.event_type = ANY ($1::text[]) AND n.name IS NOT NULL ORDER BY e.created_at DESC, e.id DESC LIMIT 1) b ON true`
}

func (r *run) addTask(ctx context.Context, q *db.Queries, t taskRow) (outcome, error) {
	id := idOf("task", t.rowID())
	if _, err := q.ImportedTask(ctx, id); !errors.Is(err, pgx.ErrNoRows) {
		return outcome{existing: true}, err
	}
	if t.TicketID == nil {
		return skip("It has no ticket, which each task of omoi has"), nil
	}
	ticketID := idOf("ticket", *t.TicketID)
	ticket, err := q.ImportedTicket(ctx, ticketID)
	switch {
	case errors.Is(err, pgx.ErrNoRows):
		return skip("Its ticket is not imported"), nil
	case err != nil:
		return outcome{}, err
	case ticket.OrganizationID != r.organization(t.OrganizationID):
		return skip(elsewhere), nil
	}
	out := outcome{changes: renumbered("task", t.rowID())}
	in := r.taskOf(&out, t)
	in.ID, in.OrganizationID, in.ProjectID, in.TicketID = id, ticket.OrganizationID, ticket.ProjectID, ticketID
	if in.UserID, err = creator(ctx, q, ticket.OrganizationID, t.UserID, t.CreatedBy); err != nil {
		return out, err
	}
	if err := ownBranch(ctx, q, &out, &in); err != nil {
		return out, err
	}
	if err := ownSandbox(ctx, q, &out, &in); err != nil {
		return out, err
	}
	if err := q.ImportTask(ctx, in); err != nil || in.SandboxID == nil {
		return out, err
	}
	return out, addAttempt(ctx, q, in)
}

// taskOf returns the row of a task without its parents.
func (r *run) taskOf(out *outcome, t taskRow) db.ImportTaskParams {
	taskType := cmp.Or(task.Deref(t.TaskType), "implementation")
	mode, result := task.ModeOf(taskType), resultOf(out, t.Result)
	in := db.ImportTaskParams{
		Title: titleOf(task.Deref(t.Title), task.Deref(t.Description), taskType), Description: out.description(t), TaskType: taskType, Mode: mode,
		PhaseID:  out.oneOf("phase", t.PhaseID, task.Phases(), "PHASE_IMPLEMENTATION"),
		Priority: out.oneOf("priority", t.Priority, task.Priorities(), "MEDIUM"),
		Agent:    r.Agent, Provider: r.Provider, Continuous: task.RuntimeOf(r.Agent).Input != task.InputScript && mode != task.ModeExploration,
		MaxRetries: min(max(number(t.MaxRetries, 3), 0), maxRetries), RetryCount: max(number(t.RetryCount, 0), 0), ExecutionConfig: forced(out, t.Config),
		SandboxID: text(t.SandboxID), AssignedAgentID: text(t.Agent), BranchName: cmp.Or(branch(result.Branch), branch(task.Deref(t.Branch))), Result: result.raw,
		StartedAt: t.StartedAt,
	}
	in.PullRequestUrl, in.PullRequestNumber = result.pull()
	in.CreatedAt = first(t.CreatedAt, t.StartedAt, t.UpdatedAt, t.CompletedAt)
	in.UpdatedAt = first(t.UpdatedAt, t.CompletedAt, t.StartedAt, &in.CreatedAt)
	ended := first(t.CompletedAt, &in.UpdatedAt)
	in.CompletedAt = &ended
	out.status(&in, t)
	return in
}

// status sets how a task ended. A task that had not ended is imported as failed: nothing of it runs here.
func (o *outcome) status(in *db.ImportTaskParams, t taskRow) {
	said := text(t.ErrorMessage)
	switch task.Status(task.Deref(t.Status)) {
	case task.StatusCompleted:
		in.Status = string(task.StatusCompleted)
	case task.StatusCancelled:
		in.Status, in.ErrorMessage = string(task.StatusCancelled), said
	case task.StatusFailed:
		in.Status, in.FailureClass, in.ErrorMessage = string(task.StatusFailed), string(task.ClassReported), cmp.Or(said, new("The task failed in OmoiOS."))
	default:
		reason := task.Reason{Code: task.ReasonImported}
		in.Status, in.FailureClass = string(task.StatusFailed), string(task.ClassTerminated)
		in.ErrorMessage, in.EndReason = new(explain.Reason(reason)), json.RawMessage(`{"code": "imported"}`)
		o.changes = append(o.changes, openStatus(t.Status))
	}
}

// openStatus returns the change of a task that had not ended.
func openStatus(status *string) string {
	const rest = " becomes failed. Next: omoi retry"
	known := []string{
		"pending", "claiming", "assigned", "running", "pending_validation", "validating", "needs_revision", "under_review", "validation_in_progress",
	}
	if slices.Contains(known, task.Deref(status)) {
		return "The status " + *status + rest
	}
	return "An unknown or missing status" + rest
}

// description returns the text of the task, else that of its ticket, as OmoiOS gives it to the agent.
func (o *outcome) description(t taskRow) string {
	out := cmp.Or(task.Deref(t.Description), task.Deref(t.TicketText))
	if len(out) <= maxDescription {
		return out
	}
	o.changes = append(o.changes, "The description is cut to 64 KiB")
	at := maxDescription
	for !utf8.RuneStart(out[at]) {
		at--
	}
	return out[:at]
}

// creator returns the first of some users that the organization has.
func creator(ctx context.Context, q *db.Queries, organization string, users ...*string) (*string, error) {
	for _, user := range users {
		if user == nil {
			continue
		}
		id := idOf("user", *user)
		of, found, err := userOf(ctx, q, id)
		if err != nil {
			return nil, err
		}
		if found && of == organization {
			return &id, nil
		}
	}
	return nil, nil //nolint:nilnil // there is none
}

// ownBranch takes the branch from a task that would share it with another one.
func ownBranch(ctx context.Context, q *db.Queries, out *outcome, in *db.ImportTaskParams) error {
	if in.BranchName == nil {
		return nil
	}
	taken, err := q.BranchTaken(ctx, in.ProjectID, *in.BranchName)
	if taken {
		in.BranchName, out.changes = nil, append(out.changes, "The branch is left out: another task has it")
	}
	return err
}

// ownSandbox takes the sandbox from a task that cannot have it: each attempt has a sandbox of its own.
func ownSandbox(ctx context.Context, q *db.Queries, out *outcome, in *db.ImportTaskParams) error {
	if in.SandboxID == nil {
		return nil
	}
	if badSandbox(*in.SandboxID) {
		in.SandboxID, out.changes = nil, append(out.changes, "The sandbox ID is left out: expected 100 characters at most, without control characters")
		return nil
	}
	_, err := q.ImportedSandbox(ctx, retention.Events, *in.SandboxID)
	if errors.Is(err, pgx.ErrNoRows) {
		in.AttemptCount = 1
		return nil
	}
	in.SandboxID, out.changes = nil, append(out.changes, "The sandbox ID is left out: another task has the sandbox")
	return err
}

func badSandbox(id string) bool {
	return id == "" || utf8.RuneCountInString(id) > maxSandboxID || strings.ContainsFunc(id, func(r rune) bool { return r < ' ' || r == 0x7f })
}

func addAttempt(ctx context.Context, q *db.Queries, in db.ImportTaskParams) error {
	started := first(in.StartedAt, &in.CreatedAt)
	_, err := q.ImportSandbox(ctx, db.ImportSandboxParams{
		ID: *in.SandboxID, OrganizationID: &in.OrganizationID, TaskID: &in.ID, Attempt: new(1), Provider: task.ProviderExternal, Labels: json.RawMessage(imported),
		CreatedAt: started, StartedAt: in.StartedAt, EndedAt: in.CompletedAt,
	})
	if err != nil {
		return err
	}
	if err := q.DropOpenUsage(ctx, *in.SandboxID); err != nil { // OmoiOS paid for it
		return err
	}
	return q.ImportAttempt(ctx, db.ImportAttemptParams{
		TaskID: in.ID, SandboxID: *in.SandboxID, StartedAt: started, EndedAt: in.CompletedAt, Outcome: in.Status, FailureClass: in.FailureClass,
		EndReason: in.EndReason, Reason: task.Deref(in.ErrorMessage),
	})
}

// result is what OmoiOS stores of a completed task.
type result struct {
	Branch    string `json:"branch_name"`
	Artifacts []struct {
		URL    string `json:"pr_url"`
		Number int    `json:"pr_number"`
	} `json:"artifacts"`

	raw json.RawMessage
}

func resultOf(out *outcome, raw *string) (r result) {
	if object := out.object(raw); string(object) != "{}" {
		_ = json.Unmarshal(object, &r) // fields of other types stay empty
		r.raw = object
	}
	return r
}

func (r result) pull() (url *string, number *int) {
	for _, a := range r.Artifacts {
		if a.URL != "" && a.Number > 0 {
			return &a.URL, &a.Number
		}
	}
	return nil, nil
}

var branchForm = regexp.MustCompile(`^[A-Za-z0-9][A-Za-z0-9._/-]{0,199}$`)

// branch returns the branch of a task; nil for a branch that is not of the task alone, or that Git does not allow.
func branch(name string) *string {
	shared := slices.Contains(append(scm.UsualBranches(), "dev", "staging", "production", "prod", "release", "unknown", "HEAD"), name)
	if shared || !branchForm.MatchString(name) || strings.Contains(name, "..") || strings.Contains(name, "//") || strings.HasSuffix(name, "/") || strings.HasSuffix(name, ".lock") {
		return nil
	}
	return &name
}

// forced returns the option of OmoiOS that omoi has too.
func forced(out *outcome, config *string) json.RawMessage {
	var options struct {
		Force bool `json:"force_execute"`
	}
	_ = json.Unmarshal(out.object(config), &options)
	if options.Force {
		return json.RawMessage(`{"force_execute": true}`)
	}
	return json.RawMessage("{}")
}

// first returns the first known time; now if there is none.
func first(times ...*time.Time) time.Time {
	for _, at := range times {
		if at != nil {
			return *at
		}
	}
	return time.Now()
}

func number(value *int, other int) int {
	if value == nil {
		return other
	}
	return *value
}

// text returns nil for an empty text.
func text(value *string) *string {
	if task.Deref(value) == "" {
		return nil
	}
	return value
}
