package postgres_test

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/omoi-dev/omoi/internal/contract"
	"github.com/omoi-dev/omoi/internal/postgres"
	"github.com/omoi-dev/omoi/internal/task"
)

// handedIn returns a task with pushed work and a validator that the row does not show yet.
func handedIn(w world) (asked, contract.LiveAttempt) {
	a := w.task(w.project(5), "validation_rounds = 3")
	w.running(a)
	w.exec(`UPDATE attempts SET head_commit = 'beef' WHERE task_id = $1`, a.id)
	w.write(a, contract.Projection{
		Ordinal: 4, Status: task.StatusPendingValidation, Ended: &contract.AttemptEnd{Number: 1, Outcome: "completed"},
	})
	return a, w.validator(a, 5)
}

func (w world) validator(a asked, ordinal int64) contract.LiveAttempt {
	w.t.Helper()
	begun, err := w.store.BeginAttempt(w.t.Context(), contract.BeginAttemptInput{
		TaskID: a.id, FirstRunID: a.run, Ordinal: ordinal, Kind: task.KindValidation,
	}, a.run)
	require.NoError(w.t, err)
	require.True(w.t, begun.Validates)
	return begun.LiveAttempt
}

// says sends a verdict of a validator's sandbox by the legacy route.
func (w world) says(a asked, box string, passed bool) (task.CommandResult, error) {
	args := `{"ok": false, "passed": false, "feedback": "add tests", "recommendations": ["one"],
		"evidence": {"failed": ["TestSum"]}, "sandbox_id": "` + box + `"}`
	if passed {
		args = `{"ok": true, "passed": true, "feedback": "good", "sandbox_id": "` + box + `"}`
	}
	return w.store.AskTask(w.t.Context(), task.CommandRequest{
		OrganizationID: w.org, TaskID: a.id, Kind: task.CommandVerdict, OK: passed, SandboxID: box, Own: true, Wire: true, Sender: "sandbox", Args: []byte(args),
	})
}

func TestVerdict_OfValidatorCountsOnce(t *testing.T) {
	t.Parallel()
	w := newWorld(t, postgres.Config{})
	a, validator := handedIn(w)
	worker := one[string](t, w.pool, `SELECT sandbox_id FROM attempts WHERE task_id = $1 AND number = 1`, a.id)
	_, err := w.says(a, worker, true)
	require.Equal(t, task.CodeForbidden, task.CodeOf(err), "who did the work does not judge it")

	no, err := w.says(a, validator.SandboxID, false) // before the row shows the validator
	require.NoError(t, err)
	require.Equal(t, []any{task.StatusNeedsRevision, task.ReceiptAccepted}, []any{no.Status, no.Command.State})
	again, err := w.says(a, validator.SandboxID, true)
	require.NoError(t, err)
	require.Equal(t, no.Command.ID, again.Command.ID, "its first word counts")
	taken := w.take(a, contract.Command{ID: no.Command.ID, Kind: contract.CommandVerdict}, 1)
	require.Equal(t, validator.SandboxID, taken.SandboxID)
	require.NotEmpty(t, taken.FeedbackID)

	w.write(a, contract.Projection{
		Ordinal: 6, Status: task.StatusNeedsRevision, Revisions: 1,
		Ended:  &contract.AttemptEnd{Number: validator.Number, Outcome: "rejected"},
		Settle: []contract.Settlement{{CommandID: no.Command.ID, Receipt: task.ReceiptCarriedOut}},
	})
	got, err := w.store.Task(t.Context(), w.org, a.id)
	require.NoError(t, err)
	require.Len(t, got.Reviews, 1)
	review := got.Reviews[0]
	require.Equal(t, []any{1, validator.SandboxID, 2, false, "add tests"}, []any{review.Round, review.SandboxID, review.Attempt, review.Passed, review.Feedback})
	require.Equal(t, []string{"one"}, review.Recommendations)
	require.JSONEq(t, `{"failed": ["TestSum"]}`, string(review.Evidence))
}

