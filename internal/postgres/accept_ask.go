package postgres

import (
	"cmp"
	"context"

	"github.com/omoi-dev/omoi/internal/event"
	"github.com/omoi-dev/omoi/internal/postgres/db"
	"github.com/omoi-dev/omoi/internal/task"
)

// AskTask checks a command against the stored state of its task. The command and the due relay row are written in the
// same transaction.
//
// Errors: [task.CodeNotFound] if the organization has no such task; [task.CodeForbidden] if the sender is a sandbox of
// another task; [task.CodeConflict] if the state of the task does not allow the command. A late command of the legacy
// API is stored with its receipt instead. A repeated cancel, fail or retry returns the pending command, which
// must have the same feedback.
func (s *Store) AskTask(ctx context.Context, a task.CommandRequest) (task.CommandResult, error) {
	asked, err := txResult(ctx, s, func(q *db.Queries) (task.CommandResult, error) {
		asked, _, err := askTask(ctx, q, a)
		return asked, err
	})
	return asked, translate("ask for "+a.Kind+" of task "+a.TaskID, err)
}

// askTask is [Store.AskTask] within a transaction. The second result is the task before the command.
func askTask(ctx context.Context, q *db.Queries, a task.CommandRequest) (task.CommandResult, db.Task, error) {
	row, err := q.LockTask(ctx, a.OrganizationID, a.TaskID)
	if err != nil {
		return task.CommandResult{}, row, missing(translate("lock the task", err), "There is no task %s.", a.TaskID)
	}
	asked, err := judgeAsk(ctx, q, a, row)
	if err == nil && row.QueuedAt != nil { // an admission that ran meanwhile skipped the locked row
		err = admit(ctx, q, row.OrganizationID, row.ProjectID)
	}
	return asked, row, err
}

func judgeAsk(ctx context.Context, q *db.Queries, a task.CommandRequest, row db.Task) (task.CommandResult, error) {
	attempts, err := q.ReadAttempts(ctx, event.AgentRestored, a.TaskID)
	if err != nil {
		return task.CommandResult{}, err
	}
	if err := ownSandbox(&a, row, attempts); err != nil {
		return task.CommandResult{}, err
	}
	if asked, before, err := spokenBefore(ctx, q, a, row, newestOf(attempts)); err != nil || before {
		return asked, err
	}
	if err := continued(a, newestOf(attempts)); err != nil {
		return task.CommandResult{}, err
	}
	success, err := q.SuccessAccepted(ctx, a.TaskID)
	if err != nil {
		return task.CommandResult{}, err
	}
	effects, err := task.Judge(judgedState(row, success, newestOf(attempts)), a)
	if err != nil {
		return task.CommandResult{}, err
	}
	if asked, before, err := failedBefore(ctx, q, a, effects.Receipt); err != nil || before {
		return asked, err
	}
	if err := rewindable(ctx, q, a); err != nil {
		return task.CommandResult{}, err
	}
	if a.Kind == task.CommandRetry {
		if err := openProject(ctx, q, row.ProjectID); err != nil {
			return task.CommandResult{}, err
		}
	}
	asked := task.CommandResult{Status: effects.Leads}
	if asked.Command, err = storeCommand(ctx, q, a, effects.Receipt); err != nil {
		return asked, err
	}
	if a.Kind == task.CommandRetry && row.BlockedReason == string(task.BlockedQuestion) {
		err = q.CloseQuestion(ctx, "The task continued without an answer.", a.TaskID)
	}
	if err == nil && effects.Leads == task.StatusCompleted {
		asked.Unblocked, err = q.Unblocked(ctx, a.TaskID)
	}
	return asked, err
}

// ownSandbox returns [task.CodeForbidden] for a command from a sandbox of another task. A verdict may come from another
// sandbox if an API key sent it, or if authentication is disabled. If the task has validation, only a validator among
// its own sandboxes may send a verdict.
func ownSandbox(a *task.CommandRequest, row db.Task, attempts []db.ReadAttemptsRow) error {
	if a.SandboxID == "" {
		return nil
	}
	for _, r := range attempts {
		if r.Attempt.SandboxID != a.SandboxID {
			continue
		}
		a.Attempt = a.Kind == task.CommandVerdict
		if a.Attempt && row.ValidationRounds > 0 && !validates(r.Attempt) {
			return task.Errorf(task.CodeForbidden, "Sandbox %s did the work of task %s: only its validator may give the verdict.", a.SandboxID, a.TaskID)
		}
		return nil
	}
	if a.Kind == task.CommandVerdict && !a.Own {
		return nil
	}
	return task.Errorf(task.CodeForbidden, "Task %s does not belong to sandbox %s.", a.TaskID, a.SandboxID)
}

