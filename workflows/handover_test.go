package workflows_test

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"go.temporal.io/sdk/client"

	"github.com/omoi-dev/omoi/internal/contract"
	"github.com/omoi-dev/omoi/internal/task"
)

// lateCreates is a provider at which a lost create may appear so late.
func lateCreates(by time.Duration) func(int) contract.LoadedSandbox {
	return func(int) contract.LoadedSandbox {
		return contract.LoadedSandbox{Provider: "daytona", Verify: true, LongestCreate: by, SalvageWindow: 5 * time.Minute}
	}
}

// dies ends the first attempts of a task by their agents' errors, and completes the one after them.
func (s *stage) dies(attempts int) {
	s.spawned = func(n int, box string) {
		end := completed(true)
		if n <= attempts {
			end = agentError(task.ClassInfrastructure)
		}
		s.after(time.Second, func() { s.events(box, 1, started(), end) })
	}
}

// before reports whether the first call of one name came before the nth of another.
func (s *stage) before(first, second string, nth int) bool {
	for _, name := range s.calls {
		switch name {
		case first:
			return true
		case second:
			if nth--; nth == 0 {
				return false
			}
		}
	}
	return false
}

// The next attempt begins with what was saved, in a world in which the agent before it can do nothing any more, and waits for no
// second look. The completed task waits for all of them.
func TestTheNextAttemptWaitsForNoSecondLook(t *testing.T) {
	t.Parallel()
	s := newStage(t)
	s.env.SetDetachedChildWait(false)
	s.loaded.Settings.CleanupWait = time.Hour
	s.ledger = lateCreates(5 * time.Minute)
	s.dies(2)
	var begun []time.Time
	spawned := s.spawned
	s.spawned = func(n int, box string) {
		begun = append(begun, s.now())
		require.Equal(t, n-1, s.count(contract.Salvage), "the work is saved")
		require.Equal(t, n-1, s.count("settle gone"), "the agent before it is gone")
		spawned(n, box)
	}
	_, err := s.run()
	require.NoError(t, err)
	require.Len(t, begun, 3)
	require.Less(t, begun[2].Sub(begun[0]), 2*time.Minute)
	require.Equal(t, 3, s.count("settle verified"), "the end waits for the second looks")
}

// While the sandbox is there, its agent might act: nobody works beside it.
func TestTheNextAttemptWaitsUntilTheSandboxIsGone(t *testing.T) {
	t.Parallel()
	s := newStage(t)
	s.loaded.Settings.CleanupWait = time.Hour
	s.ledger = lateCreates(5 * time.Minute)
	s.lingers = 6
	s.dies(1)
	_, err := s.run()
	require.NoError(t, err)
	require.Len(t, s.begun, 2)
	require.True(t, s.before("settle gone", contract.BeginAttempt, 2))
	require.Greater(t, s.count(contract.VerifyDeleted), 6)
}

// A failed or cancelled task closes, so that a person can have it tried again, as soon as its sandbox is gone.
func TestAFailedTaskClosesOnceItsSandboxIsGone(t *testing.T) {
	t.Parallel()
	s := newStage(t)
	s.env.SetDetachedChildWait(false)
	s.loaded.State.MaxRetries = 0
	s.loaded.Settings.CleanupWait = time.Hour
	s.ledger = lateCreates(5 * time.Minute)
	s.dies(1)
	_, err := s.run()
	require.Error(t, err)
	require.Equal(t, 1, s.count("settle gone"))
	require.Zero(t, s.count("settle verified"))
}

