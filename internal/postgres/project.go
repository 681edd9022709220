package postgres

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"strings"

	"github.com/omoi-dev/omoi/internal/contract"
	"github.com/omoi-dev/omoi/internal/event"
	"github.com/omoi-dev/omoi/internal/postgres/db"
	"github.com/omoi-dev/omoi/internal/task"
)

// foreignRunError says that another run owns the task. The caller then asks Temporal for the current run while no
// transaction is open.
type foreignRunError struct{ writer string }

func (e *foreignRunError) Error() string { return "written by run " + e.writer }

// SaveTaskState writes a projection to the task's row. The result is Fenced if a later projection of this run, or one
// of another run, is stored. If another run wrote last, current reports whether this run is the current one, which then
// takes over the row. Repeating the newest projection changes nothing. An illegal change of status is
// [task.CodeConflict].
func (s *Store) SaveTaskState(
	ctx context.Context, p contract.Projection, runID string, current func(context.Context) (bool, error),
) (contract.Projected, error) {
	const tries = 3 // tries to take over the row from further runs
	conquered := runID
	for range tries {
		answer, err := s.project(ctx, p, runID, conquered)
		foreign, ok := errors.AsType[*foreignRunError](err)
		if !ok {
			return answer, translate("save the state of task "+p.TaskID, err)
		}
		mine, err := current(ctx)
		if err != nil {
			return contract.Projected{}, fmt.Errorf("read the current run of task %s: %w", p.TaskID, err)
		}
		if !mine {
			return contract.Projected{Fenced: true}, nil
		}
		conquered = foreign.writer
	}
	return contract.Projected{}, task.Errorf(task.CodeUnavailable, "Several workflow runs write task %s at the same time. Next: repeat in a moment", p.TaskID)
}

// projecting is one SaveTaskState in its transaction.
type projecting struct {
	q         *db.Queries
	cfg       Config
	p         contract.Projection
	runID     string
	conquered string // run whose row may be overwritten: this run or another one

	row   db.Task
	wrote bool               // this projection changed the row
	holds bool               // the task holds a slot after this projection
	last  *db.LastAttemptRow // nil before the first attempt

	agent, continuous object // data of the agent's completion events; nil without one
}

func (s *Store) project(ctx context.Context, p contract.Projection, runID, conquered string) (contract.Projected, error) {
	var w projecting
	out, err := txResult(ctx, s, func(q *db.Queries) (contract.Projected, error) {
		w = projecting{q: q, cfg: s.cfg, p: p, runID: runID, conquered: conquered}
		return w.project(ctx)
	})
	if err == nil && w.wrote {
		w.report(ctx)
	}
	return out, err
}

// report counts and logs the end of a task and of an attempt, once each: a repeated projection writes nothing.
func (w *projecting) report(ctx context.Context) {
	if w.p.Status.Final() && !task.Status(w.row.Status).Final() {
		w.cfg.taskEnded(ctx, w.p.TaskID, w.p.Status, task.FailureClass(w.failureClass()))
	}
	if end := w.p.Ended; end != nil {
		w.cfg.Counter.AttemptEnded(end.Outcome, end.Class)
		if !w.p.Status.Final() {
			w.cfg.Log.InfoContext(ctx, "attempt finished", slog.String("task_id", w.p.TaskID), slog.Int("attempt", end.Number),
				slog.String("outcome", end.Outcome), classAttr(end.Class))
		}
	}
}

// taskEnded counts and logs the end of a task.
func (c Config) taskEnded(ctx context.Context, id string, status task.Status, class task.FailureClass) {
	c.Counter.TaskEnded(status, class)
	c.Log.InfoContext(ctx, "task finished", slog.String("task_id", id), slog.String("status", string(status)), classAttr(class))
}

// classAttr returns an empty attribute without a failure, which the log omits.
func classAttr(class task.FailureClass) (attr slog.Attr) {
	if class != "" {
		attr = slog.String("failure_class", string(class))
	}
	return attr
}

