package e2e_test

import (
	"context"
	"testing"

	"github.com/stretchr/testify/require"

	apiclient "github.com/omoi-dev/omoi/api/client"
	"github.com/omoi-dev/omoi/internal/task"
)

// stepFindsDraft finds the file of an earlier attempt, or writes it.
const stepFindsDraft = `{"bash":"if [ -e draft ]; then cp draft found; else echo one > draft; fi"}`

const (
	stepRemembers  = `{"say":"I remember: {{remembered}}"}`
	stepAsks       = `{"ask":{"text":"Which database?","options":["PostgreSQL","SQLite"]}}`
	stepKeepAnswer = `{"write":{"path":"answer.txt","content":"{{message}}\n"}}`
)

// asked returns the task once its agent has asked, or is suspended for it.
func (r *rig) asked(id string, suspended bool) task.Task {
	r.t.Helper()
	return r.until(id, "has a question", func(t task.Task) bool {
		return t.Question != nil && (t.Question.SuspendedAt != nil) == suspended
	})
}

// TestQuestion_WaitsWithoutASandbox suspends a task for its question, and answers while no worker runs. The next attempt continues
// with the files and the session of the first.
func TestQuestion_WaitsWithoutASandbox(t *testing.T) {
	t.Parallel()
	r := newRig(t, map[string]string{"OMOI_TASK_QUESTION_WAIT": "1s", "OMOI_CHECKPOINT_INTERVAL": "100ms"}).up()
	repo := r.repo()
	made := r.submit(repo, script(stepFindsDraft, stepRemembers, stepAsks, stepKeepAnswer, stepCommit, stepComplete))
	got := r.asked(made.ID, true)
	require.Equal(t, []any{task.StatusPending, task.BlockedQuestion, task.GroupNeedsYou}, []any{got.Status, got.Blocked, got.Group})
	require.Equal(t, []any{"Which database?", []string{"PostgreSQL", "SQLite"}, 1}, []any{got.Question.Text, got.Question.Options, got.Question.Attempt})
	require.False(t, got.HoldsSlot)
	r.eventually("the sandbox is deleted", func() bool { return r.count(`SELECT count(*) FROM sandboxes WHERE gone_at IS NULL`) == 0 })
	r.kill("worker")
	answered := r.omoi("answer", made.ID, "PostgreSQL")
	require.Zero(t, answered.code, answered.stderr)
	r.kill("api")
	r.startAPI()
	r.startWorker()
	done := r.ends(made.ID, task.StatusCompleted)
	require.Nil(t, done.Question)
	require.Equal(t, []string{"suspended", "completed"}, []string{done.Attempts[0].Outcome, done.Attempts[1].Outcome})
	require.Equal(t, []any{"resumed", task.ReasonQuestion, 0}, []any{done.Attempts[1].Kind, done.Attempts[0].EndReason.Code, done.Retries})
	show := func(path string) string { return r.run("git", "-C", repo, "show", text(done.Branch)+":"+path).stdout }
	require.Equal(t, []string{"PostgreSQL\n", "one\n"}, []string{show("answer.txt"), show("found")})
	require.Equal(t, 1, r.count(`SELECT count(*) FROM sandbox_events WHERE sandbox_id = $1 AND event_type = 'agent.message'
		AND event_data ->> 'content' = 'I remember: I remember: '`, done.Attempts[1].SandboxID))

	_, err := r.api.AnswerQuestion(context.Background(), got.Question.ID, "SQLite")
	require.Equal(t, task.KindQuestionClosed, task.KindOf(err))
	first, ok := apiclient.ClosedQuestion(err)
	require.True(t, ok)
	require.Equal(t, []string{task.QuestionAnswered, "PostgreSQL"}, []string{first.State, first.Answer})
	r.noLeaks()
	r.gapless()
}

