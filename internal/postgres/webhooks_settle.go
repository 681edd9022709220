package postgres

import (
	"context"
	"errors"
	"time"

	"github.com/omoi-dev/omoi/internal/feedback"
	"github.com/omoi-dev/omoi/internal/ingest"
	"github.com/omoi-dev/omoi/internal/postgres/db"
	"github.com/omoi-dev/omoi/internal/task"
)

// mostAtOnce is the number of pull requests per step.
const mostAtOnce = 20

// SettleFeedback sends due feedback to agents or starts tasks for it. Each message or task is written in one
// transaction with the state of its feedback. An error for one pull request does not stop the others.
func (s *Store) SettleFeedback(ctx context.Context, how feedback.Policy) (feedback.Step, error) {
	var step feedback.Step
	if err := s.q.HeardFeedback(ctx); err != nil {
		return step, translate("update feedback from its messages", err)
	}
	due, err := s.q.DueFeedback(ctx, mostAtOnce)
	if err != nil {
		return step, translate("list due feedback", err)
	}
	var errs []error
	for _, root := range due {
		w := settling{how: how, root: root}
		err := s.inTx(ctx, func(q *db.Queries) error {
			w.q, w.done = q, feedback.Step{}
			return w.settle(ctx)
		})
		if err != nil {
			errs = append(errs, translate("settle the feedback of task "+root, err))
			continue
		}
		step.Sandboxes, step.Started = append(step.Sandboxes, w.done.Sandboxes...), append(step.Started, w.done.Started...)
		step.Dropped = append(step.Dropped, w.done.Dropped...)
	}
	return step, errors.Join(errs...)
}

// settling is the feedback of one pull request in its transaction.
type settling struct {
	q    *db.Queries
	how  feedback.Policy
	root string
	done feedback.Step

	held  []db.HeldFeedbackRow
	chain db.FeedbackChainRow
}

func (w *settling) settle(ctx context.Context) error {
	mine, err := w.q.TryFeedback(ctx, w.root)
	if err != nil || !mine {
		return err
	}
	if w.held, err = w.q.HeldFeedback(ctx, w.root); err != nil || len(w.held) == 0 {
		return err
	}
	if w.chain, err = w.q.FeedbackChain(ctx, w.root); err != nil {
		return err
	}
	listens, err := w.listens(ctx)
	if err != nil {
		return err
	}
	action, why := feedback.Decide(feedback.Case{
		On: feedback.Mode(w.chain.OnFeedback), Status: task.Status(w.chain.Task.Status), Listens: listens, Closed: pullClosed(w.chain.PullState),
		Rounds: w.chain.Started, MaxRounds: w.how.MaxRounds, Age: w.age(),
	})
	return w.act(ctx, action, why)
}

func (w *settling) act(ctx context.Context, action feedback.Action, why string) error {
	switch action {
	case feedback.ActionTell:
		return w.tell(ctx)
	case feedback.ActionStart:
		return w.start(ctx)
	case feedback.ActionDrop:
		w.done.Dropped = append(w.done.Dropped, w.chain.Task.ID)
		return w.q.SettleFeedback(ctx, db.SettleFeedbackParams{State: feedback.StateIgnored, Reason: why, Ids: w.ids()})
	case feedback.ActionWait:
	}
	return w.q.WaitFeedback(ctx, db.WaitFeedbackParams{Reason: why, Pause: w.pause(), Ids: w.ids()})
}

// age returns the age of the oldest waiting feedback.
func (w *settling) age() time.Duration { return time.Duration(w.held[0].Age * float64(time.Second)) }

// pause grows with the age of the feedback, so that feedback waiting for a user does not delay other pull requests. New
// feedback is due on its own.
func (w *settling) pause() time.Duration {
	const share, longest = 10, time.Minute
	return max(w.how.Pause, min(w.age()/share, longest))
}

// listens reports whether the agent will read a message. The sandbox stays locked, so that the answer stays valid.
func (w *settling) listens(ctx context.Context) (bool, error) {
	id := task.Deref(w.chain.Task.SandboxID)
	if id == "" {
		return false, nil
	}
	box, found, err := maybe(w.q.MessageSandbox(ctx, id))
	if !found || box.Ended || box.Open >= ingest.MaxOpenMessages {
		return false, err
	}
	if judges, err := w.judges(ctx, id); judges || err != nil {
		return false, err
	}
	left, err := w.q.AgentLeft(ctx, id)
	return !left, err
}

// judges reports whether the agent in a sandbox is a validator, whose changes are not published.
func (w *settling) judges(ctx context.Context, sandboxID string) (bool, error) {
	last, found, err := maybe(w.q.LastAttempt(ctx, w.chain.Task.ID))
	return found && last.Sandbox.ID == sandboxID && validates(last.Attempt), err
}

func (w *settling) ids() []string {
	return mapAll(w.held, func(r db.HeldFeedbackRow) string { return r.ID })
}

func (w *settling) text() string {
	entries := mapAll(w.held, func(r db.HeldFeedbackRow) feedback.Entry {
		return feedback.Entry{Note: r.Note, Text: r.Said, URL: r.Url}
	})
	return feedback.Text(w.chain.Repo, task.Deref(w.chain.Task.PullRequestNumber), entries)
}

// feedbackSender is the sender ID of messages and tasks.
const feedbackSender = "github"

func (w *settling) tell(ctx context.Context) error {
	box := task.Deref(w.chain.Task.SandboxID)
	m, err := w.q.InsertMessage(ctx, db.InsertMessageParams{
		ID: task.NewID(), SandboxID: box, Kind: ingest.MessageSystem, Content: w.text(), SenderKind: ingest.SenderSystem,
		SenderID: orNull(feedbackSender), State: ingest.MessageAccepted,
	})
	if err != nil {
		return err
	}
	w.done.Sandboxes = append(w.done.Sandboxes, box)
	return w.q.SettleFeedback(ctx, db.SettleFeedbackParams{State: feedback.StateSent, TaskID: &w.chain.Task.ID, MessageID: &m.ID, Ids: w.ids()})
}

// start creates a follow-up task on the branch and pull request of the completed task.
func (w *settling) start(ctx context.Context) error {
	f := followUp{q: w.q, root: w.root, chain: w.chain, text: w.text(), by: task.NewTask{Sender: feedbackSender}}
	id, err := f.create(ctx)
	if err != nil {
		return err
	}
	w.done.Started = append(w.done.Started, id)
	return w.q.SettleFeedback(ctx, db.SettleFeedbackParams{State: feedbackNames().stored(feedback.StateTaskCreated), TaskID: &id, Ids: w.ids()})
}
