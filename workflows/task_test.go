package workflows_test

import (
	"errors"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"go.temporal.io/sdk/temporal"
	"go.temporal.io/sdk/worker"
	"go.temporal.io/sdk/workflow"

	"github.com/omoi-dev/omoi/internal/contract"
	"github.com/omoi-dev/omoi/internal/event"
	"github.com/omoi-dev/omoi/internal/task"
)

func workerOptions() worker.Options { return worker.Options{DeadlockDetectionTimeout: time.Minute} }

// succeeds lets the agent of each attempt report its start and complete.
func (s *fixture) succeeds() {
	s.spawned = func(_ int, box string) {
		s.after(time.Second, func() { s.events(box, 1, started()) })
		s.after(2*time.Second, func() { s.events(box, 2, completed(true)) })
	}
}

func TestTaskCompletes(t *testing.T) {
	t.Parallel()
	s := newFixture(t)
	s.succeeds()
	result, err := s.run()
	require.NoError(t, err)
	require.Equal(t, contract.TaskResult{Status: task.StatusCompleted, Branch: "feature/x", PullURL: "https://git/pull/7"}, result)
	require.Equal(t, []task.Status{task.StatusAssigned, task.StatusRunning, task.StatusCompleted}, s.statuses())
	require.Equal(t, []string{
		contract.LoadTask, contract.EnsureBranch, contract.BeginAttempt, contract.EnsureSandbox, contract.StartAgent,
		contract.SaveTaskState, contract.CollectWork, contract.OpenPullRequest, contract.SaveTaskState,
		contract.LoadSandbox, contract.Salvage, "settle deleting", contract.DeleteSandbox, contract.VerifyDeleted,
		"settle gone", contract.VerifyDeleted, "settle verified",
	}, s.calls)
	last := s.last()
	require.True(t, last.ReleaseSlot)
	require.Empty(t, last.SandboxID)
	require.Equal(t, &contract.AttemptEnd{Number: 1, Outcome: "completed", Reason: last.Reason}, last.Ended)
	require.Equal(t, 7, last.PullNumber)
	var ordinals []int64
	for _, p := range s.projects {
		ordinals = append(ordinals, p.Ordinal)
	}
	require.Equal(t, []int64{2, 2, 3}, ordinals, "BeginAttempt took the first, and progress takes none")
}

func TestTaskWithoutRepositoryHasNothingToPublish(t *testing.T) {
	t.Parallel()
	s := newFixture(t)
	s.loaded.HasRepo = false
	s.succeeds()
	result, err := s.run()
	require.NoError(t, err)
	require.Equal(t, task.StatusCompleted, result.Status)
	require.Zero(t, s.count(contract.EnsureBranch)+s.count(contract.CollectWork)+s.count(contract.OpenPullRequest))
}

// A user may have deleted the branch since the previous run.
func TestRetry_FindsItsBranch(t *testing.T) {
	t.Parallel()
	s := newFixture(t)
	s.loaded.Base, s.loaded.Branch, s.loaded.State.Attempts = "c0ffee", "feature/x", 1
	s.succeeds()
	_, err := s.run()
	require.NoError(t, err)
	require.Equal(t, 1, s.count(contract.EnsureBranch))
}

func TestLoadTask_SettledOrLostEndsTheRun(t *testing.T) {
	t.Parallel()
	s := newFixture(t)
	s.loaded.Settled = task.StatusCompleted
	result, err := s.run()
	require.NoError(t, err)
	require.Equal(t, "already completed", result.Reason)
	require.Equal(t, []string{contract.LoadTask}, s.calls)

	s = newFixture(t)
	s.loaded.Lost = true
	result, err = s.run()
	require.NoError(t, err)
	require.Contains(t, result.Reason, "another run")
	require.Equal(t, []string{contract.LoadTask}, s.calls)
}

func TestFencedRun_EndsQuietly(t *testing.T) {
	t.Parallel()
	s := newFixture(t)
	s.fenced = true
	result, err := s.run()
	require.NoError(t, err)
	require.Contains(t, result.Reason, "another run owns")
	require.Zero(t, s.count(contract.DeleteSandbox), "the sandbox belongs to the other run")
}

func TestReset_ToMidRunTakesOverTheRow(t *testing.T) {
	t.Parallel()
	s := newFixture(t)
	s.foreign = true
	s.succeeds()
	result, err := s.run()
	require.NoError(t, err)
	require.Equal(t, task.StatusCompleted, result.Status)
	require.Len(t, s.begun, 1)
}

