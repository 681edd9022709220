package e2e_test

import (
	"encoding/json"
	"net/http"
	"strconv"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	apiclient "github.com/omoi-dev/omoi/api/client"
	"github.com/omoi-dev/omoi/internal/task"
	pgtest "github.com/omoi-dev/omoi/internal/testkit/postgres"
)

// judgedScript is an execution_config of a scripted agent and of the scripted agent that validates it.
func judgedScript(work, validator []string) json.RawMessage {
	steps := func(steps []string) string { return `{"steps":[` + strings.Join(steps, ",") + `]}` }
	return json.RawMessage(`{"script":` + steps(work) + `,"validator":{"script":` + steps(validator) + `}}`)
}

func validate(in *apiclient.CreateTaskRequest) { in.Validate = new(true) }

// Steps of a worker that puts into a file what was said of the attempt before, and of a validator
// that wants to see it there.
const (
	stepHeed   = `{"write":{"path":"heard.txt","content":"heard: {{feedback}}\n"}}`
	stepInsist = `{"verdict":{"command":"grep -q louder heard.txt","feedback":"say it louder","recommendations":["shout"]}}`
	stepRefuse = `{"verdict":{"passed":false,"feedback":"never good enough"}}`
)

// TestWorkIsValidated has work sent back by a validator, done again with its words, and accepted:
// one branch, one pull request.
func TestWorkIsValidated(t *testing.T) {
	t.Parallel()
	r := newRig(t, nil).up()
	repo := r.repo()
	stray := []string{`{"write":{"path":"stray.txt","content":"a validator's\n"}}`, `{"commit":"not the work"}`, `{"push":true}`}
	made := r.submit(repo, judgedScript([]string{stepHeed, `{"commit":"heed"}`}, append(stray, stepInsist)), validate)
	got := r.ends(made.ID, task.StatusCompleted)

	require.Equal(t, []string{"first", "validation", "revision", "validation"}, attemptsOf(got, func(a task.Attempt) string { return a.Kind }))
	require.Equal(t, []string{"completed", "rejected", "completed", "completed"}, attemptsOf(got, func(a task.Attempt) string { return a.Outcome }))
	require.Equal(t, 1, got.Revisions)
	require.Zero(t, got.Retries, "a revision is no retry")
	require.Len(t, got.Reviews, 2)
	require.Equal(t, []any{false, 2, "say it louder"}, []any{got.Reviews[0].Passed, got.Reviews[0].Attempt, got.Reviews[0].Feedback})
	require.Equal(t, []any{true, 4}, []any{got.Reviews[1].Passed, got.Reviews[1].Attempt})
	require.Equal(t, "heard: say it louder\n- shout\n", r.run("git", "-C", repo, "show", text(got.Branch)+":heard.txt").stdout)
	require.Equal(t, "2\n", r.run("git", "-C", repo, "rev-list", "--count", "main.."+text(got.Branch)).stdout, "nothing of the validators is in it")
	require.Len(t, strings.Fields(r.run("git", "-C", repo, "for-each-ref", "--format=%(refname)", "refs/heads").stdout), 2, "main and one branch")
	require.Equal(t, 1, r.count(`SELECT count(DISTINCT pull_request_url) FROM tasks`))
	for _, told := range []string{"TASK_VALIDATION_REQUESTED", "VALIDATION_SANDBOX_SPAWNED", "SANDBOX_SPAWNED"} {
		require.Len(t, pgtest.Frames(t, r.pool, told), 2, told)
	}

	shown := r.omoi("show", made.ID).stdout
	require.Contains(t, shown, "round 1 of 3: the validator said no: say it louder.")
	require.Contains(t, shown, "round 2 of 3: the validator accepted the work")
	require.Contains(t, r.omoi("receipt", made.ID).stdout, "round 2 of 3: the validator accepted the work")
	pull := r.run("grep", "-rh", "round", repo+"/omoi").stdout
	require.Contains(t, pull, "round 1 of 3: the validator said no: say it louder.")
	require.Contains(t, pull, "round 2 of 3: the validator accepted the work")
	r.noLeaks()
	r.gapless()
}

func attemptsOf(t task.Task, of func(task.Attempt) string) (all []string) {
	for _, a := range t.Attempts {
		all = append(all, of(a))
	}
	return all
}

