package workflows

import (
	"strconv"

	"go.temporal.io/sdk/workflow"

	"github.com/omoi-dev/omoi/internal/contract"
)

// ConductorWorkflow is one cycle of the conductor: the agents of each organization are looked at
// together once, in stretches of organizations side by side. A stretch that fails leaves the others alone.
func ConductorWorkflow(ctx workflow.Context) (contract.ConductReport, error) {
	// A reset is the same cycle: what was found stays found.
	report := contract.ConductReport{ID: workflow.GetInfo(ctx).FirstRunID}
	var begun contract.BegunConducting
	if err := (call{name: contract.BeginConductorCycle}).get(ctx, contract.CycleRef{ID: report.ID}, &begun); err != nil {
		return report, err
	}
	report.Organizations, report.Agents = begun.Organizations, begun.Agents
	var pending []workflow.Future
	for _, s := range begun.Stretches {
		c := call{name: contract.AnalyzeOrganizations, summary: strconv.Itoa(s.Count) + " organizations"}
		pending = append(pending, c.start(ctx, s))
	}
	for n, f := range pending {
		var done contract.Conducted
		if err := f.Get(ctx, &done); err != nil {
			workflow.GetLogger(ctx).Warn("stretch not looked at", "error", err)
			done = contract.Conducted{Failed: begun.Stretches[n].Count}
		}
		report.Analysed += done.Analysed
		report.Failed += done.Failed
		report.Duplicates += done.Duplicates
	}
	return report, call{name: contract.EndConductorCycle}.get(ctx, report, nil)
}