func TestRetryThenSuccess(t *testing.T) {
	t.Parallel()
	s := newFixture(t)
	s.spawned = func(n int, box string) {
		s.after(time.Second, func() { s.events(box, 1, started()) })
		end := completed(true)
		if n == 1 {
			end = agentError(task.ClassAgentError)
		}
		s.after(2*time.Second, func() { s.events(box, 2, end) })
	}
	_, err := s.run()
	require.NoError(t, err)
	require.Equal(t, []task.Status{
		task.StatusAssigned, task.StatusRunning, task.StatusPending,
		task.StatusAssigned, task.StatusRunning, task.StatusCompleted,
	}, s.statuses())
	require.Equal(t, 1, s.last().Retries)
	require.Len(t, s.begun, 2)
	require.Equal(t, "retry", s.begun[1].Kind)
	require.Equal(t, "error-1", s.begun[1].FeedbackID)
	require.Equal(t, []string{"box1", "box2"}, s.cleaned)
	require.Equal(t, 1, s.count(contract.EnsureBranch), "a retry continues on its branch")
}

func TestLastFailureClosesAsFailed(t *testing.T) {
	t.Parallel()
	s := newFixture(t)
	s.loaded.State.MaxRetries = 0
	s.spawned = func(_ int, box string) {
		s.after(time.Second, func() { s.events(box, 1, started(), agentError(task.ClassAgentError)) })
	}
	_, err := s.run()
	var app *temporal.ApplicationError
	require.ErrorAs(t, err, &app)
	require.Equal(t, string(task.ClassAgentError), app.Type())
	require.Equal(t, task.StatusFailed, s.last().Status)
	require.True(t, s.last().ReleaseSlot)
	require.Equal(t, "error-1", s.last().ErrorID)
	require.Equal(t, []string{"box1"}, s.cleaned)
}

// A failure without a reason gets a default sentence; success keeps its text.
func TestTaskEnd_WithoutReasonHasASentence(t *testing.T) {
	t.Parallel()
	for want, end := range map[string]contract.Milestone{
		"Task execution failed":                                            {Type: event.AgentFailed},
		"The agent ended without success and did not say why.":             completed(false),
		"The agent ended without a passed validation and did not say why.": {Type: event.ContinuousCompleted},
		"max_turns": {Type: event.AgentCompleted, StopReason: "max_turns"},
	} {
		s := newFixture(t)
		s.loaded.State.MaxRetries = 0
		s.spawned = func(_ int, box string) {
			s.after(time.Second, func() { s.events(box, 1, started(), end) })
		}
		_, err := s.run()
		require.Error(t, err)
		require.Equal(t, task.StatusFailed, s.last().Status)
		require.Equal(t, want, s.last().Reason)
		require.Equal(t, want, s.last().Ended.Reason)
	}
}

func TestInvalidInputIsFinal(t *testing.T) {
	t.Parallel()
	s := newFixture(t)
	s.fail[contract.EnsureBranch] = []error{refusal(task.ClassInvalidInput)}
	_, err := s.run()
	var app *temporal.ApplicationError
	require.ErrorAs(t, err, &app)
	require.Equal(t, string(task.ClassInvalidInput), app.Type())
	require.Equal(t, "it was refused", s.last().Reason)
	require.Zero(t, s.count(contract.BeginAttempt))
}

func TestDigest_OfOtherSandboxesAndDuplicatesChangeNothing(t *testing.T) {
	t.Parallel()
	s := newFixture(t)
	s.spawned = func(_ int, box string) {
		s.after(time.Second, func() { s.events("foreign", 1, completed(true)) })
		s.after(2*time.Second, func() { s.events(box, 1, started()) })
		s.after(3*time.Second, func() { s.events(box, 1, agentError(task.ClassAgentError)) }) // duplicate of sequence 1
		s.after(4*time.Second, func() { s.events(box, 2, completed(true)) })
	}
	result, err := s.run()
	require.NoError(t, err)
	require.Equal(t, task.StatusCompleted, result.Status)
	require.Len(t, s.begun, 1)
}

func TestDigest_GapIsReadFromTheStore(t *testing.T) {
	t.Parallel()
	s := newFixture(t)
	s.spawned = func(_ int, box string) {
		s.unread[box] = contract.Digest{
			SandboxID: box, From: 1, To: 5, LastHeartbeat: s.now().Add(time.Second),
			Milestones: []contract.Milestone{
				{Sequence: 1, Type: event.AgentStarted}, {Sequence: 5, Type: event.AgentCompleted, OK: true},
			},
		}
		s.after(time.Second, func() { s.events(box, 5, completed(true)) })
	}
	_, err := s.run()
	require.NoError(t, err)
	require.Equal(t, 1, s.count(contract.LoadEvents))
	require.Equal(t, []task.Status{task.StatusAssigned, task.StatusRunning, task.StatusCompleted}, s.statuses())
}