// newestOf returns the newest attempt; nil before the first.
func newestOf(attempts []db.ReadAttemptsRow) *db.Attempt {
	if len(attempts) == 0 {
		return nil
	}
	return &attempts[len(attempts)-1].Attempt
}

// storeCommand writes the command for the relay, or the receipt of a command that is too late or rejected.
func storeCommand(ctx context.Context, q *db.Queries, a task.CommandRequest, r task.Receipt) (task.Command, error) {
	if r == task.ReceiptTooLate || r == task.ReceiptRefused {
		return storeSettled(ctx, q, a, r, "the state of the task no longer allowed it")
	}
	if !a.Wire { // return the pending command of the same kind, if any
		if open, under, err := maybe(q.OpenCommand(ctx, a.TaskID, a.Kind)); err != nil || under {
			return commandRecord(open), cmp.Or(err, sameAsk(open, a))
		}
	}
	row, err := q.InsertCommand(ctx, db.InsertCommandParams{
		ID: task.NewID(), TaskID: a.TaskID, Kind: a.Kind, Args: objectOr(a.Args), Sender: a.Sender,
	})
	if err != nil {
		return task.Command{}, err
	}
	return commandRecord(row), q.MakeRelayDue(ctx, a.TaskID)
}

func storeSettled(ctx context.Context, q *db.Queries, a task.CommandRequest, r task.Receipt, reason string) (task.Command, error) {
	row, err := q.InsertSettledCommand(ctx, db.InsertSettledCommandParams{
		ID: task.NewID(), TaskID: a.TaskID, Kind: a.Kind, Args: objectOr(a.Args), Sender: a.Sender, State: string(r), Reason: reason,
	})
	return commandRecord(row), err
}

// failedBefore returns the failure that the sandbox reported earlier and the workflow has not applied yet. A repeated
// failure returns that command; a success after it is too late.
func failedBefore(ctx context.Context, q *db.Queries, a task.CommandRequest, r task.Receipt) (asked task.CommandResult, before bool, err error) {
	if a.Kind != task.CommandComplete || r != task.ReceiptCarriedOut {
		return asked, false, nil
	}
	row, open, err := maybe(q.OpenCommand(ctx, a.TaskID, a.Kind))
	if !open || saysOK(row) || readObject(row.Args).text("sandbox_id") != a.SandboxID {
		return asked, false, err
	}
	asked = task.CommandResult{Command: commandRecord(row), Status: task.StatusFailed}
	if a.OK {
		asked.Command, err = storeSettled(ctx, q, a, task.ReceiptTooLate, "The sandbox has already reported a failure.")
	}
	return asked, true, err
}

// judgedState returns the state of a task for [task.Judge]. A success that was accepted since the attempt began means
// that its work is being published or validated, which the row does not show yet. The sandbox comes from the attempt,
// because an agent can send commands before the row names its sandbox.
func judgedState(row db.Task, success db.SuccessAcceptedRow, last *db.Attempt) task.State {
	s := stateOf(row)
	if row.QueuedAt == nil { // otherwise the column holds why the task is queued
		s.Blocked = task.BlockedReason(row.BlockedReason)
	}
	if last != nil && last.EndedAt == nil {
		s.SandboxID = last.SandboxID
	}
	s.Stage = judgedStage(row, success, last)
	return s
}

// stateOf returns the state in a task's row, without the blocked reason.
func stateOf(row db.Task) task.State {
	return task.State{
		Status: task.Status(row.Status), Continuous: row.Continuous, Rounds: row.ValidationRounds, Round: roundsSoFar(row.Result),
		Attempts: row.AttemptCount, Retries: row.RetryCount, MaxRetries: row.MaxRetries,
		Revisions: row.RevisionCount, Replacements: row.ReplacementCount,
	}
}

func judgedStage(row db.Task, success db.SuccessAcceptedRow, last *db.Attempt) task.Stage {
	open, validated := !task.Status(row.Status).Final(), row.ValidationRounds > 0
	reviewed := validated && handed(row.Status, last)
	// success belongs to the attempt before the validator
	stale := reviewed && last != nil && last.EndedAt == nil && validates(*last)
	switch {
	case open && (success.Passed || success.Completed && !validated):
		return task.StagePublish
	case open && success.Completed && !stale:
		return task.StageSubmit
	case reviewed:
		return task.StageValidate
	}
	return task.StageWork
}

// Command returns a command of an organization's task.
func (s *Store) Command(ctx context.Context, organizationID, id string) (task.Command, error) {
	row, err := s.q.CommandByID(ctx, organizationID, id)
	return commandRecord(row), missing(translate("read command "+id, err), "There is no command %s.", id)
}
