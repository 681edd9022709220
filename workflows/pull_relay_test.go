package workflows_test

import (
	"context"
	"testing"
	"time"

	"github.com/stretchr/testify/mock"
	"github.com/stretchr/testify/require"
	"go.temporal.io/sdk/activity"
	"go.temporal.io/sdk/temporal"
	"go.temporal.io/sdk/workflow"

	"github.com/omoi-dev/omoi/internal/contract"
	"github.com/omoi-dev/omoi/internal/task"
)

// relaysUntilCancelled is a turn of a pull relay that lasts until the workflow cancels it.
func relaysUntilCancelled(ctx context.Context) (contract.PullRelayTurn, error) {
	for tick := time.NewTicker(20 * time.Millisecond); ; {
		activity.RecordHeartbeat(ctx)
		select {
		case <-ctx.Done():
			return contract.PullRelayTurn{}, ctx.Err()
		case <-tick.C:
		}
	}
}

// The first turn passes, the second one is cancelled by the cleanup, which reads the rest.
func playPull(tr *serverFixture) {
	tr.pulled = true
	tr.turn = func(ctx context.Context, n int) (contract.PullRelayTurn, error) {
		if n == 1 {
			return contract.PullRelayTurn{}, nil
		}
		return relaysUntilCancelled(ctx)
	}
	tr.succeeds()
	require.NoError(tr.t, tr.play())
	require.Equal(tr.t, "cancelled", tr.relayed().Over)
	require.Equal(tr.t, 1, tr.count(contract.FlushSpool))
	require.False(tr.t, tr.receipt().Unread)
}

func playPullUnread(tr *serverFixture) {
	tr.pulled = true
	tr.fail[contract.FlushSpool] = []error{refusal(task.ClassInfrastructure)}
	tr.succeeds()
	require.NoError(tr.t, tr.play())
	require.True(tr.t, tr.receipt().Unread)
	require.Equal(tr.t, 1, tr.count("settle verified"), "it keeps nothing alive")
}

// A user terminates the pull relay. The missing heartbeats lead to a check, which starts the pull relay again.
func playPullRelayTerminated(tr *serverFixture) {
	tr.pulled = true
	tr.loaded.Settings.HeartbeatTimeout, tr.loaded.Settings.UnknownRetry = time.Second, 100*time.Millisecond
	tr.spawned = func(_ int, box string) { tr.after(time.Second, func() { tr.events(box, 1, started()) }) }
	tr.turn = func(ctx context.Context, n int) (contract.PullRelayTurn, error) {
		if n > 1 {
			tr.events(tr.box(1), 2, completed(true))
			return relaysUntilCancelled(ctx)
		}
		require.NoError(tr.t, tr.c.TerminateWorkflow(ctx, contract.PullRelayWorkflowID(tr.box(1)), "", "a person"))
		return relaysUntilCancelled(ctx)
	}
	require.NoError(tr.t, tr.play())
	require.Equal(tr.t, "cancelled", tr.relayed().Over)
}

func (tr *serverFixture) relayed() (out contract.PullRelayResult) {
	require.NoError(tr.t, tr.await(tr.c.GetWorkflow(tr.t.Context(), contract.PullRelayWorkflowID(tr.box(1)), ""), &out))
	return out
}

func (tr *serverFixture) receipt() (out contract.CleanupReceipt) {
	require.NoError(tr.t, tr.await(tr.c.GetWorkflow(tr.t.Context(), contract.CleanupWorkflowID(tr.box(1)), ""), &out))
	return out
}

// A sandbox whose agent pushes its events has no pull relay.
func TestPushTransport_HasNoPullRelay(t *testing.T) {
	t.Parallel()
	s := newFixture(t)
	s.spawned = func(_ int, box string) { s.after(time.Second, func() { s.events(box, 1, started(), completed(true)) }) }
	_, err := s.run()
	require.NoError(t, err)
	require.Zero(t, s.count(contract.RelaySandbox)+s.count(contract.FlushSpool))
}

func (s *fixture) relay() error {
	s.env.ExecuteWorkflow(contract.PullRelayWorkflow, contract.PullRelayInput{SandboxRef: contract.SandboxRef{SandboxID: "box1"}})
	require.True(s.t, s.env.IsWorkflowCompleted())
	return s.env.GetWorkflowError()
}

func TestPullRelay_HasABoundedHistory(t *testing.T) {
	t.Parallel()
	s := newFixture(t)
	s.turn = func(context.Context, int) (contract.PullRelayTurn, error) { return contract.PullRelayTurn{}, nil }
	require.True(t, workflow.IsContinueAsNewError(s.relay()))
	require.Equal(t, contract.PullTurns, s.count(contract.RelaySandbox))
}

func TestPullRelay_SurvivesFailures(t *testing.T) {
	t.Parallel()
	require.Zero(t, contract.PolicyOf(contract.RelaySandbox).Attempts)
	require.Zero(t, contract.PolicyOf(contract.RelaySandbox).ScheduleToClose)
	require.LessOrEqual(t, contract.PolicyOf(contract.RelaySandbox).StartToClose, 5*time.Minute)
	s := newFixture(t)
	for range 5 {
		s.fail[contract.RelaySandbox] = append(s.fail[contract.RelaySandbox], temporal.NewApplicationError("the provider is down", "infrastructure"))
	}
	require.NoError(t, s.relay())
	require.Equal(t, 6, s.count(contract.RelaySandbox))
}

func TestCleanup_UnreachableSandboxReadsNoSpool(t *testing.T) {
	t.Parallel()
	s := newFixture(t)
	s.pulled = true
	s.fail[contract.Salvage] = []error{refusal(task.ClassInfrastructure)}
	s.env.OnRequestCancelExternalWorkflow(mock.Anything, contract.PullRelayWorkflowID("box1"), "").Return(nil).Once()
	receipt := s.cleanup()
	require.True(t, receipt.Unread)
	require.True(t, receipt.Verified)
	require.Zero(t, s.count(contract.FlushSpool))
}

// The provider is down for five minutes: the pull relay and every check fail, and no attempt is replaced.
func TestProviderDown_ForFiveMinutesReplacesNothing(t *testing.T) {
	t.Parallel()
	s := newFixture(t)
	s.pulled = true
	s.spawned = func(_ int, box string) {
		s.after(time.Second, func() { s.events(box, 1, started()) })
		s.after(6*time.Minute, func() { s.events(box, 2, completed(true)) })
	}
	s.env.OnRequestCancelExternalWorkflow(mock.Anything, contract.PullRelayWorkflowID("box1"), "").Return(nil)
	result, err := s.run()
	require.NoError(t, err)
	require.Equal(t, task.StatusCompleted, result.Status)
	require.Len(t, s.begun, 1)
	require.Greater(t, s.count(contract.CheckAgent), 2, "it was asked about")
}
