package postgres

import (
	"cmp"
	"context"
	"encoding/json"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/omoi-dev/omoi/api/client"
	"github.com/omoi-dev/omoi/internal/event"
	"github.com/omoi-dev/omoi/internal/ingest"
	"github.com/omoi-dev/omoi/internal/postgres/db"
	"github.com/omoi-dev/omoi/internal/task"
)

// Bounds of a question. What exceeds them is cut off.
const (
	maxQuestion = 16_000 // runes
	maxOptions  = 20
	maxOption   = 500 // runes
)

// queueQuestion stores the question of a waiting agent, if it asks one.
func queueQuestion(ctx context.Context, q *db.Queries, row eventRow, d event.Delivery) {
	text := firstRunes(strings.TrimSpace(d.Question), maxQuestion)
	if text == "" {
		return
	}
	kind := task.QuestionText
	if d.Asks == task.QuestionPermission {
		kind = d.Asks
	}
	options := []string{}
	for _, o := range d.Options[:min(len(d.Options), maxOptions)] {
		options = append(options, firstRunes(o, maxOption))
	}
	box := row.sandbox.id
	_ = q.ReplaceQuestion(ctx, db.ReplaceQuestionParams{Reason: "The agent asked something else.", SandboxID: box, Text: text})
	_ = q.AskQuestion(ctx, db.AskQuestionParams{
		ID: task.DerivedID("question", box, strconv.FormatInt(row.sequence, 10)), SandboxID: box, Sequence: row.sequence,
		Kind: kind, Text: text, Options: jsonOf(options),
	})
}

// AnswerQuestion stores the first answer to a question. A suspended task resumes, and a waiting agent gets the answer as a message;
// the next attempt gets it in any case. If the question is not open, the error is [task.CodeConflict] and the result is the question
// with the first answer.
func (s *Store) AnswerQuestion(ctx context.Context, a task.Answer) (task.Question, error) {
	out, err := txResult(ctx, s, func(q *db.Queries) (task.Question, error) { return s.answerQuestion(ctx, q, a) })
	return out, translate("answer question "+a.QuestionID, err)
}

func (s *Store) answerQuestion(ctx context.Context, q *db.Queries, a task.Answer) (task.Question, error) {
	asked, err := q.QuestionByID(ctx, a.OrganizationID, a.QuestionID)
	if err != nil {
		return task.Question{}, missing(err, "There is no question %s.", a.QuestionID)
	}
	row, err := q.LockTask(ctx, a.OrganizationID, asked.TaskID)
	if err != nil {
		return task.Question{}, err
	}
	listener, err := listenerOf(ctx, q, row.ID)
	if err != nil {
		return task.Question{}, err
	}
	answered, err := q.AnswerQuestion(ctx, db.AnswerQuestionParams{
		Answer: a.Text, AnsweredBy: a.By, Channel: task.ChannelAPI, ID: asked.ID,
	})
	if err != nil {
		return task.Question{}, err
	}
	if asked, err = q.QuestionByID(ctx, a.OrganizationID, asked.ID); err != nil {
		return task.Question{}, err
	}
	out := s.questionRecord(asked)
	if answered == 0 {
		return out, closedQuestion(out)
	}
	return out, deliverAnswer(ctx, q, row, listener, a)
}

// closedQuestion returns the error of an answer that came too late.
func closedQuestion(q task.Question) error {
	return task.Errorf(task.CodeConflict, "The question is %s already. Next: omoi show %s", q.State, q.TaskID).WithKind(task.KindQuestionClosed)
}

// listenerOf locks the sandbox of the running attempt and returns its ID; empty: no attempt runs. The sandbox is locked before the
// question, as ingest does.
func listenerOf(ctx context.Context, q *db.Queries, taskID string) (string, error) {
	last, found, err := maybe(q.LastAttempt(ctx, taskID))
	if !found || last.Attempt.EndedAt != nil {
		return "", err
	}
	box, err := q.MessageSandbox(ctx, last.Sandbox.ID)
	if box.Ended {
		return "", err
	}
	return last.Sandbox.ID, err
}

// deliverAnswer tells the running agent, or resumes a task that is suspended for the question.
func deliverAnswer(ctx context.Context, q *db.Queries, row db.Task, listener string, a task.Answer) error {
	if listener != "" {
		_, _, err := putMessage(ctx, q, ingest.NewMessage{
			SandboxID: listener, Kind: ingest.MessageUser, Content: a.Text, SenderKind: ingest.SenderPerson, SenderID: a.By,
		})
		return err
	}
	if row.BlockedReason != string(task.BlockedQuestion) || row.QueuedAt != nil {
		return nil
	}
	return q.ResumeTask(ctx, db.ResumeTaskParams{Reason: questionAnswered, Sender: a.By, ID: row.ID})
}

