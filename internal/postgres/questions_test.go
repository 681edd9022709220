package postgres_test

import (
	"context"
	"fmt"
	"strconv"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/omoi-dev/omoi/api/client"
	"github.com/omoi-dev/omoi/internal/contract"
	"github.com/omoi-dev/omoi/internal/event"
	"github.com/omoi-dev/omoi/internal/ingest"
	"github.com/omoi-dev/omoi/internal/postgres"
	"github.com/omoi-dev/omoi/internal/task"
)

// asks reports a question of the agent in a sandbox and returns the open question of its task.
func (w world) asks(a asked, box, text string) *task.Question {
	w.t.Helper()
	w.post(ingest.Request{SandboxID: box, Events: []ingest.Event{{
		Type: event.AgentWaiting, Data: fmt.Appendf(nil, `{"question": %q, "options": ["a", "b"], "message_ids": []}`, text),
	}}})
	got, err := w.store.Task(w.t.Context(), w.org, a.id)
	require.NoError(w.t, err)
	return got.Question
}

// suspends writes that the task waits for an answer.
func (w world) suspends(a asked, live contract.LiveAttempt, ordinal int64) {
	w.t.Helper()
	w.write(a, contract.Projection{
		Ordinal: ordinal, Status: task.StatusPending, Blocked: task.BlockedQuestion, ReleaseSlot: true,
		Ended: &contract.AttemptEnd{Number: live.Number, Outcome: "suspended"},
	})
}

func (w world) answer(q *task.Question, text string) (task.Question, error) {
	w.t.Helper()
	return w.store.AnswerQuestion(w.t.Context(), task.Answer{OrganizationID: w.org, QuestionID: q.ID, Text: text, By: "ann"})
}

func (w world) questions(a asked) []task.Question {
	w.t.Helper()
	page, err := w.store.Questions(w.t.Context(), w.org, client.QuestionQuery{TaskIDs: []string{a.id}})
	require.NoError(w.t, err)
	return page.Items
}

func TestQuestion_FirstAnswerResumesTheTaskOnce(t *testing.T) {
	t.Parallel()
	w := newWorld(t, postgres.Config{})
	a := w.task(w.project(5), "")
	live := w.running(a)
	q := w.asks(a, live.SandboxID, "Which database?")
	require.Equal(t, []any{"Which database?", []string{"a", "b"}, task.QuestionOpen, live.Number}, []any{q.Text, q.Options, q.State, q.Attempt})
	w.suspends(a, live, 9)
	require.Zero(t, w.retries(a))

	const many = 8
	var wg sync.WaitGroup
	results := make([]task.Question, many)
	errs := make([]error, many)
	for n := range many {
		wg.Go(func() {
			results[n], errs[n] = w.store.AnswerQuestion(context.Background(), task.Answer{OrganizationID: w.org, QuestionID: q.ID, Text: strconv.Itoa(n), By: "ann"})
		})
	}
	wg.Wait()
	var first task.Question
	for n, err := range errs {
		if err == nil {
			require.Empty(t, first.ID, "one answer counts")
			first = results[n]
		}
	}
	for n, err := range errs {
		require.Equal(t, first.Answer, results[n].Answer)
		if err != nil {
			require.Equal(t, task.KindQuestionClosed, task.KindOf(err))
		}
	}
	require.Equal(t, 1, w.retries(a))
	require.Zero(t, count(t, w.pool, `SELECT count(*) FROM messages`))
	require.Nil(t, w.questionOf(a))
}

func (w world) questionOf(a asked) *task.Question {
	w.t.Helper()
	got, err := w.store.Task(w.t.Context(), w.org, a.id)
	require.NoError(w.t, err)
	return got.Question
}

func TestQuestion_AnswerWhileTheAttemptEnds(t *testing.T) {
	t.Parallel()
	w := newWorld(t, postgres.Config{})
	a := w.task(w.project(5), "")
	live := w.running(a)
	q := w.asks(a, live.SandboxID, "Which database?")
	_, err := w.answer(q, "a")
	require.NoError(t, err)
	require.Equal(t, 1, count(t, w.pool, `SELECT count(*) FROM messages WHERE sandbox_id = $1 AND content = 'a'`, live.SandboxID))
	require.Zero(t, w.retries(a), "the agent still waits")
	w.suspends(a, live, 9)
	require.Equal(t, 1, w.retries(a), "the workflow did not know the answer")
	w.suspends(a, live, 10)
	require.Equal(t, 1, w.retries(a))
}