func (w *projecting) project(ctx context.Context) (contract.Projected, error) {
	found, err := w.q.TaskForUpdate(ctx, w.p.TaskID)
	if err != nil {
		return contract.Projected{}, err
	}
	w.row = found.Task
	if w.holds, err = w.q.HoldsSlot(ctx, w.row.ID); err != nil {
		return contract.Projected{}, err
	}
	ours := w.row.RunID == w.runID
	switch {
	case !ours && w.row.RunID != w.conquered:
		return contract.Projected{}, &foreignRunError{writer: w.row.RunID}
	case ours && w.p.Ordinal < w.row.Ordinal:
		return contract.Projected{Fenced: true}, nil
	case ours && w.p.Ordinal == w.row.Ordinal && !w.p.Progress:
		return contract.Projected{HoldsSlot: w.holds}, nil
	}
	if err := w.legal(ours); err != nil {
		return contract.Projected{}, err
	}
	if err := w.write(ctx); err != nil {
		return contract.Projected{}, err
	}
	w.wrote = true
	return contract.Projected{HoldsSlot: w.holds}, nil
}

// legal checks the change of status. A run that takes over the row may change any status except completed, because the
// earlier run no longer writes.
func (w *projecting) legal(ours bool) error {
	from := task.Status(w.row.Status)
	if task.CanMove(from, w.p.Status) || (!ours && from != task.StatusCompleted) {
		return nil
	}
	return task.Errorf(task.CodeConflict, "The task is %s and cannot become %s.", from, w.p.Status)
}

func (w *projecting) write(ctx context.Context) error {
	for _, step := range []func(context.Context) error{
		w.readLast, w.readCompletions, w.writeTask, w.writeAttempts, w.endOthers, w.settleCommands, w.pointRelay, w.startCooldown, w.goOn, w.noteQuestion, w.runGate,
	} {
		if err := step(ctx); err != nil {
			return err
		}
	}
	return nil
}

func (w *projecting) readLast(ctx context.Context) error {
	last, found, err := maybe(w.q.LastAttempt(ctx, w.row.ID))
	if found {
		w.last = &last
	}
	return err
}

func (w *projecting) writeTask(ctx context.Context) error {
	message, err := w.errorMessage(ctx)
	if err != nil {
		return err
	}
	result, err := w.result(ctx)
	if err != nil {
		return err
	}
	box := w.sandbox()
	agent, err := w.agentOf(ctx, box)
	if err != nil {
		return err
	}
	if w.p.ReleaseSlot || w.p.Status.Final() {
		if err := w.q.ReleaseSlot(ctx, w.row.ID); err != nil {
			return err
		}
		w.holds = false
	}
	return w.q.SaveTaskState(ctx, db.SaveTaskStateParams{
		ID: w.row.ID, FirstRunID: w.p.FirstRunID, RunID: w.runID, Ordinal: w.p.Ordinal,
		Status: string(w.p.Status), Blocked: string(w.p.Blocked), Queued: w.queued(), SandboxID: box, AgentID: agent,
		Retries: w.p.Retries, Revisions: w.p.Revisions,
		FailureClass: w.failureClass(), ErrorMessage: message, EndReason: w.endReason(),
		Branch: w.p.Branch, Base: w.p.Base, PullUrl: w.p.PullURL, PullNumber: w.p.PullNumber,
		Result: result, Final: w.p.Status.Final(),
	})
}

// sandbox returns the sandbox in the task's row: the current one, after the end the last one.
func (w *projecting) sandbox() string {
	if w.p.SandboxID == "" && w.p.Status.Final() && w.last != nil {
		return w.last.Attempt.SandboxID
	}
	return w.p.SandboxID
}

// agentOf returns the ID that the agent in a sandbox reported at its start, else the sandbox ID.
func (w *projecting) agentOf(ctx context.Context, box string) (string, error) {
	if box == "" {
		return "", nil
	}
	id, err := w.q.StartedAgent(ctx, box, event.AgentStarted)
	return cmp.Or(storable(id), box), err
}

// queued reports whether the task waits for admission: it requests a slot, was queued already, or is pending with no
// other reason.
func (w *projecting) queued() bool {
	if w.p.Status.Final() || w.holds {
		return false
	}
	idle := w.p.Status == task.StatusPending && w.p.Blocked == task.BlockedNone
	return idle || w.p.RequestSlot || (w.row.QueuedAt != nil && !w.p.ReleaseSlot)
}

// failureClass returns the class of the newest failure, until an attempt progresses beyond that failure.
func (w *projecting) failureClass() string {
	switch {
	case w.p.Class != task.ClassNone:
		return string(w.p.Class)
	case w.p.Status == task.StatusPending, w.p.Status == task.StatusNeedsRevision, w.p.Status == task.StatusFailed:
		return w.row.FailureClass
	}
	return ""
}

