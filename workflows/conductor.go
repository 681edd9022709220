package workflows

import (
	"go.temporal.io/sdk/workflow"

	"github.com/omoi-dev/omoi/internal/contract"
)

// ConductorWorkflow is one cycle of the conductor: the active agents of each organization are analyzed together once, in ranges of
// organizations side by side.
func ConductorWorkflow(ctx workflow.Context) (contract.ConductReport, error) {
	// A reset is the same cycle: what was found stays found.
	report := contract.ConductReport{ID: workflow.GetInfo(ctx).FirstRunID}
	var begun contract.BegunConducting
	if err := (call{name: contract.BeginConductorCycle}).get(ctx, contract.CycleRef{ID: report.ID}, &begun); err != nil {
		return report, err
	}
	report.Organizations, report.Agents = begun.Organizations, begun.Agents
	failed := func(count int) contract.Conducted { return contract.Conducted{Failed: count} }
	for _, done := range analyzeRanges(ctx, contract.AnalyzeOrganizations, "organizations", begun.Stretches, failed) {
		report.Analysed += done.Analysed
		report.Failed += done.Failed
		report.Duplicates += done.Duplicates
	}
	return report, call{name: contract.EndConductorCycle}.get(ctx, report, nil)
}
