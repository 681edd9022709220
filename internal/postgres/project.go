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

// foreignRunError says that another run wrote the task last, so that the caller asks who is
// the current one, without a transaction open meanwhile.
type foreignRunError struct{ writer string }

func (e *foreignRunError) Error() string { return "written by run " + e.writer }

// SaveTaskState writes what the task's row shall say, unless a later projection of this run or
// another run's stands: then it answers Fenced. Where another run wrote last, current is
// asked whether this run is the current one, and if so the row is taken over. Repeating the
// newest projection changes nothing. An illegal change of status is [task.CodeConflict].
func (s *Store) SaveTaskState(
	ctx context.Context, p contract.Projection, runID string, current func(context.Context) (bool, error),
) (contract.Projected, error) {
	const tries = 3 // of taking a row over from yet another run
	conquered := runID
	for range tries {
		answer, err := s.project(ctx, p, runID, conquered)
		foreign, ok := errors.AsType[*foreignRunError](err)
		if !ok {
			return answer, translate("project task "+p.TaskID, err)
		}
		mine, err := current(ctx)
		if err != nil {
			return contract.Projected{}, fmt.Errorf("ask for the current run of task %s: %w", p.TaskID, err)
		}
		if !mine {
			return contract.Projected{Fenced: true}, nil
		}
		conquered = foreign.writer
	}
	return contract.Projected{}, task.Errorf(task.CodeUnavailable, "Several runs of task %s are writing at once.", p.TaskID)
}

// projecting is one Project in its transaction.
type projecting struct {
	q         *db.Queries
	cfg       Config
	p         contract.Projection
	runID     string
	conquered string // the run whose row may be written over; our own or another one

	row   db.Task
	wrote bool               // this projection changed the row
	holds bool               // the slot, from here on
	last  *db.LastAttemptRow // nil if none has begun

	agent, continuous object // what the agent told at its end; nil if it did not
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

// report counts and logs the end of a task and of an attempt, once each: a repeated projection has written nothing.
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

// classAttr is empty, so that the log leaves it out, where nothing failed.
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

// legal judges the change of status. A row that is taken over may stand anywhere but at
// completed, since the run that wrote it is not the one that goes on.
func (w *projecting) legal(ours bool) error {
	from := task.Status(w.row.Status)
	if task.CanMove(from, w.p.Status) || (!ours && from != task.StatusCompleted) {
		return nil
	}
	return task.Errorf(task.CodeConflict, "The task is %s; it cannot become %s.", from, w.p.Status)
}

func (w *projecting) write(ctx context.Context) error {
	for _, step := range []func(context.Context) error{
		w.readLast, w.readCompletions, w.writeTask, w.writeAttempts, w.endOthers, w.settleCommands, w.pointRelay, w.startCooldown, w.goOn, w.runGate,
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

// sandbox is the sandbox that the task's row shows: the current one, and after the end the last one.
func (w *projecting) sandbox() string {
	if w.p.SandboxID == "" && w.p.Status.Final() && w.last != nil {
		return w.last.Attempt.SandboxID
	}
	return w.p.SandboxID
}

// agentOf returns the ID of the agent in a sandbox: the one that it reported at its start, else the sandbox's.
func (w *projecting) agentOf(ctx context.Context, box string) (string, error) {
	if box == "" {
		return "", nil
	}
	id, err := w.q.StartedAgent(ctx, box, event.AgentStarted)
	return cmp.Or(storable(id), box), err
}

// queued reports whether the task waits for the gate from here on: it asks, it did already,
// or it is pending and nothing but a slot is missing.
func (w *projecting) queued() bool {
	if w.p.Status.Final() || w.holds {
		return false
	}
	idle := w.p.Status == task.StatusPending && w.p.Blocked == task.BlockedNone
	return idle || w.p.RequestSlot || (w.row.QueuedAt != nil && !w.p.ReleaseSlot)
}

// failureClass is that of the newest failure until an attempt goes beyond it.
func (w *projecting) failureClass() string {
	switch {
	case w.p.Class != task.ClassNone:
		return string(w.p.Class)
	case w.p.Status == task.StatusPending, w.p.Status == task.StatusNeedsRevision, w.p.Status == task.StatusFailed:
		return w.row.FailureClass
	}
	return ""
}

// endReason is why the task is over or suspended; a projection that does not say it leaves it as it stands.
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

// errorMessage is why the task failed or was cancelled; empty while it has not.
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

// errorText is the stored text behind the projection's failure, and instead where there is none.
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

// publishedLater takes back that attempts failed whose work a retry has published.
func (w *projecting) publishedLater(ctx context.Context) error {
	if w.p.Status != task.StatusCompleted {
		return nil
	}
	return w.q.PublishedLater(ctx, w.row.ID)
}

// forPeople is the part of a stored error text that is not for those who look into omoi.
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

// pointRelay relays the events of the sandbox that the task shows, or of the one that has
// been begun for it and is not shown yet.
func (w *projecting) pointRelay(ctx context.Context) error {
	current := orNull(w.p.SandboxID)
	if current == nil && w.p.Ended == nil && w.last != nil && w.last.Attempt.EndedAt == nil {
		current = &w.last.Attempt.SandboxID
	}
	return w.q.PointRelay(ctx, w.row.ID, current)
}

// runGate runs the gate if this projection changed what it looks at, and wherever the task
// waits: a gate that ran meanwhile has passed over our locked row.
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