// A legacy validator is not an attempt of the task and can send a verdict before the row shows the assigned agent.
func TestLegacyVerdict_DuringStart_IsAppliedAndNamesTheAttempt(t *testing.T) {
	t.Parallel()
	w := newWorld(t, postgres.Config{})
	a := w.task(w.project(5), "continuous = true")
	verdict := task.CommandRequest{
		OrganizationID: w.org, TaskID: a.id, Kind: task.CommandVerdict, SandboxID: "outside", Wire: true,
		Args: []byte(`{"ok": false, "feedback": "add tests", "sandbox_id": "outside"}`),
	}
	_, err := w.store.AskTask(t.Context(), verdict)
	require.Equal(t, task.CodeConflict, task.CodeOf(err), "there is nothing to judge")
	w.load(a)
	begun := w.begin(a, 1)
	no, err := w.store.AskTask(t.Context(), verdict)
	require.NoError(t, err)
	require.Equal(t, []any{task.StatusNeedsRevision, task.ReceiptAccepted}, []any{no.Status, no.Command.State})
	require.Equal(t, "outside", w.take(a, contract.Command{ID: no.Command.ID, Kind: contract.CommandVerdict}, 1).From)
	w.write(a, contract.Projection{
		Ordinal: 2, Status: task.StatusNeedsRevision, Revisions: 1,
		Ended:  &contract.AttemptEnd{Number: begun.Number, Outcome: "revised"},
		Settle: []contract.Settlement{{CommandID: no.Command.ID, Receipt: task.ReceiptCarriedOut}},
	})
	got, err := w.store.Task(t.Context(), w.org, a.id)
	require.NoError(t, err)
	require.Len(t, got.Reviews, 1)
	require.Equal(t, []any{1, 1, "outside"}, []any{got.Reviews[0].Round, got.Reviews[0].Attempt, got.Reviews[0].SandboxID})
}

// verdict sends a verdict of a sandbox for a task without validation.
func (w world) verdict(a asked, box, feedback string) task.CommandResult {
	w.t.Helper()
	got, err := w.store.AskTask(w.t.Context(), task.CommandRequest{
		OrganizationID: w.org, TaskID: a.id, Kind: task.CommandVerdict, SandboxID: box, Wire: true,
		Args: []byte(`{"ok": false, "feedback": "` + feedback + `", "sandbox_id": "` + box + `"}`),
	})
	require.NoError(w.t, err)
	return got
}

// revise executes a failed verdict and begins the next attempt.
func (w world) revise(a asked, no task.CommandResult, number int, ordinal int64) contract.LiveAttempt {
	w.t.Helper()
	w.write(a, contract.Projection{
		Ordinal: ordinal, Status: task.StatusNeedsRevision, Revisions: 1, Ended: &contract.AttemptEnd{Number: number, Outcome: "revised"},
		Settle: []contract.Settlement{{CommandID: no.Command.ID, Receipt: task.ReceiptCarriedOut}},
	})
	return w.runs(a, ordinal+1)
}

// runs begins an attempt whose agent starts. It takes three ordinals.
func (w world) runs(a asked, ordinal int64) contract.LiveAttempt {
	w.t.Helper()
	live := w.begin(a, ordinal)
	w.write(a, contract.Projection{Ordinal: ordinal + 1, Status: task.StatusAssigned, SandboxID: live.SandboxID})
	w.write(a, contract.Projection{Ordinal: ordinal + 2, Status: task.StatusRunning, SandboxID: live.SandboxID})
	return live
}

func TestVerdict_OfAWorkSandboxCountsOnce(t *testing.T) {
	t.Parallel()
	w := newWorld(t, postgres.Config{})
	a := w.task(w.project(5), "continuous = true")
	w.load(a)
	first := w.runs(a, 1)
	no := w.verdict(a, first.SandboxID, "add tests")
	require.Equal(t, task.ReceiptAccepted, no.Command.State)
	require.Equal(t, no.Command.ID, w.verdict(a, first.SandboxID, "add tests").Command.ID, "sent again")
	require.Equal(t, first.SandboxID, w.take(a, contract.Command{ID: no.Command.ID, Kind: contract.CommandVerdict}, 1).SandboxID,
		"it judges this attempt alone")

	second := w.revise(a, no, first.Number, 4)
	require.Equal(t, no.Command.ID, w.verdict(a, first.SandboxID, "other words").Command.ID, "its attempt is over")
	again := w.verdict(a, second.SandboxID, "add tests")
	require.Equal(t, task.ReceiptAccepted, again.Command.State)
	require.NotEqual(t, no.Command.ID, again.Command.ID)
	w.revise(a, again, second.Number, 8)
	silent := one[string](t, w.pool, `SELECT sandbox_id FROM attempts WHERE task_id = $1 AND number = 3`, a.id)
	w.write(a, contract.Projection{Ordinal: 12, Status: task.StatusPending, Ended: &contract.AttemptEnd{Number: 3, Outcome: "failed"}})
	w.begin(a, 13)
	require.Equal(t, task.ReceiptTooLate, w.verdict(a, silent, "at last").Command.State)
}

