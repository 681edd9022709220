package workflows

import (
	"go.temporal.io/sdk/workflow"

	"github.com/omoi-dev/omoi/internal/contract"
)

// ReaperWorkflow is one pass of the reaper. It reconciles tasks whose workflow was terminated, starts the cleanup of
// orphans, and runs admission once for every organization. If nothing is left to do, it pauses its schedule.
func ReaperWorkflow(ctx workflow.Context) (contract.ReaperReport, error) {
	var report contract.ReaperReport
	var repaired contract.ReconcileTasksResult
	if err := (call{name: contract.ReconcileTasks}).get(ctx, nil, &repaired); err != nil {
		return report, err
	}
	report.Abandoned = repaired.Abandoned
	orphans, err := findOrphans(ctx, &report)
	if err != nil {
		return report, err
	}
	for _, o := range orphans {
		c := call{name: contract.StartCleanup, summary: o.SandboxID}
		if err := c.get(ctx, o.CleanupInput, nil); err != nil {
			workflow.GetLogger(ctx).Warn("start cleanup failed", "sandbox_id", o.SandboxID, "error", err)
		}
	}
	if err := (call{name: contract.AdmitTasks}).get(ctx, nil, nil); err != nil {
		return report, err
	}
	var rest contract.PauseIdleReaperResult
	// A sandbox that exists can become an orphan, also if it is missing in the ledger.
	if len(orphans) == 0 && report.Alert == "" && report.Alive == 0 {
		err = call{name: contract.PauseIdleReaper}.get(ctx, nil, &rest)
	}
	report.Paused = rest.Paused
	return report, err
}

// findOrphans asks the ledger, and then all providers in parallel, each on its own task queue. A provider that does not
// answer has no orphans in this pass: omoi never deletes a sandbox because a state is unknown.
func findOrphans(ctx workflow.Context, report *contract.ReaperReport) ([]contract.Orphan, error) {
	var places contract.ListReaperTargetsResult
	if err := (call{name: contract.ListReaperTargets}).get(ctx, nil, &places); err != nil {
		return nil, err
	}
	pending := []workflow.Future{call{name: contract.FindOrphans, summary: "ledger"}.start(ctx, contract.FindOrphansInput{})}
	for _, t := range places.Targets {
		c := call{name: contract.FindOrphans, queue: t.Queue, summary: t.Provider}
		pending = append(pending, c.start(ctx, contract.FindOrphansInput{Provider: t.Provider}))
	}
	seen := make(map[string]bool)
	var orphans []contract.Orphan
	for _, f := range pending {
		var found contract.Orphans
		if err := f.Get(ctx, &found); err != nil {
			workflow.GetLogger(ctx).Warn("find orphans failed", "error", err)
			continue
		}
		report.Alive += found.Alive
		if found.Alert != "" {
			report.Alert = found.Alert
			continue
		}
		for _, o := range found.Orphans {
			if !seen[o.SandboxID] {
				seen[o.SandboxID] = true
				orphans = append(orphans, o)
			}
		}
	}
	report.Orphans = len(orphans)
	return orphans, nil
}
