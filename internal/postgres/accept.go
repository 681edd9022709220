package postgres

import (
	"bytes"
	"cmp"
	"context"
	"errors"
	"log/slog"
	"slices"

	"github.com/jackc/pgx/v5"

	"github.com/omoi-dev/omoi/api/client"
	"github.com/omoi-dev/omoi/internal/contract"
	"github.com/omoi-dev/omoi/internal/postgres/db"
	"github.com/omoi-dev/omoi/internal/task"
)

// errKeyTaken ends a transaction that found its idempotency key taken by a concurrent one.
var errKeyTaken = errors.New("the idempotency key is taken")

// AcceptTask stores a task in one transaction: project and ticket if they do not exist, the task, with copies of checkpoints for a
// fork, its dependencies, its idempotency key, the command start and the due relay row. Admission runs in the same transaction.
//
// Errors: [task.CodeInvalid] with the field of an unknown ticket, project or dependency; [task.CodeConflict] for an
// idempotency key that was used with another body.
func (s *Store) AcceptTask(ctx context.Context, d task.NewTask) (task.Accepted, error) {
	return s.AcceptTasks(ctx, []task.NewTask{d})
}

// AcceptTasks stores tasks as AcceptTask does, all or none. The first one has the idempotency key of all and may create the ticket, to
// which the others are added. The result is that of the first task.
func (s *Store) AcceptTasks(ctx context.Context, all []task.NewTask) (task.Accepted, error) {
	found, err := s.repeated(ctx, all[0])
	if err != nil || found.Repeated {
		return found, err
	}
	all = slices.Clone(all)
	for n, d := range all {
		if err := mayStore(ctx, d); err != nil {
			return found, err
		}
		all[n].Execution = s.sealEnv(d.OrganizationID, d.Execution)
	}
	made, err := txResult(ctx, s, func(q *db.Queries) ([]task.Accepted, error) { return acceptTasks(ctx, q, all) })
	if errors.Is(err, errKeyTaken) {
		return s.repeated(ctx, all[0])
	}
	if err != nil {
		return task.Accepted{}, translate("accept a task", err)
	}
	for _, m := range made {
		s.cfg.Log.InfoContext(ctx, "task created", slog.String("task_id", m.TaskID))
	}
	return made[0], nil
}

// acceptTasks runs admission once, last, because admission locks the organization.
func acceptTasks(ctx context.Context, q *db.Queries, all []task.NewTask) (made []task.Accepted, err error) {
	var projectID string
	for n, d := range all {
		if n > 0 {
			d.TicketID, d.IdempotencyKey = made[0].TicketID, ""
		}
		var m task.Accepted
		if m, projectID, err = acceptTask(ctx, q, d); err != nil {
			return nil, err
		}
		made = append(made, m)
	}
	return made, admit(ctx, q, all[0].OrganizationID, projectID)
}

// mayStore returns the error for a new task that is not to be stored.
func mayStore(ctx context.Context, d task.NewTask) error {
	if err := cmp.Or(d.NoAgent, task.CheckDeadline(d.DeadlineAt)); err != nil || d.Check == nil {
		return err
	}
	return d.Check(ctx)
}

// repeated returns the task that an earlier request with the same idempotency key created, if any.
func (s *Store) repeated(ctx context.Context, d task.NewTask) (task.Accepted, error) {
	if d.IdempotencyKey == "" {
		return task.Accepted{}, nil
	}
	row, found, err := maybe(s.q.IdempotencyKey(ctx, d.OrganizationID, d.IdempotencyKey))
	if !found {
		return task.Accepted{}, translate("look up the idempotency key", err)
	}
	if !bytes.Equal(row.BodyHash, d.BodyHash) {
		return task.Accepted{}, &task.Error{
			Code: task.CodeConflict, Kind: task.KindKeyReused, Field: "Idempotency-Key",
			Message: "The Idempotency-Key was used with another body, for task " + row.TaskID + ". Next: use a new key for a new task",
		}
	}
	return task.Accepted{TaskID: row.TaskID, Repeated: true}, nil
}

func acceptTask(ctx context.Context, q *db.Queries, d task.NewTask) (made task.Accepted, projectID string, err error) {
	made.TaskID = task.NewID()
	fork, err := openFork(ctx, q, d)
	if err != nil {
		return made, "", err
	}
	projectID, ticketID, err := placeTask(ctx, q, d)
	if err != nil {
		return made, "", err
	}
	made.TicketID = ticketID
	row := db.InsertTaskParams{ID: made.TaskID, ProjectID: projectID, TicketID: ticketID, BaseCommit: orNull(d.Base)}
	if err := fork.describe(ctx, d, &row); err != nil {
		return made, projectID, err
	}
	if err := insertTask(ctx, q, d, row); err != nil {
		return made, projectID, err
	}
	if err := fork.copyTo(ctx, made.TaskID, d.Agent); err != nil {
		return made, projectID, err
	}
	if err := firstContract(ctx, q, d, made.TaskID); err != nil {
		return made, projectID, err
	}
	if err := addDependencies(ctx, q, d.OrganizationID, made.TaskID, d.DependsOn); err != nil {
		return made, projectID, err
	}
	if err := claimKey(ctx, q, d, made.TaskID); err != nil {
		return made, projectID, err
	}
	return made, projectID, startTask(ctx, q, d, made.TaskID)
}

