package workflows_test

import (
	"context"
	"os"
	"testing"

	"github.com/stretchr/testify/require"
	"go.temporal.io/sdk/client"

	"github.com/omoi-dev/omoi/internal/contract"
)

// registerConductor registers activities of a cycle with two ranges of organizations.
func (s *fixture) registerConductor(on func(string, any)) {
	on(contract.BeginConductorCycle, func(_ context.Context, in contract.CycleRef) (contract.BegunCycle, error) {
		out := contract.BegunCycle{Agents: 90}
		for _, upto := range []string{"m", "z"} {
			out.Ranges = append(out.Ranges, contract.Range{CycleID: in.ID, Upto: upto, Count: 15})
		}
		return out, s.called(contract.BeginConductorCycle)
	})
	on(contract.AnalyzeOrganizations, func(_ context.Context, in contract.Range) (contract.CycleProgress, error) {
		if err := s.called(contract.AnalyzeOrganizations + " " + in.Upto); err != nil {
			return contract.CycleProgress{}, err
		}
		return contract.CycleProgress{Analyzed: 15, Duplicates: 2}, nil
	})
	on(contract.EndConductorCycle, func(_ context.Context, in contract.CycleReport) error {
		s.mu.Lock()
		s.conducted = in
		s.mu.Unlock()
		return s.called(contract.EndConductorCycle)
	})
}

func TestConductor_ContinuesAfterAFailedRange(t *testing.T) {
	t.Parallel()
	s := newFixture(t)
	s.fail[contract.AnalyzeOrganizations+" m"] = []error{refusal("unavailable")}
	s.env.ExecuteWorkflow(contract.ConductorWorkflow)
	require.NoError(t, s.env.GetWorkflowError())
	var report contract.CycleReport
	require.NoError(t, s.env.GetWorkflowResult(&report))
	require.Equal(t, contract.CycleReport{ID: report.ID, Agents: 90, CycleProgress: contract.CycleProgress{Analyzed: 15, Failed: 15, Duplicates: 2}}, report)
	require.Equal(t, report, s.conducted)
}

// playConductor runs one cycle, in which one range fails once and is retried.
func playConductor(tr *serverFixture) {
	tr.fail[contract.AnalyzeOrganizations+" m"] = []error{os.ErrDeadlineExceeded}
	run, err := tr.c.ExecuteWorkflow(tr.t.Context(), client.StartWorkflowOptions{
		ID: "conductor-" + tr.taskID, TaskQueue: contract.QueueTasks, StaticSummary: "a test",
	}, contract.ConductorWorkflow)
	require.NoError(tr.t, err)
	require.NoError(tr.t, tr.await(run, nil))
	require.Equal(tr.t, contract.CycleReport{ID: run.GetRunID(), Agents: 90, CycleProgress: contract.CycleProgress{Analyzed: 30, Duplicates: 4}}, tr.conducted)
	if os.Getenv("OMOI_RECORD") != "" {
		tr.write("conductor", "cycle", run.GetID(), "")
	}
}
