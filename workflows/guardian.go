package workflows

import (
	"strconv"

	"go.temporal.io/sdk/workflow"

	"github.com/omoi-dev/omoi/internal/contract"
)

// GuardianWorkflow is one cycle of the guardian: every active sandbox is judged once, in
// stretches side by side, and what is to be done about it is done. A stretch that fails leaves
// the others alone; the next cycle looks again.
func GuardianWorkflow(ctx workflow.Context) (contract.CycleReport, error) {
	// A reset is the same cycle: what was judged and said stays judged and said.
	report := contract.CycleReport{ID: workflow.GetInfo(ctx).FirstRunID}
	var begun contract.BegunCycle
	if err := (call{name: contract.BeginGuardianCycle}).get(ctx, contract.CycleRef{ID: report.ID}, &begun); err != nil {
		return report, err
	}
	report.Active = begun.Active
	var pending []workflow.Future
	for _, s := range begun.Stretches {
		c := call{name: contract.AnalyzeAgents, summary: strconv.Itoa(s.Count) + " sandboxes"}
		pending = append(pending, c.start(ctx, s))
	}
	for n, f := range pending {
		var judged contract.Judged
		if err := f.Get(ctx, &judged); err != nil {
			workflow.GetLogger(ctx).Warn("stretch not judged", "error", err)
			judged = contract.Judged{Failed: begun.Stretches[n].Count}
		}
		report.Judged += judged.Judged
		report.Standing += judged.Standing
		report.Failed += judged.Failed
		report.Acted += judged.Acted
	}
	return report, call{name: contract.EndGuardianCycle}.get(ctx, report, nil)
}
