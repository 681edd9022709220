package postgres

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"

	"github.com/omoi-dev/omoi/internal/candidate"
	"github.com/omoi-dev/omoi/internal/feedback"
	"github.com/omoi-dev/omoi/internal/postgres/db"
	"github.com/omoi-dev/omoi/internal/task"
)

// followUp is a new task that continues the branch and the pull request of a completed one.
type followUp struct {
	q     *db.Queries
	root  string              // first task of the branch
	chain db.FeedbackChainRow // newest task of the branch
	text  string              // what its agent should change
	by    task.NewTask        // sender, user, idempotency key and trace of the new task
	user  bool                // a user asks for it
}

// create stores the task.
func (f followUp) create(ctx context.Context) (string, error) {
	d, err := f.draft(ctx)
	if err != nil {
		return "", err
	}
	id, before := task.NewID(), f.chain.Task
	if err := insertTask(ctx, f.q, d, db.InsertTaskParams{ID: id, ProjectID: before.ProjectID, TicketID: before.TicketID}); err != nil {
		return "", err
	}
	if err := f.q.CopyContract(ctx, id, before.ID); err != nil {
		return "", err
	}
	err = f.q.GoOnWith(ctx, db.GoOnWithParams{UserRequested: f.user, ID: id, Follows: before.ID})
	if err != nil {
		return "", err
	}
	err = f.q.InsertFollowUp(ctx, db.InsertFollowUpParams{TaskID: id, RootID: f.root, Follows: before.ID, Round: f.chain.Rounds + 1})
	if err != nil {
		return "", err
	}
	if err := claimKey(ctx, f.q, d, id); err != nil {
		return "", err
	}
	if err := startTask(ctx, f.q, d, id); err != nil {
		return "", err
	}
	return id, admit(ctx, f.q, d.OrganizationID, before.ProjectID)
}

// draft returns a new task with the settings of the completed one.
func (f followUp) draft(ctx context.Context) (task.NewTask, error) {
	first, err := f.q.TaskText(ctx, f.root)
	if err != nil {
		return task.NewTask{}, err
	}
	t, d := f.chain.Task, f.by
	d.UserID = cmp.Or(d.UserID, task.Deref(t.UserID))
	d.OrganizationID, d.Title, d.Description = t.OrganizationID, feedback.ReviseTitle(first.Title), feedback.ReviseDescription(first.Description, f.text)
	d.TaskType, d.PhaseID, d.Priority, d.Mode = t.TaskType, t.PhaseID, t.Priority, t.Mode
	d.Agent, d.Provider, d.Continuous, d.MaxRetries = t.Agent, t.Provider, t.Continuous, t.MaxRetries
	d.Validation = task.NewValidation{Asked: new(t.ValidationRounds > 0), Rounds: t.ValidationRounds}
	d.Execution = feedback.MayChangeNothing(candidate.Unmark(t.ExecutionConfig))
	if err := json.Unmarshal(t.Budget, &d.Budget); err != nil {
		return d, fmt.Errorf("read the budget: %w", err)
	}
	return d, nil
}

// ContinueTask creates a task with the settings, the branch and the pull request of a completed task. Its agent gets text. by has the
// organization, the sender, the user and the idempotency key. [task.CodeConflict] if the task is not completed, or if another one
// continues its work already.
func (s *Store) ContinueTask(ctx context.Context, taskID string, by task.NewTask, text string) (task.Accepted, error) {
	found, err := s.repeated(ctx, by)
	if err != nil || found.Repeated {
		return found, err
	}
	made, err := txResult(ctx, s, func(q *db.Queries) (task.Accepted, error) { return continueTask(ctx, q, taskID, by, text) })
	if errors.Is(err, errKeyTaken) || task.CodeOf(err) == task.CodeConflict { // perhaps by the same request, sent twice at once
		if found, failed := s.repeated(ctx, by); failed != nil || found.Repeated {
			return found, failed
		}
	}
	return made, translate("continue task "+taskID, err)
}

// FollowUpOfKey returns the task that an earlier request with the idempotency key of by created to continue a task or one that continues
// it, if any. [task.CodeConflict] if the text was another one.
func (s *Store) FollowUpOfKey(ctx context.Context, taskID string, by task.NewTask) (task.Accepted, error) {
	row, found, err := maybe(s.q.IdempotencyKey(ctx, by.OrganizationID, by.IdempotencyKey))
	if err != nil || !found {
		return task.Accepted{}, translate("look up the idempotency key", err)
	}
	of, err := s.q.FeedbackRoot(ctx, by.OrganizationID, taskID)
	if err != nil || !slices.Contains(of.Followers, row.TaskID) {
		return task.Accepted{}, translate("read the task", err)
	}
	return s.repeated(ctx, by)
}

// CommandOfKey returns the retry or verdict with feedback that an earlier request with an idempotency key sent, if any. [task.CodeConflict]
// if the key was used with other feedback.
func (s *Store) CommandOfKey(ctx context.Context, taskID, key, text string) (c task.Command, found bool, err error) {
	row, found, err := maybe(s.q.CommandOfKey(ctx, taskID, key))
	if found && readObject(row.Args).text("feedback") != text {
		return c, false, &task.Error{
			Code: task.CodeConflict, Kind: task.KindKeyReused, Field: "Idempotency-Key",
			Message: "The Idempotency-Key was used with another body, for command " + row.ID + ". Next: use a new key",
		}
	}
	return commandRecord(row), found, translate("look up the idempotency key", err)
}

func continueTask(ctx context.Context, q *db.Queries, taskID string, by task.NewTask, text string) (task.Accepted, error) {
	of, err := q.FeedbackRoot(ctx, by.OrganizationID, taskID)
	if err != nil {
		return task.Accepted{}, missing(translate("read the task", err), "There is no task %s.", taskID)
	}
	if err := q.LockFollowUps(ctx, of.RootID); err != nil {
		return task.Accepted{}, err
	}
	f := followUp{q: q, root: of.RootID, by: by, user: true, text: text}
	if f.chain, err = q.FeedbackChain(ctx, f.root); err != nil {
		return task.Accepted{}, err
	}
	if err := mayContinue(f.chain, taskID); err != nil {
		return task.Accepted{}, err
	}
	id, err := f.create(ctx)
	return task.Accepted{TaskID: id, TicketID: f.chain.Task.TicketID}, err
}

// mayContinue refuses a task that is not the newest of its branch, has no branch, or whose pull request is closed.
func mayContinue(newest db.FeedbackChainRow, taskID string) error {
	var why string
	switch t := newest.Task; {
	case t.ID != taskID:
		why = "Task " + t.Key + " continues its work already. Next: send the comments to that task"
	case task.Status(t.Status) != task.StatusCompleted:
		why = "It is " + t.Status + ", not completed. Next: repeat the request"
	case t.BranchName == nil:
		why = "It has no branch. Next: create a task"
	case pullClosed(newest.PullState):
		why = "Its pull request is " + newest.PullState + ". Next: create a task"
	default:
		return nil
	}
	return task.Errorf(task.CodeConflict, "Task %s cannot be continued: %s", taskID, why).WithKind(task.KindInvalidState)
}
