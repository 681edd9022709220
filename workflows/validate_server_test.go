package workflows_test

import (
	"time"

	"github.com/stretchr/testify/require"
	"go.temporal.io/api/enums/v1"
	"go.temporal.io/sdk/temporal"

	"github.com/omoi-dev/omoi/internal/contract"
	"github.com/omoi-dev/omoi/internal/event"
	"github.com/omoi-dev/omoi/internal/task"
)

func validatedPaths() []path {
	return []path{
		{"validated", playValidated},
		{"validation-exhausted", playValidationExhausted},
		{"validation-tried-again", playValidationRetried},
		{"validation-worker-killed", playValidationWorkerKilled},
		{"validation-continued", playValidationContinued},
		{"validation-reset", playValidationReset},
		{"validation-of-saved-work", playValidationOfSavedWork},
		{"validation-verdict-due", playValidationVerdictDue},
		{"validation-unspoken", playValidationWithoutVerdict},
		{"validation-interrupted", playValidationInterrupted},
		{"validation-limit", playValidationLimit},
		{"validation-error", playValidationError},
		{"verdict-early", playVerdictEarly},
	}
}

func playValidated(tr *serverFixture) {
	validated(tr.fixture, judges(tr.fixture, "no", "ok"))
	require.NoError(tr.t, tr.play())
	require.Equal(tr.t, []string{"first", "validation", "revision", "validation"}, tr.kinds())
}

func playValidationExhausted(tr *serverFixture) {
	validated(tr.fixture, judges(tr.fixture, "no", "no"))
	tr.loaded.State.Rounds = 2
	var app *temporal.ApplicationError
	require.ErrorAs(tr.t, tr.play(), &app)
	require.Equal(tr.t, string(task.ClassAgentError), app.Type())
	require.Equal(tr.t, enums.WORKFLOW_EXECUTION_STATUS_FAILED, tr.status(""))
}

func playValidationRetried(tr *serverFixture) {
	tr.loaded.Settings.RetryBase = 100 * time.Millisecond
	validated(tr.fixture, func(round int, box string) {
		if round > 1 {
			tr.verdict(box, "ok")
			return
		}
		tr.events(box, 2, agentError(task.ClassAgentError))
	})
	require.NoError(tr.t, tr.play())
	require.Equal(tr.t, []string{"first", "validation", "validation"}, tr.kinds())
}

func playValidationWorkerKilled(tr *serverFixture) {
	restarted := make(chan struct{})
	validated(tr.fixture, func(_ int, box string) {
		tr.w.Stop()
		tr.startWorker()
		tr.verdict(box, "ok")
		close(restarted)
	})
	require.NoError(tr.t, tr.play())
	<-restarted
	require.Len(tr.t, tr.begun, 2)
}

func playValidationContinued(tr *serverFixture) {
	tr.loaded.Settings.MaxSignals = 5
	validated(tr.fixture, func(_ int, box string) {
		for i := range 6 {
			tr.after(time.Duration(i)*2*time.Second, func() { tr.events(box, int64(i+2)) })
		}
		tr.after(30*time.Second, func() { tr.verdict(box, "ok") })
	})
	require.NoError(tr.t, tr.play())
	require.Len(tr.t, tr.begun, 2)
	require.NotEqual(tr.t, tr.firstRun, tr.currentRun())
}

// The run is reset while the validator runs: the new run continues with the same validator.
func playValidationReset(tr *serverFixture) {
	validated(tr.fixture, func(_ int, box string) {
		go func() {
			tr.mu.Lock()
			live := contract.LiveAttempt{Number: 2, SandboxID: box, Provider: "local", LastSequence: 1, Assigned: true, Started: true, Validates: true}
			tr.loaded.Reset, tr.loaded.Live, tr.loaded.Branch, tr.loaded.Base = true, &live, "feature/x", "c0ffee"
			tr.loaded.State = task.State{Status: task.StatusValidating, Attempts: 2, MaxRetries: 3, Rounds: 3, Stage: task.StageValidate}
			tr.unread[box] = contract.Digest{SandboxID: box, From: 1, To: 1, LastHeartbeat: tr.now(), Milestones: []contract.Milestone{{Sequence: 1, Type: event.AgentStarted}}}
			tr.mu.Unlock()
			tr.reset()
			tr.verdict(box, "ok")
		}()
	})
	require.NoError(tr.t, tr.play())
	require.Len(tr.t, tr.begun, 2, "the validator lives: no third attempt")
}

func playValidationOfSavedWork(tr *serverFixture) {
	validated(tr.fixture, judges(tr.fixture, "ok"))
	tr.loaded.Saved = true
	require.NoError(tr.t, tr.play())
	require.Equal(tr.t, []string{"validation"}, tr.kinds())
}

// The verdict is accepted before its validator ends, and arrives long after that.
func playValidationVerdictDue(tr *serverFixture) {
	validated(tr.fixture, lateVerdict(tr.fixture, 40*time.Second))
	tr.loaded.Settings.HeartbeatTimeout = time.Second
	require.NoError(tr.t, tr.play())
	require.Len(tr.t, tr.begun, 2)
}

func playValidationInterrupted(tr *serverFixture) {
	tr.loaded.State.MaxRetries = 0
	validated(tr.fixture, func(round int, box string) {
		if round > 1 {
			tr.verdict(box, "ok")
			return
		}
		tr.events(box, 2, interruptedValidator())
	})
	require.NoError(tr.t, tr.play())
	require.Equal(tr.t, []string{"first", "validation", "validation"}, tr.kinds())
}

// The validator reaches its own limit, and a user sends the work back.
func playValidationLimit(tr *serverFixture) {
	reviewedByUser(tr.fixture, contract.CommandVerdict, "no")
	require.NoError(tr.t, tr.play())
	require.Equal(tr.t, []string{"first", "validation", "revision", "validation"}, tr.kinds())
	require.Len(tr.t, tr.suspendedFor(task.BlockedReview), 1)
}

func playValidationError(tr *serverFixture) {
	failedValidator(tr.fixture)
	require.NoError(tr.t, tr.play())
	require.Equal(tr.t, []string{"first", "validation"}, tr.kinds())
	require.Len(tr.t, tr.suspendedFor(task.BlockedReview), 1)
}

// The verdict arrives during the start of the first agent, so that only the next attempt runs an agent.
func playVerdictEarly(tr *serverFixture) {
	judgedEarly(tr.fixture)
	require.NoError(tr.t, tr.play())
	require.Equal(tr.t, task.ReceiptCarriedOut, tr.receipts()["early"])
	require.Equal(tr.t, "revision", tr.begun[1].Kind)
}

func playValidationWithoutVerdict(tr *serverFixture) {
	validated(tr.fixture, func(round int, box string) {
		if round == 1 {
			tr.events(box, 2, completed(true))
			return
		}
		tr.verdict(box, "ok")
	})
	tr.loaded.Settings.HeartbeatTimeout, tr.loaded.Settings.RetryBase = time.Second, 100*time.Millisecond
	require.NoError(tr.t, tr.play())
	require.Equal(tr.t, []string{"first", "validation", "validation"}, tr.kinds())
}
