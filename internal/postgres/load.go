package postgres

import (
	"context"
	"slices"

	"github.com/omoi-dev/omoi/internal/contract"
	"github.com/omoi-dev/omoi/internal/event"
	"github.com/omoi-dev/omoi/internal/postgres/db"
	"github.com/omoi-dev/omoi/internal/task"
)

// loading is one LoadTask in its transaction.
type loading struct {
	q     *db.Queries
	ref   contract.TaskRef
	runID string
	// settings of the result
	settings contract.Settings

	row       db.Task
	repo      string
	holdsSlot bool
	kind      string // kind of the command
	again     bool   // this chain of runs claimed the command before
	rewind    string // checkpoint of the command, unless its attempt has begun; empty: none
	live      *contract.LiveAttempt
	last      *db.Attempt
	saved     bool // the work of the newest attempt is on the branch or saved, so that it can be pushed
}

// LoadTask claims the command for the chain of runs, makes the run the owner of the task, and returns the state of the
// task. An ended task is reopened for a retry, and for a reset of its workflow. A repeated call returns the same
// result. [task.CodeNotFound] if the task does not exist.
func (s *Store) LoadTask(ctx context.Context, ref contract.TaskRef, runID string) (contract.LoadedTask, error) {
	out, err := txResult(ctx, s, func(q *db.Queries) (contract.LoadedTask, error) {
		return (&loading{q: q, ref: ref, runID: runID, settings: s.cfg.Settings}).load(ctx)
	})
	return out, translate("load task "+ref.TaskID, err)
}

func (l *loading) load(ctx context.Context) (contract.LoadedTask, error) {
	found, err := l.q.TaskForUpdate(ctx, l.ref.TaskID)
	if err != nil {
		return contract.LoadedTask{}, err
	}
	l.row, l.repo = found.Task, found.Repo
	if l.holdsSlot, err = l.q.HoldsSlot(ctx, l.row.ID); err != nil {
		return contract.LoadedTask{}, err
	}
	claimed, err := l.claim(ctx)
	if err != nil || !claimed {
		return contract.LoadedTask{Lost: err == nil}, err
	}
	if l.ref.Continues != "" && l.ref.Continues == l.row.RunID {
		// the owner in the row stays, so that a repeated call returns the same
		if err := l.findLive(ctx); err != nil {
			return contract.LoadedTask{}, err
		}
		return contract.LoadedTask{Continues: true, Live: l.live}, nil
	}
	if task.Status(l.row.Status).Final() {
		settled, err := l.reopen(ctx)
		if err != nil || settled {
			return contract.LoadedTask{
				Settled: task.Status(l.row.Status), Project: l.row.ProjectID, Org: l.row.OrganizationID,
			}, err
		}
	}
	if err := l.settle(ctx, task.ReceiptCarriedOut, ""); err != nil {
		return contract.LoadedTask{}, err
	}
	if err := l.takeOver(ctx); err != nil {
		return contract.LoadedTask{}, err
	}
	return l.answer(), nil
}

// claim reports whether this chain of runs executes the command.
func (l *loading) claim(ctx context.Context) (bool, error) {
	got, claimed, err := maybe(l.q.ClaimCommand(ctx, db.ClaimCommandParams{
		FirstRunID: &l.ref.FirstRunID, ID: l.ref.CommandID, TaskID: l.ref.TaskID,
	}))
	l.kind, l.again = got.Kind, got.Was != nil
	l.rewind = got.Checkpoint
	return claimed, err
}

// reopen reopens an ended task. A task stays ended (settled is true) if it is completed and not rewound, if this run has
// ended it, or if it was cancelled before its start.
func (l *loading) reopen(ctx context.Context) (settled bool, err error) {
	status := task.Status(l.row.Status)
	stays := status == task.StatusCompleted && l.rewind == "" || l.row.RunID == l.runID || (l.kind == contract.CommandStart && !l.again)
	if !stays {
		if err := l.q.ReviveTask(ctx, l.row.ID); err != nil {
			return false, err
		}
		l.row.Status, l.row.BlockedReason, l.row.SandboxID = string(task.StatusPending), "", nil
		return false, nil
	}
	if err := l.settle(ctx, task.ReceiptTooLate, "The task is already "+l.row.Status+"."); err != nil {
		return false, err
	}
	return true, l.q.TakeOverTask(ctx, l.takenOver())
}

func (l *loading) settle(ctx context.Context, receipt task.Receipt, reason string) error {
	return l.q.SettleCommand(ctx, db.SettleCommandParams{
		State: string(receipt), Reason: reason, ID: l.ref.CommandID, TaskID: l.row.ID,
	})
}

func (l *loading) takenOver() db.TakeOverTaskParams {
	return db.TakeOverTaskParams{
		FirstRunID: l.ref.FirstRunID, RunID: l.runID, Status: l.row.Status, SandboxID: l.row.SandboxID, ID: l.row.ID,
	}
}

// takeOver makes this run the owner of the task and repairs what an interrupted run left: an attempt without a sandbox,
// a status without an attempt, a missing request for a slot.
func (l *loading) takeOver(ctx context.Context) error {
	if err := l.findLive(ctx); err != nil {
		return err
	}
	if l.live == nil && working(task.Status(l.row.Status)) {
		l.row.Status, l.row.SandboxID = string(task.StatusPending), nil
	}
	if err := l.q.TakeOverTask(ctx, l.takenOver()); err != nil {
		return err
	}
	if err := l.pointRelay(ctx); err != nil {
		return err
	}
	return l.askForSlot(ctx)
}