// TestValidationComesToAnEnd has validators that never accept, that never say anything, that a person
// speaks for, and that are at work when the worker is killed.
func TestValidationComesToAnEnd(t *testing.T) {
	t.Parallel()
	r := newRig(t, map[string]string{"MAX_CONCURRENT_TASKS_PER_PROJECT": "20", "MAX_VALIDATION_ITERATIONS": "2"}).up()
	repo, work := r.repo(), []string{stepWrite, stepCommit}
	refused := r.submit(repo, judgedScript(work, []string{stepRefuse}), validate)
	silent := r.submit(repo, judgedScript(work, []string{`{"say":"I am not sure"}`}), validate, retries(1))
	human := r.submit(repo, judgedScript(work, []string{stepHang}), validate)
	killed := r.submit(repo, judgedScript(work, []string{`{"wait_message":{}}`, `{"verdict":{"passed":true,"feedback":"good"}}`}), validate)

	r.until(killed.ID, "is being validated", func(t task.Task) bool { return t.Status == task.StatusValidating })
	r.kill("worker")
	r.startWorker()
	r.eventually("the validator hears that it is to go on", func() bool { return r.omoi("send", killed.ID, "go on").code == 0 })
	r.until(human.ID, "is being validated", func(t task.Task) bool { return t.Status == task.StatusValidating })
	said := r.omoi("review", human.ID, "--request-changes", "the totals are wrong")
	require.Zero(t, said.code, said.stderr)
	r.until(human.ID, "is being validated again", func(t task.Task) bool { return t.Status == task.StatusValidating && t.AttemptCount == 4 })
	said = r.omoi("review", human.ID, "--approve")
	require.Zero(t, said.code, said.stderr)

	got := r.ends(refused.ID, task.StatusFailed)
	require.Equal(t, task.ClassAgentError, got.FailureClass)
	require.Equal(t, "round 2 of 2: the validator said no: never good enough", text(got.ErrorMessage))
	require.Len(t, got.Reviews, 2)
	require.Nil(t, got.PullURL)
	require.Equal(t, "hello\n", r.run("git", "-C", repo, "show", text(got.Branch)+":hello.txt").stdout, "branch and work are kept")

	got = r.ends(silent.ID, task.StatusFailed)
	require.Equal(t, task.ClassInfrastructure, got.FailureClass)
	require.Equal(t, "the validator ended without a verdict", text(got.ErrorMessage))
	require.Equal(t, []string{"first", "validation", "validation"}, attemptsOf(got, func(a task.Attempt) string { return a.Kind }))
	require.Empty(t, got.Reviews)

	got = r.ends(human.ID, task.StatusCompleted)
	require.Equal(t, []any{false, 1, "the totals are wrong"}, []any{got.Reviews[0].Passed, got.Reviews[0].Attempt, got.Reviews[0].Feedback})
	require.Contains(t, r.omoi("show", human.ID).stdout, "round 1 of 2: a person said no: the totals are wrong.")

	got = r.ends(killed.ID, task.StatusCompleted)
	require.Equal(t, 2, got.AttemptCount, "the validator went on while nobody looked")
	r.noLeaks()
}

// TestAVerdictCountsOnce has agents from outside: who did the work may not judge it, and a validator
// that does not get an answer sends its verdict again.
func TestAVerdictCountsOnce(t *testing.T) {
	t.Parallel()
	r := newRig(t, map[string]string{"OMOI_TASK_HEARTBEAT_TIMEOUT": "60s", "OMOI_TASK_STARTUP_TIMEOUT": "60s"}).up()
	made := r.submit(r.repo(), nil, validate, func(in *apiclient.CreateTaskRequest) {
		in.Agent, in.Provider = task.AgentExternal, task.ProviderExternal
	})
	at := func(attempt int, status task.Status) string {
		now := r.until(made.ID, "is "+string(status), func(t task.Task) bool { return t.AttemptCount == attempt && t.Status == status })
		return "/api/v1/sandboxes/" + text(now.SandboxID)
	}
	verdict := func(box string, passed bool) (apiclient.VerdictAccepted, int) {
		var answer apiclient.VerdictAccepted
		code := post(r.api.BaseURL()+box+"/validation-result", map[string]any{"task_id": made.ID, "passed": passed, "feedback": "round " + strconv.FormatBool(passed)}, &answer)
		return answer, code
	}
	works := func(attempt int) string {
		box := at(attempt, task.StatusAssigned)
		_, code := verdict(box, true)
		require.Equal(t, http.StatusForbidden, code, "nobody judges his own work")
		require.Equal(t, http.StatusOK, post(r.api.BaseURL()+box+"/task-complete", map[string]any{"task_id": made.ID}, &struct{}{}))
		return at(attempt+1, task.StatusValidating)
	}
	first := works(1)
	no, code := verdict(first, false)
	require.Equal(t, http.StatusOK, code)
	require.Equal(t, "needs_revision", no.NewTaskStatus)
	again, _ := verdict(first, false)
	require.Equal(t, no.CommandID, again.CommandID, "sent twice, given once")
	second := works(3)
	late, code := verdict(first, true)
	require.Equal(t, []any{http.StatusOK, no.CommandID}, []any{code, late.CommandID}, "another word of the same validator changes nothing")
	yes, _ := verdict(second, true)
	require.Equal(t, "completed", yes.NewTaskStatus)
	got := r.ends(made.ID, task.StatusCompleted)
	after, code := verdict(second, true)
	require.Equal(t, []any{http.StatusOK, "completed", yes.CommandID}, []any{code, after.NewTaskStatus, after.CommandID})
	require.Equal(t, 4, got.AttemptCount)
	require.Equal(t, 1, got.Revisions)
	require.Len(t, got.Reviews, 2)
}
