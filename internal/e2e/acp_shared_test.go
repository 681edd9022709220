package e2e_test

import (
	"errors"
	"testing"

	acp "github.com/coder/acp-go-sdk"
	"github.com/stretchr/testify/require"

	apiclient "github.com/omoi-dev/omoi/api/client"
	"github.com/omoi-dev/omoi/internal/task"
)

// TestACP_TwoEditors opens one session in two editors. While one works, the other is refused; then either continues.
func TestACP_TwoEditors(t *testing.T) {
	t.Parallel()
	r := newRig(t, nil).up()
	r.serves()
	clone := r.clone(r.repo())
	steps := []string{`{"say":"Working"}`, `{"bash":"until [ -e go ]; do sleep 0.05; done"}`, `{"write":{"path":"done","content":"x"}}`, `{"commit":"Work"}`}
	first, second := r.editor(clone, steps...), r.editor(clone, steps...)
	session := first.open()
	second.load(session)
	stop := first.later(session, "Work")
	r.eventually("the command runs", first.shows("in_progress"))

	_, err := second.Prompt(t.Context(), acp.PromptRequest{SessionId: session, Prompt: []acp.ContentBlock{acp.TextBlock("Work")}})
	refused, ok := errors.AsType[*acp.RequestError](err)
	require.True(t, ok, "%v", err)
	require.Equal(t, -32600, refused.Code)
	require.Contains(t, refused.Message, "Next: ")
	second.load(session)
	r.pass(r.only(), "go")
	require.Equal(t, acp.StopReasonEndTurn, <-stop)
	require.Equal(t, 1, r.tasks())

	reason, got := second.prompt(session, "Work")
	require.Equal(t, acp.StopReasonEndTurn, reason)
	require.Contains(t, got[len(got)-1], "is completed")
	require.Equal(t, 2, r.tasks(), "a task that continues the work")
	reason, got = first.prompt(session, "Work")
	require.Equal(t, acp.StopReasonEndTurn, reason)
	require.Contains(t, got[len(got)-1], "is completed")
	require.Equal(t, 3, r.tasks())
}

// TestACP_AnswersAQuestion shows the question of a suspended task, whose next attempt gets the prompt as its answer.
func TestACP_AnswersAQuestion(t *testing.T) {
	t.Parallel()
	r := newRig(t, map[string]string{"OMOI_TASK_QUESTION_WAIT": "1s", "OMOI_CHECKPOINT_INTERVAL": "100ms"}).up()
	r.serves()
	e := r.editor(r.clone(r.repo()), stepAsks, stepKeepAnswer, stepCommit, stepComplete)
	session := e.open()
	stop, got := e.prompt(session, "Choose a database")
	require.Equal(t, acp.StopReasonEndTurn, stop)
	require.Contains(t, got, "agent: Which database? (PostgreSQL / SQLite)")
	made, err := r.api.Tasks(t.Context(), apiclient.TaskFilter{})
	require.NoError(t, err)
	suspended := r.asked(made.Items[0].ID, true)

	again := r.editor(e.cwd, stepAsks)
	again.load(session)
	r.eventually("the question", again.shows("agent: Which database? (PostgreSQL / SQLite)"))
	r.eventually("how to answer", again.shows("your next prompt answers it"))
	stop, got = again.prompt(session, "PostgreSQL")
	require.Equal(t, acp.StopReasonEndTurn, stop)
	require.Contains(t, got[len(got)-1], "is completed")
	done := r.ends(suspended.ID, task.StatusCompleted)
	require.Equal(t, "PostgreSQL\n", r.gitIn(done.Repo, "show", *done.Branch+":answer.txt")+"\n")
	require.Equal(t, 1, r.count(`SELECT count(*) FROM questions WHERE state = 'answered' AND answer = 'PostgreSQL'`))
	require.Zero(t, r.count(`SELECT count(*) FROM questions WHERE state = 'cancelled'`))
}