func TestVerdict_OfAForeignSandboxCountsOnceForAnAttempt(t *testing.T) {
	t.Parallel()
	w := newWorld(t, postgres.Config{})
	a := w.task(w.project(5), "continuous = true")
	w.load(a)
	first := w.runs(a, 1)
	no := w.verdict(a, "outside", "add tests")
	require.Equal(t, no.Command.ID, w.verdict(a, "outside", "add tests").Command.ID, "sent again")
	require.Equal(t, no.Command.ID, w.verdict(a, "elsewhere", "add docs").Command.ID, "one verdict is under way")

	w.revise(a, no, first.Number, 4)
	require.Equal(t, no.Command.ID, w.verdict(a, "outside", "add tests").Command.ID, "its answer was lost")
	again := w.verdict(a, "outside", "add more tests")
	require.Equal(t, task.ReceiptAccepted, again.Command.State)
	require.NotEqual(t, no.Command.ID, again.Command.ID)
	w.write(a, contract.Projection{
		Ordinal: 8, Status: task.StatusNeedsRevision, Revisions: 2, Ended: &contract.AttemptEnd{Number: 2, Outcome: "revised"},
		Settle: []contract.Settlement{{CommandID: again.Command.ID, Receipt: task.ReceiptCarriedOut}},
	})
	require.Equal(t, task.ReceiptTooLate, w.verdict(a, "elsewhere", "add docs").Command.State, "there is no new work to judge")
}

func TestVerdict_OfEndedAttemptIsTooLate(t *testing.T) {
	t.Parallel()
	w := newWorld(t, postgres.Config{})
	a, first := handedIn(w)
	w.write(a, contract.Projection{Ordinal: 6, Status: task.StatusPendingValidation, Ended: &contract.AttemptEnd{Number: first.Number, Outcome: "failed"}})
	second := w.validator(a, 7)
	late, err := w.says(a, first.SandboxID, true)
	require.NoError(t, err)
	require.Equal(t, []any{task.StatusPendingValidation, task.ReceiptTooLate}, []any{late.Status, late.Command.State})
	yes, err := w.says(a, second.SandboxID, true)
	require.NoError(t, err)
	require.Equal(t, []any{task.StatusCompleted, task.ReceiptAccepted}, []any{yes.Status, yes.Command.State})

	story, err := w.store.Story(t.Context(), w.org, a.id)
	require.NoError(t, err)
	require.Len(t, story.Task.Reviews, 1, "the one for which it is published")
	require.Equal(t, []any{true, 3}, []any{story.Task.Reviews[0].Passed, story.Task.Reviews[0].Attempt})
}

func TestLoadTask_VerdictDue(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		status, outcome string
		due             bool
	}{
		"handed in":              {"pending_validation", "", true},
		"validator at work":      {"validating", "", true},
		"validator tried again":  {"pending_validation", "failed", true},
		"suspended":              {"pending", "parked", true},
		"validator said no":      {"needs_revision", "rejected", false},
		"retry after the last":   {"failed", "rejected", false},
		"retry after its deaths": {"failed", "failed", true},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			w := newWorld(t, postgres.Config{})
			a, validator := handedIn(w)
			w.exec(`UPDATE tasks SET status = $2, result = '{"validation_iteration": 1}' WHERE id = $1`, a.id, c.status)
			if c.outcome != "" {
				w.exec(`UPDATE attempts SET ended_at = now(), outcome = $2 WHERE sandbox_id = $1`, validator.SandboxID, c.outcome)
			}
			ref := a.ref()
			if c.status == "failed" {
				ref.FirstRunID = "another"
				ref.CommandID = w.command(a.id, contract.CommandRetry, `{}`)
			}
			loaded := w.loadAs(ref, "another")
			require.Equal(t, c.due, loaded.State.Stage == task.StageValidate)
			require.Equal(t, []int{3, 1}, []int{loaded.State.Rounds, loaded.State.Round})
			require.Equal(t, c.outcome == "", loaded.Live != nil && loaded.Live.Validates)
		})
	}
}

// After a rejected push the work was never validated, and a retry validates it first.
func TestLoadTask_RetryValidatesBeforePublish(t *testing.T) {
	t.Parallel()
	for outcome, want := range map[string]bool{"first": false, "validation": true} {
		w := newWorld(t, postgres.Config{})
		a, validator := handedIn(w)
		w.exec(`UPDATE attempts SET ended_at = now(), outcome = 'failed' WHERE sandbox_id = $1`, validator.SandboxID)
		w.exec(`UPDATE attempts SET kind = $2, head_commit = 'beef' WHERE sandbox_id = $1`, validator.SandboxID, outcome)
		w.exec(`UPDATE tasks SET status = 'failed', failure_class = 'publish' WHERE id = $1`, a.id)
		ref := contract.TaskRef{TaskID: a.id, FirstRunID: "another", CommandID: w.command(a.id, contract.CommandRetry, `{}`)}
		loaded := w.loadAs(ref, "another")
		require.Equal(t, want, loaded.PublishOnly, outcome)
		require.True(t, loaded.Saved, outcome)
	}
}

