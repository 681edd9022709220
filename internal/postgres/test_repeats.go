package postgres

import (
	"context"
	"encoding/json"

	"github.com/omoi-dev/omoi/internal/contract"
	"github.com/omoi-dev/omoi/internal/postgres/db"
	"github.com/omoi-dev/omoi/internal/sandbox"
	"github.com/omoi-dev/omoi/internal/task"
)

// BeginTestRepeat writes the intent of a sandbox in which the tests of a running attempt are repeated, on the host of the attempt.
// Each call writes another one; former is that of the call before, empty if there was none. [task.CodeGone] if the attempt has ended.
func (s *Store) BeginTestRepeat(ctx context.Context, of contract.SandboxRef) (id, former string, err error) {
	installation, err := s.Installation(ctx)
	if err != nil {
		return "", "", err
	}
	id = task.NewSandboxID()
	err = s.inTx(ctx, func(q *db.Queries) error {
		row, found, err := maybe(q.AttemptForTests(ctx, of.TaskID, of.Attempt))
		if err == nil && !found {
			err = task.Errorf(task.CodeGone, "Attempt %d of task %s has ended.", of.Attempt, of.TaskID)
		}
		if err != nil {
			return err
		}
		former = task.Deref(row.Attempt.TestsSandbox)
		box := row.Sandbox
		if err := q.InsertSandbox(ctx, db.InsertSandboxParams{
			ID: id, OrganizationID: box.OrganizationID, TaskID: box.TaskID, Attempt: box.Attempt,
			Provider: box.Provider, HostBound: box.HostBound, Machine: box.Machine, HostID: box.HostID,
			Labels: jsonOf(sandbox.Labels{Installation: installation, TaskID: of.TaskID, Attempt: of.Attempt, SandboxID: id}),
		}); err != nil {
			return err
		}
		if _, err := q.SaveSalvage(ctx, jsonOf(task.Salvage{Kind: task.SalvageNone}), id); err != nil { // no agent works in it
			return err
		}
		return q.SetTestsSandbox(ctx, db.SetTestsSandboxParams{SandboxID: id, TaskID: of.TaskID, Number: of.Attempt})
	})
	return id, former, translate("begin the repeat of the tests of task "+of.TaskID, err)
}

// SaveTestRepeat records the result of a repeat.
func (s *Store) SaveTestRepeat(ctx context.Context, of contract.SandboxRef, r task.TestRepeat) error {
	rows, err := s.q.SaveTestRepeat(ctx, db.SaveTestRepeatParams{TestRepeat: jsonOf(r), TaskID: of.TaskID, Number: of.Attempt})
	return translate("save the repeat of the tests of task "+of.TaskID, oneRow(rows, err))
}

// TestRepeat returns the newest result for a commit and a test command of the task; nil if there is none. A failure of the sandbox is
// not a result.
func (s *Store) TestRepeat(ctx context.Context, taskID, commit, command string) (*task.TestRepeat, error) {
	row, _, err := maybe(s.q.TestRepeat(ctx, db.TestRepeatParams{TaskID: taskID, Commit: commit, Command: command, Unavailable: task.TestsUnavailable}))
	return testRepeat(row, 0), translate("read the repeats of the tests of task "+taskID, err)
}

// testRepeat returns the stored result of an attempt; nil if there is none.
func testRepeat(stored json.RawMessage, attempt int) (r *task.TestRepeat) {
	_ = json.Unmarshal(stored, &r) // omoi wrote the value; null stays nil
	if r != nil {
		r.Attempt, r.Message = attempt, r.Words()
	}
	return r
}
