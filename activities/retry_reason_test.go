package activities_test

import (
	"context"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"go.temporal.io/sdk/activity"
	"go.temporal.io/sdk/interceptor"
	"go.temporal.io/sdk/testsuite"
	"go.temporal.io/sdk/worker"
	"go.temporal.io/sdk/workflow"

	"github.com/omoi-dev/omoi/internal/contract"
	"github.com/omoi-dev/omoi/internal/task"
)

// tried runs an activity that fails with the given errors, one try after another, with the contract's retry policy.
func (b *bench) tried(name string, fails ...error) {
	b.Helper()
	var suite testsuite.WorkflowTestSuite
	env := suite.NewTestWorkflowEnvironment()
	env.SetWorkerOptions(worker.Options{Interceptors: []interceptor.WorkerInterceptor{b.activities().Errors()}})
	try := 0
	env.RegisterActivityWithOptions(func(context.Context, contract.SandboxRef) error {
		try++
		return fails[try-1]
	}, activity.RegisterOptions{Name: name})
	env.ExecuteWorkflow(func(ctx workflow.Context) error {
		ctx = workflow.WithStartToCloseTimeout(ctx, contract.PolicyOf(name).StartToClose)
		return workflow.ExecuteActivity(ctx, name, b.ref()).Get(ctx, nil)
	})
	require.True(b, env.IsWorkflowCompleted())
}

// The task's row holds why a step is retried, until the step succeeds.
func TestRetryReason_IsRecordedUntilSuccess(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	refusal := task.Errorf(task.CodeExhausted, "Daytona refused to make it: no quota")
	b.tried(contract.EnsureSandbox, refusal, refusal, refusal, nil)
	retrying := func(tries int, seconds float64) task.Reason {
		return task.Reason{Code: task.ReasonRetrying, Detail: "Daytona refused to make it: no quota", Tries: tries, Seconds: seconds}
	}
	require.Equal(t, []task.Reason{retrying(1, 1), retrying(2, 2), retrying(3, 4), {}}, b.store.troubles)
}

// A host that names a time for the retry gets it at that time, and the reason says so.
func TestRetryReason_NamesTheEndOfARateLimit(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	limit := task.Errorf(task.CodeExhausted, "GitHub's rate limit is reached")
	limit.After = 40 * time.Minute
	b.tried(contract.OpenPullRequest, limit, nil)
	wait := task.Reason{Code: task.ReasonRetrying, Detail: "GitHub's rate limit is reached", Tries: 1, Seconds: 2400}
	require.Equal(t, []task.Reason{wait, {}}, b.store.troubles)
}

// A final failure is the reason of the attempt's end, and a retry of omoi's own bookkeeping is not shown.
func TestRetryReason_OmitsFinalFailures(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	b.tried(contract.EnsureSandbox, errDown, task.Errorf(task.CodeForbidden, "the key is refused"))
	require.Len(t, b.store.troubles, 2)
	require.Empty(t, b.store.troubles[1])
	b.store.troubles = nil
	b.tried(contract.SaveTaskState, errDown, nil)
	require.Empty(t, b.store.troubles)
}