// endReason returns why the task is over or suspended. A projection without a reason keeps the stored one.
func (w *projecting) endReason() string {
	switch reason := w.p.EndReason.Stored(); {
	case !w.p.Status.Final() && w.p.Blocked == task.BlockedNone:
		return ""
	case reason == "" && string(w.p.Status) == w.row.Status && string(w.p.Blocked) == w.row.BlockedReason:
		return string(w.row.EndReason)
	default:
		return storable(reason)
	}
}

// errorMessage returns why the task failed or was cancelled; empty for other states.
func (w *projecting) errorMessage(ctx context.Context) (string, error) {
	switch {
	case w.p.Status == task.StatusCancelled:
		return storable("Task cancelled: " + w.p.Reason), nil
	case w.p.Status != task.StatusFailed && w.p.Blocked != task.BlockedProviderLimit:
		return "", nil
	case w.p.ErrorID == "":
		return storable(cmp.Or(w.p.Reason, failedAs(w.p.Class))), nil
	}
	return w.errorText(ctx, w.p.Reason)
}

func failedAs(class task.FailureClass) string {
	if class == task.ClassNone {
		return "The task failed."
	}
	return "The task failed (" + string(class) + ")."
}

// errorText returns the stored text of the failure, or instead if there is none.
func (w *projecting) errorText(ctx context.Context, instead string) (string, error) {
	const most = 4000
	if w.p.ErrorID == "" {
		return storable(instead), nil
	}
	text, found, err := maybe(w.q.TextByID(ctx, w.p.ErrorID))
	if !found {
		return storable(instead), err
	}
	if w.p.Quotes {
		text = instead + ": " + text
	}
	return firstRunes(text, most), nil
}

func (w *projecting) writeAttempts(ctx context.Context) error {
	if (w.p.Status == task.StatusAssigned || w.p.Status == task.StatusValidating) && w.p.SandboxID != "" {
		if err := w.q.AssignAttempt(ctx, w.row.ID, w.p.SandboxID); err != nil {
			return err
		}
	}
	if err := w.publishedLater(ctx); err != nil || w.p.Ended == nil {
		return err
	}
	reason, err := w.errorText(ctx, w.p.Ended.Reason)
	if err != nil {
		return err
	}
	if w.last != nil {
		if err := meter(ctx, w.q, []string{w.last.Attempt.SandboxID}, nil); err != nil {
			return err
		}
	}
	return w.q.EndAttempt(ctx, db.EndAttemptParams{
		TaskID: w.row.ID, Number: w.p.Ended.Number, Outcome: w.p.Ended.Outcome,
		FailureClass: string(w.p.Ended.Class), EndReason: storable(w.p.Ended.EndReason.Stored()), Reason: forPeople(reason), StopReason: cmp.Or(w.p.Ended.Idle, w.stopReason()),
	})
}

// publishedLater clears the failure of attempts whose work a retry has published.
func (w *projecting) publishedLater(ctx context.Context) error {
	if w.p.Status != task.StatusCompleted {
		return nil
	}
	return w.q.PublishedLater(ctx, w.row.ID)
}

// forPeople returns the first paragraph of an error text; the others are for operators.
func forPeople(text string) string {
	said, _, _ := strings.Cut(text, "\n\n")
	return said
}

func (w *projecting) settleCommands(ctx context.Context) error {
	for _, c := range w.p.Settle {
		err := w.q.SettleCommand(ctx, db.SettleCommandParams{
			State: string(c.Receipt), Reason: storable(c.Reason), ID: c.CommandID, TaskID: w.row.ID,
		})
		if err != nil {
			return err
		}
	}
	return nil
}

// pointRelay selects the sandbox whose events are relayed: the one in the task's row, else the one of the open attempt.
func (w *projecting) pointRelay(ctx context.Context) error {
	current := orNull(w.p.SandboxID)
	if current == nil && w.p.Ended == nil && w.last != nil && w.last.Attempt.EndedAt == nil {
		current = &w.last.Attempt.SandboxID
	}
	return w.q.PointRelay(ctx, w.row.ID, current)
}

// runGate runs admission if this projection changed its inputs, and for each queued task: an admission that ran
// meanwhile skipped the locked row.
func (w *projecting) runGate(ctx context.Context) error {
	if !w.p.Status.Final() && !w.p.ReleaseSlot && w.row.QueuedAt == nil && !w.queued() {
		return nil
	}
	if err := admit(ctx, w.q, w.row.OrganizationID, w.row.ProjectID); err != nil {
		return err
	}
	var err error
	w.holds, err = w.q.HoldsSlot(ctx, w.row.ID)
	return err
}