func TestDigest_StartedBeforeTheAssignmentIsKept(t *testing.T) {
	t.Parallel()
	s := newFixture(t)
	s.spawned = func(_ int, box string) { s.events(box, 1, started(), completed(true)) }
	_, err := s.run()
	require.NoError(t, err)
	require.Equal(t, []task.Status{task.StatusAssigned, task.StatusRunning, task.StatusCompleted}, s.statuses())
}

func TestTask_WaitsForItsSlot(t *testing.T) {
	t.Parallel()
	s := newFixture(t)
	s.loaded.HoldsSlot = false
	s.succeeds()
	s.after(time.Hour, func() {
		require.Zero(t, s.count(contract.EnsureBranch))
		s.signal(contract.SignalAdmitted, nil)
	})
	_, err := s.run()
	require.NoError(t, err)
	require.Equal(t, 1, s.count(contract.BeginAttempt))
}

func TestTask_OldAdmissionIsNoSlot(t *testing.T) {
	t.Parallel()
	s := newFixture(t)
	s.loaded.HoldsSlot, s.granted = false, false
	s.succeeds()
	s.after(time.Minute, func() { s.signal(contract.SignalAdmitted, nil) })
	s.after(time.Hour, func() {
		require.Zero(t, s.count(contract.BeginAttempt))
		s.granted = true
		s.signal(contract.SignalAdmitted, nil)
	})
	_, err := s.run()
	require.NoError(t, err)
}

// TestCancel cancels at every step, by command, by the temporal CLI's signal and by its cancel.
func TestCancel(t *testing.T) {
	t.Parallel()
	how := map[string]func(*fixture){
		"command":        func(s *fixture) { s.command(contract.CommandCancel, "c1", "enough") },
		"signal":         func(s *fixture) { s.command(contract.CommandCancel, "", "enough") },
		"cancel request": func(s *fixture) { s.env.CancelWorkflow() },
	}
	steps := map[string]func(*fixture, func()){
		"before admission": func(s *fixture, cancel func()) {
			s.loaded.HoldsSlot = false
			s.after(time.Minute, cancel)
		},
		"before the branch": func(s *fixture, cancel func()) { s.after(0, cancel) },
		"in create": func(s *fixture, cancel func()) {
			s.fail[contract.EnsureSandbox] = make([]error, 0, 50)
			for range 50 {
				s.fail[contract.EnsureSandbox] = append(s.fail[contract.EnsureSandbox], errors.New("the provider is slow"))
			}
			s.after(5*time.Second, cancel)
		},
		"in mid-run": func(s *fixture, cancel func()) {
			s.spawned = func(_ int, box string) {
				s.after(time.Second, func() { s.events(box, 1, started()) })
				s.after(5*time.Second, cancel)
			}
		},
		"in publish": func(s *fixture, cancel func()) {
			s.succeeds()
			for range 50 {
				s.fail[contract.CollectWork] = append(s.fail[contract.CollectWork], errors.New("the sandbox is slow"))
			}
			s.after(10*time.Second, cancel)
		},
	}
	for step, arrange := range steps {
		for way, cancel := range how {
			t.Run(step+" by "+way, func(t *testing.T) {
				t.Parallel()
				s := newFixture(t)
				arrange(s, func() { cancel(s) })
				_, err := s.run()
				require.Error(t, err)
				require.True(t, temporal.IsCanceledError(err), "%v", err)
				require.Equal(t, task.StatusCancelled, s.last().Status)
				require.True(t, s.last().ReleaseSlot)
				if s.count(contract.BeginAttempt) > 0 {
					require.Equal(t, []string{"box1"}, s.cleaned)
				}
				if way == "command" {
					require.Equal(t, task.ReceiptCarriedOut, s.receipts()["c1"])
				}
			})
		}
	}
}

func TestCancelAfterTheEndIsTooLate(t *testing.T) {
	t.Parallel()
	s := newFixture(t)
	s.succeeds()
	s.fail[contract.SaveTaskState] = []error{nil} // of the running agent
	for range 6 {
		s.fail[contract.SaveTaskState] = append(s.fail[contract.SaveTaskState], errors.New("the database is away"))
	}
	s.after(3*time.Second, func() { s.command(contract.CommandCancel, "late", "") })
	result, err := s.run()
	require.NoError(t, err)
	require.Equal(t, task.StatusCompleted, result.Status)
	require.Equal(t, task.ReceiptTooLate, s.receipts()["late"])
}

func TestSecondCancelIsTooLate(t *testing.T) {
	t.Parallel()
	s := newFixture(t)
	s.spawned = func(_ int, box string) {
		s.after(time.Second, func() {
			s.command(contract.CommandCancel, "first", "")
			s.command(contract.CommandCancel, "second", "")
		})
	}
	_, err := s.run()
	require.True(t, temporal.IsCanceledError(err))
	require.Equal(t, task.ReceiptCarriedOut, s.receipts()["first"])
	require.Equal(t, task.ReceiptTooLate, s.receipts()["second"])
}

