package workflows_test

import (
	"errors"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	commonpb "go.temporal.io/api/common/v1"
	"go.temporal.io/api/enums/v1"
	"go.temporal.io/sdk/converter"
	"go.temporal.io/sdk/temporal"
	"go.temporal.io/sdk/workflow"

	"github.com/omoi-dev/omoi/internal/contract"
	"github.com/omoi-dev/omoi/internal/task"
)

func decode(p *commonpb.Payloads, out any) error {
	return converter.GetDefaultDataConverter().FromPayloads(p, out)
}

func (s *fixture) cleanup() contract.CleanupReceipt {
	s.t.Helper()
	s.env.ExecuteWorkflow(contract.CleanupWorkflow, contract.CleanupInput{SandboxID: "box1", TaskID: taskID, Attempt: 1})
	require.NoError(s.t, s.env.GetWorkflowError())
	var receipt contract.CleanupReceipt
	require.NoError(s.t, s.env.GetWorkflowResult(&receipt))
	return receipt
}

func TestCleanup_SavesDeletesAndVerifiesTwice(t *testing.T) {
	t.Parallel()
	s := newFixture(t)
	require.Equal(t, contract.CleanupReceipt{SandboxID: "box1", Salvage: task.SalvageRef, Verified: true}, s.cleanup())
	require.Equal(t, []string{
		contract.LoadSandbox, contract.Salvage, "settle deleting", contract.DeleteSandbox, contract.VerifyDeleted,
		"settle gone", contract.VerifyDeleted, "settle verified",
	}, s.calls)
}

// A sandbox that a lost create request produced after the first absence check is verified twice as well.
func TestCleanup_SecondCheckFindsALateCreate(t *testing.T) {
	t.Parallel()
	s := newFixture(t)
	s.ledger = func(int) contract.LoadedSandbox {
		return contract.LoadedSandbox{Provider: "daytona", Verify: true, Salvaged: true, LongestCreate: 5 * time.Minute}
	}
	s.after(time.Minute, func() { s.lingers = 2 })
	began := s.now()
	require.True(t, s.cleanup().Verified)
	require.Equal(t, []string{
		contract.LoadSandbox, "settle deleting", contract.DeleteSandbox, contract.VerifyDeleted,
		"settle gone", contract.VerifyDeleted, contract.DeleteSandbox, contract.VerifyDeleted,
		"settle gone", contract.VerifyDeleted, "settle verified",
	}, s.calls)
	require.GreaterOrEqual(t, s.now().Sub(began), 10*time.Minute, "the second look at it is later than another could appear")
}

func TestCleanup_ContinuesUntilVerified(t *testing.T) {
	t.Parallel()
	s := newFixture(t)
	for _, name := range []string{contract.DeleteSandbox, contract.VerifyDeleted, contract.RecordSandboxState} {
		p := contract.PolicyOf(name)
		require.Zero(t, p.Attempts, name)
		require.Zero(t, p.ScheduleToClose, name)
	}
	for range 8 { // the test environment retries at most ten times, whatever the policy
		s.fail[contract.DeleteSandbox] = append(s.fail[contract.DeleteSandbox], errors.New("502"))
		s.fail[contract.VerifyDeleted] = append(s.fail[contract.VerifyDeleted], errors.New("502"))
	}
	require.True(t, s.cleanup().Verified)
}

func TestCleanup_UnreachableSandboxIsReported(t *testing.T) {
	t.Parallel()
	s := newFixture(t)
	s.fail[contract.Salvage] = []error{refusal(task.ClassInfrastructure)}
	require.Equal(t, task.SalvageLost, s.cleanup().Salvage)
	require.Equal(t, 1, s.count("settle salvage_lost"))
	require.Equal(t, 1, s.count("settle verified"))
}

func TestCleanup_IgnoresACancel(t *testing.T) {
	t.Parallel()
	s := newFixture(t)
	s.after(0, s.env.CancelWorkflow)
	require.True(t, s.cleanup().Verified)
}

// unattended returns the error of an activity that no worker starts in time.
func unattended() error { return temporal.NewTimeoutError(enums.TIMEOUT_TYPE_SCHEDULE_TO_START, nil) }

// The sandbox may be found on another host, or its host may come back, so that the cleanup reads the ledger again.
func TestCleanup_ReloadsTheSandboxsHost(t *testing.T) {
	t.Parallel()
	s := newFixture(t)
	s.fail[contract.Salvage] = []error{unattended()}
	s.fail[contract.DeleteSandbox] = []error{unattended(), unattended()}
	s.ledger = func(n int) contract.LoadedSandbox {
		return contract.LoadedSandbox{Provider: "local", Verify: true, Salvaged: n > 2, SalvageWindow: 5 * time.Minute}
	}
	require.Equal(t, contract.CleanupReceipt{SandboxID: "box1", Salvage: task.SalvageRef, Verified: true}, s.cleanup())
	require.Equal(t, []string{
		contract.LoadSandbox, contract.Salvage,
		contract.LoadSandbox, contract.Salvage, "settle deleting", contract.DeleteSandbox,
		contract.LoadSandbox, "settle deleting", contract.DeleteSandbox,
		contract.LoadSandbox, "settle deleting", contract.DeleteSandbox, contract.VerifyDeleted,
		"settle gone", contract.VerifyDeleted, "settle verified",
	}, s.calls)
}

// The workflow closes as Failed, so that it can be started again if the host comes back.
func TestCleanup_EndsWhenTheHostIsDeclaredLost(t *testing.T) {
	t.Parallel()
	s := newFixture(t)
	s.fail[contract.DeleteSandbox] = []error{unattended()}
	s.ledger = func(n int) contract.LoadedSandbox {
		return contract.LoadedSandbox{Provider: "local", Verify: true, Salvaged: true, Lost: n > 1, SalvageWindow: 5 * time.Minute}
	}
	s.env.ExecuteWorkflow(contract.CleanupWorkflow, contract.CleanupInput{SandboxID: "box1"})
	require.ErrorContains(t, s.env.GetWorkflowError(), "declared lost")
	require.Equal(t, []string{contract.LoadSandbox, "settle deleting", contract.DeleteSandbox, contract.LoadSandbox}, s.calls)
}

// Waiting for a host must not fill a history. The remaining steps are in the ledger.
func TestCleanup_WaitForTheHostContinuesAsNew(t *testing.T) {
	t.Parallel()
	s := newFixture(t)
	s.env.SetContinueAsNewSuggested(true)
	s.fail[contract.Salvage] = []error{unattended()}
	s.env.ExecuteWorkflow(contract.CleanupWorkflow, contract.CleanupInput{SandboxID: "box1"})
	require.True(t, workflow.IsContinueAsNewError(s.env.GetWorkflowError()))
}