func TestQuestion_AMessageAnswers(t *testing.T) {
	t.Parallel()
	w := newWorld(t, postgres.Config{})
	a := w.task(w.project(5), "")
	live := w.running(a)
	q := w.asks(a, live.SandboxID, "Which database?")
	say := func(kind, sender, text string) {
		_, err := w.store.AcceptMessage(t.Context(), ingest.NewMessage{SandboxID: live.SandboxID, Kind: kind, SenderKind: sender, SenderID: "ann", Content: text})
		require.NoError(t, err)
	}
	say(ingest.MessageNudge, ingest.SenderGuardian, "go on")
	say(ingest.MessageInterrupt, ingest.SenderPerson, "stop")
	require.NotNil(t, w.questionOf(a))
	say(ingest.MessageUser, ingest.SenderPerson, "b")
	got := w.questions(a)
	require.Len(t, got, 1)
	require.Equal(t, []string{q.ID, task.QuestionAnswered, "b", "ann", task.ChannelMessage}, []string{got[0].ID, got[0].State, got[0].Answer, got[0].AnsweredBy, got[0].Channel})
}

func TestQuestion_OneIsOpen(t *testing.T) {
	t.Parallel()
	w := newWorld(t, postgres.Config{})
	a := w.task(w.project(5), "")
	live := w.running(a)
	first := w.asks(a, live.SandboxID, "Which database?")
	again := w.asks(a, live.SandboxID, "Which database?")
	require.Equal(t, first.ID, again.ID)
	require.Greater(t, again.Sequence, first.Sequence)
	other := w.asks(a, live.SandboxID, "Which port?")
	require.NotEqual(t, first.ID, other.ID)
	closed, err := w.answer(first, "a")
	require.Equal(t, task.KindQuestionClosed, task.KindOf(err))
	require.Equal(t, task.QuestionCancelled, closed.State)
}

func TestQuestion_EndsWithoutAnAnswer(t *testing.T) {
	t.Parallel()
	for name, end := range map[string]func(w world, a asked, live contract.LiveAttempt){
		"a retry": func(w world, a asked, live contract.LiveAttempt) {
			w.suspends(a, live, 9)
			_, err := w.store.AskTask(w.t.Context(), task.CommandRequest{OrganizationID: w.org, TaskID: a.id, Kind: task.CommandRetry})
			require.NoError(w.t, err)
		},
		"the task ends": func(w world, a asked, live contract.LiveAttempt) { w.finish(a, live, 9, task.StatusCancelled) },
		"terminated": func(w world, a asked, _ contract.LiveAttempt) {
			require.NoError(w.t, w.store.Abandon(w.t.Context(), a.id, "terminated"))
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			w := newWorld(t, postgres.Config{})
			a := w.task(w.project(5), "")
			live := w.running(a)
			q := w.asks(a, live.SandboxID, "Which database?")
			end(w, a, live)
			closed, err := w.answer(q, "a")
			require.Equal(t, task.KindQuestionClosed, task.KindOf(err))
			require.Equal(t, task.QuestionCancelled, closed.State)
			require.NotEmpty(t, closed.Reason)
			require.Empty(t, closed.Answer)
		})
	}
}

func TestQuestion_Expires(t *testing.T) {
	t.Parallel()
	w := newWorld(t, postgres.Config{QuestionExpiry: time.Hour})
	a := w.task(w.project(5), "")
	live := w.running(a)
	q := w.asks(a, live.SandboxID, "Which database?")
	require.Equal(t, q.AskedAt.Add(time.Hour), *q.ExpiresAt)
	w.suspends(a, live, 9)
	require.NoError(t, w.store.ExpireQuestions(t.Context()))
	require.NotNil(t, w.questionOf(a))
	w.exec(`UPDATE questions SET asked_at = asked_at - interval '61 minutes'`)
	require.NoError(t, w.store.ExpireQuestions(t.Context()))
	require.NoError(t, w.store.ExpireQuestions(t.Context()))
	require.Equal(t, 1, count(t, w.pool, `SELECT count(*) FROM commands WHERE task_id = $1 AND kind = 'fail'`, a.id))
	closed, err := w.answer(q, "a")
	require.Equal(t, task.KindQuestionClosed, task.KindOf(err))
	require.Equal(t, task.QuestionExpired, closed.State)
}

func TestQuestion_NextAttemptHasTheAnswers(t *testing.T) {
	t.Parallel()
	w := newWorld(t, postgres.Config{})
	a := w.task(w.project(5), "")
	live := w.running(a)
	q := w.asks(a, live.SandboxID, "Which database?")
	w.suspends(a, live, 9)
	work, err := w.store.Work(t.Context(), a.id)
	require.NoError(t, err)
	require.Empty(t, work.Answers)
	_, err = w.answer(q, "a")
	require.NoError(t, err)
	w.exec(`UPDATE tasks SET attempt_count = attempt_count + 1 WHERE id = $1`, a.id)
	work, err = w.store.Work(t.Context(), a.id)
	require.NoError(t, err)
	require.Equal(t, []task.Answered{{Question: "Which database?", Answer: "a"}}, work.Answers)
}
