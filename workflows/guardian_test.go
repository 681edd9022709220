package workflows_test

import (
	"context"
	"os"
	"testing"

	"github.com/stretchr/testify/require"
	"go.temporal.io/sdk/client"

	"github.com/omoi-dev/omoi/internal/contract"
)

// registerGuardian registers activities of a cycle with three ranges.
func (s *fixture) registerGuardian(on func(string, any)) {
	on(contract.BeginGuardianCycle, func(_ context.Context, in contract.CycleRef) (contract.BegunCycle, error) {
		out := contract.BegunCycle{Agents: 60}
		for _, upto := range []string{"f", "m", "z"} {
			out.Ranges = append(out.Ranges, contract.Range{CycleID: in.ID, Upto: upto, Count: 20})
		}
		return out, s.called(contract.BeginGuardianCycle)
	})
	on(contract.AnalyzeAgents, func(_ context.Context, in contract.Range) (contract.CycleProgress, error) {
		if err := s.called(contract.AnalyzeAgents + " " + in.Upto); err != nil {
			return contract.CycleProgress{}, err
		}
		return contract.CycleProgress{Analyzed: 15, Fresh: 5, Interventions: 1}, nil
	})
	on(contract.EndGuardianCycle, func(_ context.Context, in contract.CycleReport) error {
		s.mu.Lock()
		s.report = in
		s.mu.Unlock()
		return s.called(contract.EndGuardianCycle)
	})
}

func TestCycle_ContinuesAfterAFailedRange(t *testing.T) {
	t.Parallel()
	s := newFixture(t)
	s.fail[contract.AnalyzeAgents+" m"] = []error{refusal("unavailable")}
	s.env.ExecuteWorkflow(contract.GuardianWorkflow)
	require.NoError(t, s.env.GetWorkflowError())
	var report contract.CycleReport
	require.NoError(t, s.env.GetWorkflowResult(&report))
	require.Equal(t, contract.CycleReport{ID: report.ID, Agents: 60, CycleProgress: contract.CycleProgress{Analyzed: 30, Fresh: 10, Failed: 20, Interventions: 2}}, report)
	require.Equal(t, report, s.report)
}

// playGuardian runs one cycle, in which one range fails once and is retried.
func playGuardian(tr *serverFixture) {
	tr.fail[contract.AnalyzeAgents+" f"] = []error{os.ErrDeadlineExceeded}
	run, err := tr.c.ExecuteWorkflow(tr.t.Context(), client.StartWorkflowOptions{
		ID: "guardian-" + tr.taskID, TaskQueue: contract.QueueTasks, StaticSummary: "a test",
	}, contract.GuardianWorkflow)
	require.NoError(tr.t, err)
	require.NoError(tr.t, tr.await(run, nil))
	require.Equal(tr.t, contract.CycleReport{ID: run.GetRunID(), Agents: 60, CycleProgress: contract.CycleProgress{Analyzed: 45, Fresh: 15, Interventions: 3}}, tr.report)
	if os.Getenv("OMOI_RECORD") != "" {
		tr.write("guardian", "cycle", run.GetID(), "")
	}
}