// working reports whether a task with this status must have a running attempt.
func working(s task.Status) bool {
	return s == task.StatusAssigned || s == task.StatusRunning || s == task.StatusValidating
}

// findLive finds the newest attempt, if it still runs, and ends all others.
func (l *loading) findLive(ctx context.Context) error {
	last, found, err := maybe(l.q.LastAttempt(ctx, l.row.ID))
	if !found {
		return err
	}
	l.last, l.saved = &last.Attempt, last.Attempt.HeadCommit != nil || unpublished(last).Head != ""
	if last.Attempt.EndedAt == nil && alive(last.Sandbox) {
		l.live = liveAttempt(last.Attempt, last.Sandbox)
		if l.live.Started, err = l.q.HasEvent(ctx, last.Sandbox.ID, event.AgentStarted); err != nil {
			return err
		}
	}
	end := openEnd(l.row.ID, task.ReasonSandboxLeft)
	if l.live != nil {
		end.But = last.Attempt.Number
	}
	return l.q.EndOpenAttempts(ctx, end)
}

// Unpublished returns the commits of the newest attempt that were saved and not pushed.
func (s *Store) Unpublished(ctx context.Context, taskID string) (task.Unpublished, error) {
	last, _, err := maybe(s.q.LastAttempt(ctx, taskID))
	return unpublished(last), translate("read the saved work of task "+taskID, err)
}

func unpublished(last db.LastAttemptRow) task.Unpublished {
	if validates(last.Attempt) { // changes of a validator are not published
		return task.Unpublished{}
	}
	return task.Attempt{
		Number: last.Attempt.Number, HeadCommit: last.Attempt.HeadCommit, Salvage: salvageRecord(last.Sandbox.Salvage),
	}.Unpublished()
}

// alive reports whether the sandbox is not being deleted, by the ledger.
func alive(row db.Sandbox) bool {
	made := []task.SandboxState{task.SandboxIntended, task.SandboxCreating, task.SandboxRunning}
	return row.DeletedAt == nil && slices.Contains(made, task.SandboxState(row.State))
}

func (l *loading) pointRelay(ctx context.Context) error {
	var current *string
	if l.live != nil {
		current = &l.live.SandboxID
	}
	return l.q.PointRelay(ctx, l.row.ID, current)
}

// askForSlot requests a slot by admission, unless the task holds one. A suspended task is queued again, because the new
// run does not know the reason of the suspension.
func (l *loading) askForSlot(ctx context.Context) error {
	if l.holdsSlot {
		return nil
	}
	if err := l.q.AskForSlot(ctx, l.row.ID); err != nil {
		return err
	}
	if err := admit(ctx, l.q, l.row.OrganizationID, l.row.ProjectID); err != nil {
		return err
	}
	var err error
	l.holdsSlot, err = l.q.HoldsSlot(ctx, l.row.ID)
	return err
}

func (l *loading) answer() contract.LoadedTask {
	return contract.LoadedTask{
		Reset: l.runID != l.ref.FirstRunID, HoldsSlot: l.holdsSlot,
		Title: titleOf(l.row), Project: l.row.ProjectID, Org: l.row.OrganizationID,
		Agent: l.row.Agent, Provider: l.row.Provider, HasRepo: l.repo != "",
		State: l.state(), Ordinal: l.row.Ordinal,
		Branch: task.Deref(l.row.BranchName), Base: task.Deref(l.row.BaseCommit), Live: l.live,
		PublishOnly: l.unpublished() && l.publishable(),
		Saved:       l.unpublished() && l.saved,
		Checkpoint:  l.rewind,
		ForkedFrom:  forkedFrom(l.row.ForkedFrom).String(),
		Settings:    l.settings,
	}
}

// unpublished reports whether the work was done and publishing failed. For a task that failed by a credential, the
// class of its last attempt counts.
func (l *loading) unpublished() bool {
	class := task.FailureClass(l.row.FailureClass)
	if class == task.ClassCredentials && l.last != nil {
		class = task.FailureClass(l.last.FailureClass)
	}
	return class == task.ClassPublish && l.live == nil && l.rewind == ""
}

// publishable reports whether that work may be published without another attempt. The work must be on the branch or
// saved, or the agent runtime pushes it itself. With validation, a validator must have approved the work.
func (l *loading) publishable() bool {
	if l.row.ValidationRounds > 0 {
		return l.last != nil && validates(*l.last)
	}
	return l.saved || task.RuntimeOf(l.row.Agent).SelfConnecting
}

func (l *loading) state() task.State {
	s := stateOf(l.row)
	if s.Rounds > 0 && l.rewind == "" && handed(l.row.Status, l.last) {
		s.Stage = task.StageValidate
	}
	if l.live != nil {
		s.SandboxID = l.live.SandboxID
	}
	return s
}

// titleOf returns the title, or the beginning of the description. The activity shortens the title and removes secrets.
func titleOf(row db.Task) string {
	const most = 200
	if row.Title != "" {
		return row.Title
	}
	return firstRunes(row.Description, most)
}
