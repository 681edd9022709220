package workflows

import (
	"strconv"

	"go.temporal.io/sdk/workflow"

	"github.com/omoi-dev/omoi/internal/contract"
)

// GuardianWorkflow is one cycle of the guardian: each active agent is analyzed once, and the interventions that its policy allows are
// sent.
func GuardianWorkflow(ctx workflow.Context) (contract.CycleReport, error) {
	return runCycle(ctx, contract.BeginGuardianCycle, contract.AnalyzeAgents, contract.EndGuardianCycle)
}

// ConductorWorkflow is one cycle of the conductor: the active agents of each organization are analyzed together once.
func ConductorWorkflow(ctx workflow.Context) (contract.CycleReport, error) {
	return runCycle(ctx, contract.BeginConductorCycle, contract.AnalyzeOrganizations, contract.EndConductorCycle)
}

// runCycle analyzes all ranges of a cycle side by side, by the activities of these names. A range whose activity fails leaves the others
// alone; the next cycle analyzes it again.
func runCycle(ctx workflow.Context, begin, analyze, end string) (contract.CycleReport, error) {
	// A reset is the same cycle: what was analyzed and sent is not repeated.
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
