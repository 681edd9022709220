package e2e_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/omoi-dev/omoi/internal/task"
)

// An agent that does not outlive an interrupt costs its task no retry when a person stops it, and omoi retry goes on.
func TestWhatAPersonInterruptsIsNotTriedAgain(t *testing.T) {
	t.Parallel()
	r := newRig(t, nil).up()
	made := r.submit(r.repo(), script(`{"bash":"echo kept > kept"}`, `{"commit":"keep"}`, `{"wait_message":{"timeout_s":600}}`), retries(2))
	r.eventually("the agent waits", func() bool {
		return r.count(`SELECT count(*) FROM sandbox_events WHERE event_type = 'agent.waiting'`) == 1
	})
	said := r.omoi("send", made.ID, "Stop", "--interrupt", "--json")
	require.Zero(t, said.code, said.stderr)
	got := r.ends(made.ID, task.StatusFailed)
	require.Equal(t, task.ClassStopped, got.FailureClass)
	require.Equal(t, []int{1, 0}, []int{got.AttemptCount, got.Retries})
	why := r.omoi("why", made.ID)
	require.Contains(t, why.stdout, "interrupted by a user")
	require.Contains(t, why.stdout, "Next: omoi retry")

	require.Zero(t, r.omoi("retry", made.ID).code)
	r.eventually("the next agent waits", func() bool {
		return r.count(`SELECT count(*) FROM sandbox_events WHERE event_type = 'agent.waiting'`) == 2
	})
	require.Zero(t, r.omoi("cancel", made.ID).code)
	r.ends(made.ID, task.StatusCancelled)
	r.noLeaks()
}

// An interrupted validator stops no work: another one looks at it, and that costs no retry.
func TestAnInterruptedValidatorIsFollowedByAnother(t *testing.T) {
	t.Parallel()
	r := newRig(t, nil).up()
	waits := func(n int) {
		r.eventually("a validator waits", func() bool {
			return r.count(`SELECT count(*) FROM sandbox_events WHERE event_type = 'agent.waiting'`) == n
		})
	}
	made := r.submit(r.repo(), judgedScript([]string{stepWrite, stepCommit}, []string{`{"wait_message":{"timeout_s":600}}`, `{"verdict":{"passed":true}}`}), validate, retries(0))
	waits(1)
	said := r.omoi("send", made.ID, "Stop", "--interrupt", "--json")
	require.Zero(t, said.code, said.stderr)
	waits(2)
	require.Contains(t, r.task(made.ID).Attempts[1].Reason, "interrupted by a user, and ended. Another validator reviews the work.")
	r.goOn(made.ID)
	got := r.ends(made.ID, task.StatusCompleted)
	require.Equal(t, []int{3, 0}, []int{got.AttemptCount, got.Retries})
	r.noLeaks()
}
