package workflows_test

import (
	"context"
	"os"
	"testing"

	"github.com/stretchr/testify/require"
	"go.temporal.io/sdk/client"

	"github.com/omoi-dev/omoi/internal/contract"
)

// registerRetention registers activities of a pass with two kinds; the kind events takes two steps.
func (s *fixture) registerRetention(on func(string, any)) {
	on(contract.BeginRetention, func(context.Context) (contract.RetentionBegun, error) {
		return contract.RetentionBegun{Kinds: []contract.RetentionStep{{Kind: "events"}, {Kind: "refs"}}}, s.called(contract.BeginRetention)
	})
	on(contract.RemoveExpired, func(_ context.Context, in contract.RetentionStep) (contract.RetentionDone, error) {
		if err := s.called(contract.RemoveExpired + " " + in.Kind); err != nil {
			return contract.RetentionDone{}, err
		}
		return contract.RetentionDone{Subjects: 2, Rows: 10, After: "t1", More: in.Kind == "events" && in.After == ""}, nil
	})
}

func TestRetention_ContinuesAfterAKindThatFails(t *testing.T) {
	t.Parallel()
	s := newFixture(t)
	s.fail[contract.RemoveExpired+" events"] = []error{refusal("unavailable")}
	s.env.ExecuteWorkflow(contract.RetentionWorkflow)
	require.NoError(t, s.env.GetWorkflowError())
	var report contract.RetentionReport
	require.NoError(t, s.env.GetWorkflowResult(&report))
	require.Equal(t, []contract.RetentionDone{{Kind: "events", Failed: 1}, {Kind: "refs", Subjects: 2, Rows: 10}}, report.Kinds)
}

// playRetention runs one pass, in which one step fails once and is retried.
func playRetention(tr *serverFixture) {
	tr.fail[contract.RemoveExpired+" events"] = []error{os.ErrDeadlineExceeded}
	run, err := tr.c.ExecuteWorkflow(tr.t.Context(), client.StartWorkflowOptions{
		ID: "retention-" + tr.taskID, TaskQueue: contract.QueueTasks, StaticSummary: "a test",
	}, contract.RetentionWorkflow)
	require.NoError(tr.t, err)
	var report contract.RetentionReport
	require.NoError(tr.t, tr.await(run, &report))
	require.Equal(tr.t, []contract.RetentionDone{{Kind: "events", Subjects: 4, Rows: 20}, {Kind: "refs", Subjects: 2, Rows: 10}}, report.Kinds)
	if os.Getenv("OMOI_RECORD") != "" {
		tr.write("retention", "pass", run.GetID(), "")
	}
}