// Open feedback of a validator goes to later attempts, over retries, and to later validators, until the work passes.
func TestWork_OpenFeedbackOfValidator(t *testing.T) {
	t.Parallel()
	w := newWorld(t, postgres.Config{})
	a, _ := handedIn(w)
	work, err := w.store.Work(t.Context(), a.id)
	require.NoError(t, err)
	require.Equal(t, []any{true, 1, 3, "beef", ""}, []any{work.Validates, work.Round, work.Rounds, work.WorkHead, work.Feedback})

	w.exec(`UPDATE tasks SET result = '{"validation_iteration": 1, "validation_passed": false, "revision_feedback": "add tests"}' WHERE id = $1`, a.id)
	work, err = w.store.Work(t.Context(), a.id)
	require.NoError(t, err)
	require.Equal(t, []any{2, "add tests"}, []any{work.Round, work.Feedback})
	w.exec(`UPDATE attempts SET kind = 'retry' WHERE task_id = $1`, a.id)
	work, err = w.store.Work(t.Context(), a.id)
	require.NoError(t, err)
	require.False(t, work.Validates)
	require.Equal(t, "add tests", work.Feedback)
	w.exec(`UPDATE tasks SET result = result || '{"validation_passed": true}' WHERE id = $1`, a.id)
	work, err = w.store.Work(t.Context(), a.id)
	require.NoError(t, err)
	require.Empty(t, work.Feedback)
}

// Validators continue no session, and no attempt continues a validator's session.
func TestEarlierTranscript_NotOfValidator(t *testing.T) {
	t.Parallel()
	w := newWorld(t, postgres.Config{})
	a, validator := handedIn(w)
	w.exec(`INSERT INTO transcripts (run_key, session_id, task_id, sandbox_id, content)
		SELECT 'run of ' || sandbox_id, 'session', task_id, sandbox_id, 'x' FROM attempts WHERE task_id = $1`, a.id)
	_, found, err := w.store.EarlierTranscript(t.Context(), a.id, validator.Number)
	require.NoError(t, err)
	require.False(t, found)
	w.write(a, contract.Projection{Ordinal: 6, Status: task.StatusNeedsRevision, Ended: &contract.AttemptEnd{Number: validator.Number, Outcome: "rejected"}})
	w.begin(a, 7)
	earlier, found, err := w.store.EarlierTranscript(t.Context(), a.id, 3)
	require.NoError(t, err)
	require.True(t, found)
	require.Equal(t, 1, earlier.Attempt)
}

// VerdictDue is set from the acceptance of a verdict until the task has settled it.
func TestPulse_VerdictDue(t *testing.T) {
	t.Parallel()
	w := newWorld(t, postgres.Config{})
	a, validator := handedIn(w)
	due := func() []bool {
		pulse, err := w.store.Pulse(t.Context(), validator.SandboxID, time.Minute)
		require.NoError(t, err)
		facts, err := w.store.LoadEvents(t.Context(), contract.LoadEventsInput{SandboxID: validator.SandboxID})
		require.NoError(t, err)
		return []bool{pulse.VerdictDue, facts.VerdictDue}
	}
	require.Equal(t, []bool{false, false}, due())
	yes, err := w.says(a, validator.SandboxID, true)
	require.NoError(t, err)
	require.Equal(t, []bool{true, true}, due())
	w.exec(`UPDATE commands SET sent_at = now()`)
	require.Equal(t, []bool{true, true}, due(), "on its way is not there")
	worker := one[string](t, w.pool, `SELECT sandbox_id FROM attempts WHERE task_id = $1 AND number = 1`, a.id)
	facts, err := w.store.LoadEvents(t.Context(), contract.LoadEventsInput{SandboxID: worker})
	require.NoError(t, err)
	require.False(t, facts.VerdictDue, "it is another's")
	w.write(a, contract.Projection{
		Ordinal: 6, Status: task.StatusValidating, SandboxID: validator.SandboxID,
		Settle: []contract.Settlement{{CommandID: yes.Command.ID, Receipt: task.ReceiptCarriedOut}},
	})
	require.Equal(t, []bool{false, false}, due())
}

// The verdict is reported in agent.completed.
func TestVerdictOfALegacyValidator_KeepsItsEvidence(t *testing.T) {
	t.Parallel()
	w := newWorld(t, postgres.Config{})
	a, validator := handedIn(w)
	w.event(validator.SandboxID, "agent.completed", `{"agent_type": "validator", "validation_passed": false,
		"validation_feedback": "add tests", "tests_passed": false, "pr_url": "u", "turns": 3}`)
	w.write(a, contract.Projection{
		Ordinal: 6, Status: task.StatusNeedsRevision, Revisions: 1,
		Ended: &contract.AttemptEnd{Number: validator.Number, Outcome: "rejected"},
	})
	got, err := w.store.Task(t.Context(), w.org, a.id)
	require.NoError(t, err)
	require.Len(t, got.Reviews, 1)
	require.JSONEq(t, `{"tests_passed": false, "pr_url": "u"}`, string(got.Reviews[0].Evidence))
}