// startTask writes the command start and the due relay row. Admission follows.
func startTask(ctx context.Context, q *db.Queries, d task.NewTask, taskID string) error {
	args := object{}
	if d.Trace != "" { // the workflow continues the trace of the request
		args.set("traceparent", d.Trace)
	}
	if _, err := q.InsertCommand(ctx, db.InsertCommandParams{
		ID: task.NewID(), TaskID: taskID, Kind: contract.CommandStart, Args: jsonOf(args), Sender: d.Sender,
	}); err != nil {
		return err
	}
	return q.MakeRelayDue(ctx, taskID)
}

// placeTask finds or creates the project and the ticket of a task.
func placeTask(ctx context.Context, q *db.Queries, d task.NewTask) (projectID, ticketID string, err error) {
	if d.TicketID != "" {
		row, err := q.TicketByID(ctx, d.OrganizationID, d.TicketID)
		return row.Ticket.ProjectID, d.TicketID, unknown(err, "ticket_id", "ticket", d.TicketID)
	}
	if projectID, err = placeProject(ctx, q, d); err != nil {
		return "", "", err
	}
	ticket, err := q.InsertTicket(ctx, db.InsertTicketParams{
		ID: task.NewID(), ProjectID: projectID, Title: d.Ticket.Title, Description: d.Ticket.Description,
		TicketType: d.Ticket.TicketType, PhaseID: d.Ticket.PhaseID, Priority: d.Ticket.Priority,
		Context: objectOr(d.Ticket.Context),
	})
	return projectID, ticket.ID, err
}

func placeProject(ctx context.Context, q *db.Queries, d task.NewTask) (string, error) {
	if d.ProjectID != "" {
		row, err := q.ProjectByID(ctx, d.OrganizationID, d.ProjectID)
		return row.ID, unknown(err, "project_id", "project", d.ProjectID)
	}
	row, err := q.ProjectByRepo(ctx, d.OrganizationID, d.Repo)
	for n := 1; errors.Is(err, pgx.ErrNoRows) && d.Repo != ""; n++ {
		err = q.EnsureProject(ctx, db.EnsureProjectParams{
			ID: task.NewID(), OrganizationID: d.OrganizationID, Name: client.NumberedName(client.NameOfRepo(d.Repo), n), Repo: d.Repo,
			MaxSlots: d.ProjectSlots,
		})
		if err != nil {
			return "", err
		}
		row, err = q.ProjectByRepo(ctx, d.OrganizationID, d.Repo)
	}
	return row.ID, err
}

// openProject returns [task.CodeConflict] if the project is deleted. Until the transaction ends, the project cannot be
// deleted.
func openProject(ctx context.Context, q *db.Queries, id string) error {
	_, err := q.OpenProject(ctx, id)
	if errors.Is(err, pgx.ErrNoRows) {
		return task.Errorf(task.CodeConflict, "Project %s is deleted: it accepts no task.", id)
	}
	return err
}

func insertTask(ctx context.Context, q *db.Queries, d task.NewTask, p db.InsertTaskParams) error {
	if err := openProject(ctx, q, p.ProjectID); err != nil {
		return err
	}
	p.OrganizationID, p.Title, p.Description = d.OrganizationID, d.Title, d.Description
	p.TaskType, p.PhaseID, p.Priority, p.Mode = d.TaskType, d.PhaseID, d.Priority, d.Mode
	p.Agent, p.Provider, p.Continuous = d.Agent, d.Provider, d.Continuous
	p.MaxRetries, p.DeadlineAt = d.MaxRetries, d.DeadlineAt
	if p.ExecutionConfig == nil { // a fork has that of its source
		p.ExecutionConfig = objectOr(d.Execution)
	}
	p.Budget, p.UserID = jsonOf(d.Budget), orNull(d.UserID)
	var err error
	if p.ValidationRounds, err = roundsOf(ctx, q, d, p.ProjectID); err != nil {
		return err
	}
	if err := q.InsertTask(ctx, p); err != nil {
		return err
	}
	return q.TrimBus(ctx)
}

// claimKey stores the idempotency key. Concurrent requests with the same key wait for each other here.
func claimKey(ctx context.Context, q *db.Queries, d task.NewTask, taskID string) error {
	if d.IdempotencyKey == "" {
		return nil
	}
	n, err := q.InsertIdempotencyKey(ctx, db.InsertIdempotencyKeyParams{
		OrganizationID: d.OrganizationID, Key: d.IdempotencyKey, BodyHash: d.BodyHash, TaskID: taskID,
	})
	if err == nil && n == 0 {
		return errKeyTaken
	}
	return err
}

// unknown turns a missing row into an error that names the field with the unknown ID.
func unknown(err error, field, kind, id string) error {
	if errors.Is(err, pgx.ErrNoRows) {
		return task.Invalid(field, "Unknown %s %s.", kind, id)
	}
	return err
}