// What the runs before have handed over is looked for again by cleanups of theirs: the ledger tells how that ends.
func TestTheEndWaitsForWhatEarlierRunsHaveLeft(t *testing.T) {
	t.Parallel()
	for name, in := range map[string]contract.TaskInput{
		"reset or retried":  {TaskID: taskID, CommandID: "start"},
		"continued as new":  {TaskID: taskID, CommandID: "start", State: continued()},
		"only to publish":   {TaskID: taskID, CommandID: "publish"},
		"never seen for it": {TaskID: taskID, CommandID: "start"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := newStage(t)
			s.loaded.Left, s.left = []string{"earlier", "before"}, map[string]int{"earlier": 3, "before": 1}
			s.loaded.PublishOnly = in.CommandID == "publish"
			if name == "never seen for it" {
				s.left["earlier"] = 1 << 20
			}
			s.fail[contract.LoadSandbox] = []error{nil, refusal(task.ClassInfrastructure)}
			s.after(time.Second, func() { s.events("box1", 1, started(), completed(true)) })
			begun := s.now()
			s.env.ExecuteWorkflow(contract.TaskWorkflow, in)
			require.NoError(t, s.env.GetWorkflowError())
			require.Equal(t, task.StatusCompleted, s.last().Status)
			require.LessOrEqual(t, s.left["before"], 0)
			if name != "never seen for it" {
				require.Zero(t, s.left["earlier"])
			}
			require.Less(t, s.now().Sub(begun), s.loaded.Settings.CleanupWait+10*time.Second)
		})
	}
}

// The sandbox of a task that was parked before it could be published is waited for, too.
func TestTheEndOfAParkedTaskWaitsForItsSecondLook(t *testing.T) {
	t.Parallel()
	s := newStage(t)
	s.env.SetDetachedChildWait(false)
	s.loaded.Settings.CleanupWait = time.Hour
	s.ledger = lateCreates(5 * time.Minute)
	s.fail[contract.OpenPullRequest] = []error{limit(s.now().Add(time.Minute))}
	s.after(time.Second, func() { s.events("box1", 1, started(), completed(true)) })
	_, err := s.run()
	require.NoError(t, err)
	require.Equal(t, 1, s.count("settle verified"))
}

// continued is the state of a run whose second attempt is at work.
func continued() *contract.TaskState {
	now := time.Now()
	s := contract.TaskState{
		Watch:   contract.WatchState{Assigned: now, LastBeat: now, LastWork: now, Started: true},
		Version: contract.TaskStateVersion, RunID: "the run before", Ordinal: 9,
		Judge:   task.State{Status: task.StatusRunning, SandboxID: "box1", Attempts: 2, Retries: 1, MaxRetries: 3},
		Attempt: &contract.LiveAttempt{Number: 2, SandboxID: "box1", Provider: "daytona", Assigned: true, Started: true},
	}
	s.Task.Settings = contract.Settings{
		HeartbeatTimeout: time.Hour, NoWorkTimeout: time.Hour, AttemptTimeout: time.Hour, CleanupWait: 2 * time.Minute, MaxSignals: 2000,
	}
	return &s
}

func playLeftByAnotherRun(tr *troupe) {
	earlier := tr.box(9)
	tr.loaded.Left, tr.left = []string{earlier}, map[string]int{earlier: 2}
	tr.succeeds()
	require.NoError(tr.t, tr.play())
	require.Zero(tr.t, tr.left[earlier])
}

// The reaper is quicker: the end waits for its cleanup, too.
func playCleanedByAnother(tr *troupe) {
	tr.ledger = func(int) contract.LoadedSandbox {
		box := lateCreates(time.Second)(0)
		box.Verified = tr.count("settle verified") > 0
		return box
	}
	tr.spawned = func(_ int, box string) {
		_, err := tr.c.ExecuteWorkflow(tr.t.Context(), client.StartWorkflowOptions{
			ID: contract.CleanupWorkflowID(box), TaskQueue: contract.QueueTasks,
		}, contract.CleanupWorkflow, contract.CleanupInput{SandboxID: box})
		require.NoError(tr.t, err)
		tr.after(time.Second, func() { tr.events(box, 1, started(), completed(true)) })
	}
	require.NoError(tr.t, tr.play())
	require.Greater(tr.t, tr.count(contract.LoadSandbox), 1, "the task has asked, too")
}

// The sandbox of a task that is parked before it is published may still be looked for when it is.
func playPublishedBeforeSecondLook(tr *troupe) {
	tr.succeeds()
	tr.ledger = lateCreates(5 * time.Second)
	tr.fail[contract.OpenPullRequest] = []error{limit(tr.now().Add(time.Second))}
	require.NoError(tr.t, tr.play())
	require.Len(tr.t, tr.begun, 1)
}
