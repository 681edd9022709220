package workflows

import (
	"strconv"

	"go.temporal.io/sdk/workflow"

	"github.com/omoi-dev/omoi/internal/contract"
)

// GuardianWorkflow is one cycle of the guardian. It analyzes each active agent once and sends the interventions that the
// policy of the agent's organization allows.
func GuardianWorkflow(ctx workflow.Context) (contract.CycleReport, error) {
	return runCycle(ctx, contract.BeginGuardianCycle, contract.AnalyzeAgents, contract.EndGuardianCycle)
}

// ConductorWorkflow is one cycle of the conductor. It analyzes the active agents of each organization together, once.
func ConductorWorkflow(ctx workflow.Context) (contract.CycleReport, error) {
	return runCycle(ctx, contract.BeginConductorCycle, contract.AnalyzeOrganizations, contract.EndConductorCycle)
}

// runCycle runs the activities begin, analyze for all ranges in parallel, and end. If a range fails, the other ranges
// continue, and the next cycle analyzes the failed range again.
func runCycle(ctx workflow.Context, begin, analyze, end string) (contract.CycleReport, error) {
	// A reset keeps the cycle's ID, so that no analysis or intervention is repeated.
	report := contract.CycleReport{ID: workflow.GetInfo(ctx).FirstRunID}
	var begun contract.BegunCycle
	if err := (call{name: begin}).get(ctx, contract.CycleRef{ID: report.ID}, &begun); err != nil {
		return report, err
	}
	report.Agents = begun.Agents
	pending := make([]workflow.Future, len(begun.Ranges))
	for n, r := range begun.Ranges {
		pending[n] = call{name: analyze, summary: "range of " + strconv.Itoa(r.Count)}.start(ctx, r)
	}
	for n, future := range pending {
		var done contract.CycleProgress
		if err := future.Get(ctx, &done); err != nil {
			workflow.GetLogger(ctx).Warn("analyze range failed", "activity", analyze, "error", err)
			done = contract.CycleProgress{Failed: begun.Ranges[n].Count}
		}
		report.Analyzed += done.Analyzed
		report.Fresh += done.Fresh
		report.Failed += done.Failed
		report.Interventions += done.Interventions
		report.Duplicates += done.Duplicates
	}
	return report, call{name: end}.get(ctx, report, nil)
}