// TestQuestion_AnsweredWhileTheAgentWaits answers before the task is suspended.
func TestQuestion_AnsweredWhileTheAgentWaits(t *testing.T) {
	t.Parallel()
	r := newRig(t, nil).up()
	repo := r.repo()
	made := r.submit(repo, script(stepAsks, stepKeepAnswer, stepCommit, stepComplete))
	q := r.asked(made.ID, false).Question
	_, err := r.api.AnswerQuestion(context.Background(), q.ID, "SQLite")
	require.NoError(t, err)
	done := r.ends(made.ID, task.StatusCompleted)
	require.Equal(t, 1, done.AttemptCount)
	require.Equal(t, "SQLite\n", r.run("git", "-C", repo, "show", text(done.Branch)+":answer.txt").stdout)
}

// TestQuestion_OfACancelledTask says so.
func TestQuestion_OfACancelledTask(t *testing.T) {
	t.Parallel()
	r := newRig(t, map[string]string{"OMOI_TASK_QUESTION_WAIT": "1s"}).up()
	made := r.submit(r.repo(), script(stepAsks, stepComplete))
	q := r.asked(made.ID, true).Question
	_, _, err := r.api.Cancel(context.Background(), made.ID, "not needed")
	require.NoError(t, err)
	r.ends(made.ID, task.StatusCancelled)
	_, err = r.api.AnswerQuestion(context.Background(), q.ID, "SQLite")
	closed, ok := apiclient.ClosedQuestion(err)
	require.True(t, ok, err)
	require.Equal(t, task.QuestionCancelled, closed.State)
	require.Contains(t, r.omoi("answer", made.ID, "SQLite").stderr, "cancelled")
}

// TestQuestion_Expires fails a task whose question nobody answered in time.
func TestQuestion_Expires(t *testing.T) {
	t.Parallel()
	r := newRig(t, map[string]string{"OMOI_TASK_QUESTION_WAIT": "1s", "OMOI_TASK_QUESTION_EXPIRY": "1h"}).up()
	made := r.submit(r.repo(), script(stepAsks, stepComplete))
	q := r.asked(made.ID, true).Question
	require.NotNil(t, q.ExpiresAt)
	require.Equal(t, 1, r.count(`WITH late AS (UPDATE questions SET asked_at = asked_at - interval '2 hours' RETURNING 1) SELECT count(*) FROM late`))
	r.ends(made.ID, task.StatusFailed)
	_, err := r.api.AnswerQuestion(context.Background(), q.ID, "SQLite")
	closed, _ := apiclient.ClosedQuestion(err)
	require.Equal(t, task.QuestionExpired, closed.State)
}

// TestQuestion_APIKilledBetweenAnswerAndSignal answers while nothing can be relayed, and kills the API: the next one resumes the task, and a
// second answer is refused.
func TestQuestion_APIKilledBetweenAnswerAndSignal(t *testing.T) {
	t.Parallel()
	r := newRig(t, map[string]string{"OMOI_TASK_QUESTION_WAIT": "1s"}).up()
	repo := r.repo()
	made := r.submit(repo, script(stepAsks, stepKeepAnswer, stepCommit, stepComplete))
	q := r.asked(made.ID, true).Question
	resume := r.freeze("start-dev")
	_, err := r.api.AnswerQuestion(context.Background(), q.ID, "PostgreSQL")
	require.NoError(t, err)
	r.kill("api")
	require.Equal(t, 1, r.count(`SELECT count(*) FROM commands WHERE task_id = $1 AND kind = 'retry' AND state = 'accepted'`, made.ID))
	resume()
	r.startAPI()
	_, err = r.api.AnswerQuestion(context.Background(), q.ID, "SQLite")
	require.Equal(t, task.KindQuestionClosed, task.KindOf(err))
	done := r.ends(made.ID, task.StatusCompleted)
	require.Equal(t, 2, done.AttemptCount)
	require.Equal(t, "PostgreSQL\n", r.run("git", "-C", repo, "show", text(done.Branch)+":answer.txt").stdout)
	r.noLeaks()
}
