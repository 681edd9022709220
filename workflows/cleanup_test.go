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

func (s *stage) cleanup() contract.CleanupReceipt {
	s.t.Helper()
	s.env.ExecuteWorkflow(contract.CleanupWorkflow, contract.CleanupInput{SandboxID: "box1", TaskID: taskID, Attempt: 1})
	require.NoError(s.t, s.env.GetWorkflowError())
	var receipt contract.CleanupReceipt
	require.NoError(s.t, s.env.GetWorkflowResult(&receipt))
	return receipt
}

func TestCleanup_SavesDeletesAndVerifiesTwice(t *testing.T) {
	t.Parallel()
	s := newStage(t)
	require.Equal(t, contract.CleanupReceipt{SandboxID: "box1", Salvage: task.SalvageRef, Verified: true}, s.cleanup())
	require.Equal(t, []string{
		contract.LoadSandbox, contract.Salvage, "settle deleting", contract.DeleteSandbox, contract.VerifyDeleted,
		"settle gone", contract.VerifyDeleted, "settle verified",
	}, s.calls)
}

// What a lost create has brought behind the first look is looked for twice, as everything else.
func TestCleanup_SecondCheckFindsALateCreate(t *testing.T) {
	t.Parallel()
	s := newStage(t)
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
	s := newStage(t)
	for _, name := range []string{contract.DeleteSandbox, contract.VerifyDeleted, contract.RecordSandboxState} {
		p := contract.PolicyOf(name)
		require.Zero(t, p.Attempts, name)
		require.Zero(t, p.ScheduleToClose, name)
	}
	for range 8 { // the test environment knows no policy without a bound: it gives up after ten
		s.fail[contract.DeleteSandbox] = append(s.fail[contract.DeleteSandbox], errors.New("502"))
		s.fail[contract.VerifyDeleted] = append(s.fail[contract.VerifyDeleted], errors.New("502"))
	}
	require.True(t, s.cleanup().Verified)
}

func TestCleanup_UnreachableSandboxIsReported(t *testing.T) {
	t.Parallel()
	s := newStage(t)
	s.fail[contract.Salvage] = []error{refusal(task.ClassInfrastructure)}
	require.Equal(t, task.SalvageLost, s.cleanup().Salvage)
	require.Equal(t, 1, s.count("settle salvage_lost"))
	require.Equal(t, 1, s.count("settle verified"))
}

func TestCleanup_IgnoresACancel(t *testing.T) {
	t.Parallel()
	s := newStage(t)
	s.after(0, s.env.CancelWorkflow)
	require.True(t, s.cleanup().Verified)
}

// nobody is how an activity ends that no worker takes up.
func nobody() error { return temporal.NewTimeoutError(enums.TIMEOUT_TYPE_SCHEDULE_TO_START, nil) }

// The sandbox is found on another host, or its host comes back: the ledger is read again.
func TestCleanup_ReloadsTheSandboxsHost(t *testing.T) {
	t.Parallel()
	s := newStage(t)
	s.fail[contract.Salvage] = []error{nobody()}
	s.fail[contract.DeleteSandbox] = []error{nobody(), nobody()}
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

// It ends as Failed: should the host come back after all, it can be started again.
func TestCleanup_EndsWhenTheHostIsDeclaredLost(t *testing.T) {
	t.Parallel()
	s := newStage(t)
	s.fail[contract.DeleteSandbox] = []error{nobody()}
	s.ledger = func(n int) contract.LoadedSandbox {
		return contract.LoadedSandbox{Provider: "local", Verify: true, Salvaged: true, Lost: n > 1, SalvageWindow: 5 * time.Minute}
	}
	s.env.ExecuteWorkflow(contract.CleanupWorkflow, contract.CleanupInput{SandboxID: "box1"})
	require.ErrorContains(t, s.env.GetWorkflowError(), "declared lost")
	require.Equal(t, []string{contract.LoadSandbox, "settle deleting", contract.DeleteSandbox, contract.LoadSandbox}, s.calls)
}

// Waiting for a host must not fill a history: what is left to do is in the ledger.
func TestCleanup_WaitForTheHostContinuesAsNew(t *testing.T) {
	t.Parallel()
	s := newStage(t)
	s.env.SetContinueAsNewSuggested(true)
	s.fail[contract.Salvage] = []error{nobody()}
	s.env.ExecuteWorkflow(contract.CleanupWorkflow, contract.CleanupInput{SandboxID: "box1"})
	require.True(t, workflow.IsContinueAsNewError(s.env.GetWorkflowError()))
}