func TestReset_InMidRunContinuesWithTheRunningSandbox(t *testing.T) {
	t.Parallel()
	s := newFixture(t)
	live := contract.LiveAttempt{Number: 4, SandboxID: "alive", Provider: "local", LastSequence: 9, Assigned: true, Started: true}
	s.loaded.Reset, s.loaded.Live, s.loaded.Base, s.loaded.Branch = true, &live, "c0ffee", "feature/x"
	s.loaded.State = task.State{Status: task.StatusRunning, Attempts: 4, MaxRetries: 3}
	s.unread["alive"] = contract.Digest{
		SandboxID: "alive", From: 1, To: 9, LastHeartbeat: time.Now(),
		Milestones: []contract.Milestone{{Sequence: 1, Type: event.AgentStarted}},
	}
	s.after(0, func() { s.command(contract.CommandCancel, "", "re-applied by the reset") })
	s.after(time.Minute, func() { s.events("alive", 10, completed(true)) })
	result, err := s.run()
	require.NoError(t, err)
	require.Equal(t, task.StatusCompleted, result.Status)
	require.Zero(t, s.count(contract.BeginAttempt)+s.count(contract.LoadCommand))
}

func TestContinueAsNew_OnlyWithNothingInFlight(t *testing.T) {
	t.Parallel()
	s := newFixture(t)
	s.loaded.Settings.MaxSignals = 20
	s.spawned = func(_ int, box string) {
		s.after(time.Second, func() { s.events(box, 1, started()) })
		for i := range 40 {
			s.after(time.Duration(i+2)*time.Second, func() { s.events(box, int64(i+2)) })
		}
	}
	_, err := s.run()
	var next *workflow.ContinueAsNewError
	require.ErrorAs(t, err, &next)
	require.Empty(t, s.cleaned, "the sandbox lives on")

	var in contract.TaskInput
	require.NoError(t, decode(next.Input, &in))
	require.Equal(t, "start", in.CommandID)
	require.Equal(t, contract.TaskStateVersion, in.State.Version)
	require.EqualValues(t, 20, in.State.Watch.Seen)

	after := newFixture(t)
	after.after(time.Second, func() { after.events("box1", 21, completed(true)) })
	after.env.ExecuteWorkflow(contract.TaskWorkflow, in)
	require.NoError(t, after.env.GetWorkflowError())
	require.Zero(t, after.count(contract.BeginAttempt))
	require.Equal(t, task.StatusCompleted, after.last().Status)
	require.Greater(t, after.last().Ordinal, in.State.Ordinal)

	// a reset of that run after its end: the state in its input is out of date
	reset := newFixture(t)
	reset.overtaken, reset.loaded = true, contract.LoadedTask{Settled: task.StatusCompleted}
	reset.env.ExecuteWorkflow(contract.TaskWorkflow, in)
	require.NoError(t, reset.env.GetWorkflowError())
	require.Equal(t, []string{contract.LoadTask}, reset.calls)
}

func TestUnreadableSignals_AreIgnored(t *testing.T) {
	t.Parallel()
	s := newFixture(t)
	s.spawned = func(_ int, box string) {
		s.after(time.Second, func() {
			s.signal(contract.SignalCommand, "cancel")
			s.signal(contract.SignalSandboxEvents, []int{1})
		})
		s.after(2*time.Second, func() { s.events(box, 1, started()) })
		s.after(3*time.Second, func() { s.command(contract.CommandCancel, "c1", "enough") })
	}
	_, err := s.run()
	require.True(t, temporal.IsCanceledError(err), "%v", err)
	require.Equal(t, task.ReceiptCarriedOut, s.receipts()["c1"])
	require.Contains(t, s.statuses(), task.StatusRunning)
}

func TestDigest_InconsistentIsReadFromTheStore(t *testing.T) {
	t.Parallel()
	s := newFixture(t)
	s.spawned = func(_ int, box string) {
		s.after(time.Second, func() {
			s.unread[box] = contract.Digest{SandboxID: box, From: 1, To: 1, Milestones: []contract.Milestone{{Sequence: 1, Type: event.AgentStarted}}}
			s.signal(contract.SignalSandboxEvents, contract.Digest{
				SandboxID: box, From: 1, To: 9999, Milestones: []contract.Milestone{{Sequence: 9999, Type: event.AgentCompleted, OK: true}},
			})
		})
		s.after(3*time.Second, func() { s.events(box, 2, completed(false)) })
	}
	s.loaded.State.MaxRetries = 0
	_, err := s.run()
	require.Error(t, err, "what the person claimed would have completed the task")
	require.Equal(t, 1, s.count(contract.LoadEvents))
	require.Contains(t, s.statuses(), task.StatusRunning)
}
