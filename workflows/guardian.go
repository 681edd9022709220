package workflows

import (
	"go.temporal.io/sdk/workflow"

	"github.com/omoi-dev/omoi/internal/contract"
)

// GuardianWorkflow is one cycle of the guardian: each active agent is analyzed once, in ranges side by side, and the interventions
// that its policy allows are sent.
func GuardianWorkflow(ctx workflow.Context) (contract.CycleReport, error) {
	// A reset is the same cycle: what was analyzed and sent is not repeated.
	report := contract.CycleReport{ID: workflow.GetInfo(ctx).FirstRunID}
	var begun contract.BegunCycle
	if err := (call{name: contract.BeginGuardianCycle}).get(ctx, contract.CycleRef{ID: report.ID}, &begun); err != nil {
		return report, err
	}
	report.Active = begun.Active
	failed := func(count int) contract.Judged { return contract.Judged{Failed: count} }
	for _, judged := range analyzeRanges(ctx, contract.AnalyzeAgents, "sandboxes", begun.Stretches, failed) {
		report.Judged += judged.Judged
		report.Standing += judged.Standing
		report.Failed += judged.Failed
		report.Acted += judged.Acted
	}
	return report, call{name: contract.EndGuardianCycle}.get(ctx, report, nil)
}
