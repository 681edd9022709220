package postgres

import (
	"context"
	"strings"

	"github.com/omoi-dev/omoi/internal/feedback"
	"github.com/omoi-dev/omoi/internal/postgres/db"
	"github.com/omoi-dev/omoi/internal/task"
)

// NoteFeedback stores feedback on a pull request of omoi. [Store.SettleFeedback] delivers the feedback after a delay.
// Duplicates, by delivery ID or content, change nothing.
func (s *Store) NoteFeedback(ctx context.Context, f feedback.Feedback) (feedback.Noted, error) {
	out, err := txResult(ctx, s, func(q *db.Queries) (feedback.Noted, error) { return noteFeedback(ctx, q, f) })
	return out, translate("store feedback", err)
}

func noteFeedback(ctx context.Context, q *db.Queries, f feedback.Feedback) (feedback.Noted, error) {
	about, found, err := maybe(q.FeedbackTask(ctx, db.FeedbackTaskParams{
		Repo: f.Repo, Numbers: append([]int{}, f.Numbers...), Branches: append([]string{}, f.Branches...),
	}))
	if !found {
		return feedback.Noted{State: feedback.StateIgnored, Reason: "not a pull request of omoi"}, err
	}
	out := feedback.Noted{TaskID: about.ID}
	if f.Kind == feedback.KindPull {
		out.State = feedback.StateNoted
		return out, q.SavePullState(ctx, db.SavePullStateParams{RootID: about.RootID, State: f.PullState, At: f.At})
	}
	// reopened, and omoi missed the webhook event
	if f.Kind != feedback.KindCheck && !f.PullClosed && pullClosed(about.PullState) {
		about.PullState = feedback.PullOpen
		if err := q.SavePullState(ctx, db.SavePullStateParams{RootID: about.RootID, State: feedback.PullOpen, At: f.At}); err != nil {
			return out, err
		}
	}
	if out.Reason = unwanted(f, about); out.Reason != "" {
		out.State = feedback.StateIgnored
		return out, nil
	}
	return holdFeedback(ctx, q, f, about)
}

func pullClosed(state string) bool {
	return state == feedback.PullClosed || state == feedback.PullMerged
}

// unwanted returns why feedback is ignored; empty: it is not.
func unwanted(f feedback.Feedback, about db.FeedbackTaskRow) string {
	switch {
	case feedback.Mode(about.OnFeedback) == feedback.ModeOff:
		return "feedback is off for the project (omoi project update --on-feedback)"
	case f.PullClosed || pullClosed(about.PullState):
		return "the pull request is closed"
	case f.Author != "" && strings.EqualFold(f.Author, f.Opener) && !about.OpenedByPerson:
		return "the author is the account that omoi uses"
	}
	return ""
}

// maxSubject is the number of characters of a check's name that are compared, because an index entry is limited to
// 2,704 bytes.
const maxSubject = 500

func holdFeedback(ctx context.Context, q *db.Queries, f feedback.Feedback, about db.FeedbackTaskRow) (feedback.Noted, error) {
	out := feedback.Noted{TaskID: about.ID}
	n, err := q.CountFeedback(ctx, about.RootID)
	if err != nil {
		return out, err
	}
	if n >= feedback.MaxPerPullRequest {
		out.State, out.Reason = feedback.StateIgnored, "the pull request reached the limit of stored feedback"
		return out, nil
	}
	taken, err := q.InsertFeedback(ctx, db.InsertFeedbackParams{
		ID: task.NewID(), Delivery: f.Delivery, Digest: f.Digest, RootID: about.RootID, Kind: string(f.Kind), Subject: firstRunes(storable(f.Subject), maxSubject),
		Commit: storable(f.Commit), Author: storable(f.Author), Note: storable(f.Note), Said: storable(f.Text), Url: storable(f.URL),
		Settle: f.Settle, Whole: f.Whole,
	})
	if err != nil {
		return out, err
	}
	if out.State = feedback.StatePending; taken == 0 {
		out.State = feedback.StateRepeated
	}
	return out, q.PruneFeedback(ctx, feedback.Window)
}

// TaskFeedback returns the feedback on the pull request of a task, and how omoi handled it.
func (s *Store) TaskFeedback(ctx context.Context, organizationID, taskID string) (feedback.TaskFeedback, error) {
	root, err := s.q.FeedbackRoot(ctx, organizationID, taskID)
	if err != nil {
		return feedback.TaskFeedback{}, missing(translate("read the feedback of task "+taskID, err), "There is no task %s.", taskID)
	}
	rows, err := s.q.ListFeedback(ctx, root.RootID)
	out := feedback.TaskFeedback{RootID: root.RootID, Follows: root.Follows, Followers: root.Followers, PullState: root.PullState}
	out.Items = mapAll(rows, func(r db.ListFeedbackRow) feedback.Item {
		return feedback.Item{
			Kind: feedback.Kind(r.Kind), Author: r.Author, Note: r.Note, URL: r.Url, State: feedbackNames().named(r.State), Reason: r.Reason,
			TaskID: r.TaskID, MessageID: r.MessageID, At: r.CreatedAt,
		}
	})
	return out, translate("read the feedback of task "+taskID, err)
}