// questionAnswered is the reason of the command that resumes a task.
const questionAnswered = "the question was answered"

// answerByMessage answers the open question of the agent to which a user sends a message. A message that the agent will not read is no
// answer.
func answerByMessage(ctx context.Context, q *db.Queries, m ingest.NewMessage, refusal task.Code) error {
	if refusal != "" || m.Kind != ingest.MessageUser || m.SenderKind != ingest.SenderPerson {
		return nil
	}
	return q.AnswerBySandbox(ctx, db.AnswerBySandboxParams{
		Answer: m.Content, AnsweredBy: m.SenderID, Channel: task.ChannelMessage, SandboxID: m.SandboxID,
	})
}

// noteQuestion cancels the question of a task that has ended, and records that a task is suspended for its question. If the question
// was settled meanwhile, the task resumes.
func (w *projecting) noteQuestion(ctx context.Context) error {
	if w.p.Status.Final() {
		return closeQuestion(ctx, w.q, w.row.ID, w.p.Status)
	}
	if w.p.Blocked != task.BlockedQuestion {
		return nil
	}
	open, err := w.q.SuspendQuestion(ctx, w.row.ID)
	if err != nil || open > 0 {
		return err
	}
	return w.q.ResumeTask(ctx, db.ResumeTaskParams{Reason: questionAnswered, Sender: sender, ID: w.row.ID})
}

func closeQuestion(ctx context.Context, q *db.Queries, taskID string, status task.Status) error {
	return q.CloseQuestion(ctx, "The task is "+string(status)+".", taskID)
}

// ExpireQuestions fails tasks whose question nobody answered in time.
func (s *Store) ExpireQuestions(ctx context.Context) error {
	if s.cfg.QuestionExpiry <= 0 {
		return nil
	}
	const reason = "Nobody answered the question of the agent in time."
	err := s.inTx(ctx, func(q *db.Queries) error {
		ids, err := q.ExpireQuestions(ctx, reason, s.cfg.QuestionExpiry.Seconds())
		for _, id := range ids {
			err = cmp.Or(err, q.AddFail(ctx, db.AddFailParams{TaskID: id, Reason: reason, Sender: sender}))
		}
		return err
	})
	return translate("expire questions", err)
}

// Questions lists questions of an organization, newest first.
func (s *Store) Questions(ctx context.Context, organizationID string, query client.QuestionQuery) (client.Page[task.Question], error) {
	page, err := pageOf(query.PageRequest, func(p place) ([]db.Question, error) {
		return s.q.Questions(ctx, db.QuestionsParams{
			OrganizationID: organizationID, TaskIds: query.TaskIDs, States: query.States, BeforeAt: p.at, BeforeID: p.id, MaxRows: p.rows,
		})
	}, s.questionRecord, func(q task.Question) (time.Time, string) { return q.AskedAt, q.ID })
	return page, translate("list questions", err)
}

// addQuestions adds the open questions.
func (s *Store) addQuestions(ctx context.Context, tasks []task.Task) error {
	of := map[string]*task.Task{}
	ids := []string{}
	for n, t := range tasks {
		if !t.Status.Final() {
			of[t.ID], ids = &tasks[n], append(ids, t.ID)
		}
	}
	if len(ids) == 0 {
		return nil
	}
	rows, err := s.q.OpenQuestions(ctx, ids)
	for _, row := range rows {
		q := s.questionRecord(row)
		of[row.TaskID].Question = &q
	}
	return translate("read open questions", err)
}

func (s *Store) questionRecord(row db.Question) task.Question {
	out := task.Question{
		ID: row.ID, TaskID: row.TaskID, Attempt: row.Attempt, SandboxID: row.SandboxID, Sequence: row.Sequence, Kind: row.Kind,
		Text: row.Text, Options: []string{}, State: row.State, Reason: row.Reason, Answer: row.Answer, AnsweredBy: row.AnsweredBy,
		Channel: row.Channel, AskedAt: row.AskedAt, SuspendedAt: row.SuspendedAt, SettledAt: row.SettledAt,
	}
	_ = json.Unmarshal(row.Options, &out.Options) // omoi wrote the value
	if s.cfg.QuestionExpiry > 0 && row.State == task.QuestionOpen {
		out.ExpiresAt = new(row.AskedAt.Add(s.cfg.QuestionExpiry))
	}
	return out
}

// answers returns the newest answered questions of earlier attempts, oldest first.
func (s *Store) answers(ctx context.Context, taskID string, attempt int) ([]task.Answered, error) {
	rows, err := s.q.Answers(ctx, taskID, attempt)
	slices.Reverse(rows)
	return mapAll(rows, func(r db.AnswersRow) task.Answered { return task.Answered{Question: r.Text, Answer: r.Answer} }), err
}
