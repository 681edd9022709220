package workflows

import (
	"go.temporal.io/sdk/workflow"

	"github.com/omoi-dev/omoi/internal/contract"
)

// retentionSteps is the maximum number of steps of one kind in a pass; the next pass continues.
const retentionSteps = 100

// RetentionWorkflow is one retention pass: it removes expired data of ended tasks, kind after kind, in bounded steps. If a kind
// fails, the pass continues with the next kind.
func RetentionWorkflow(ctx workflow.Context) (contract.RetentionReport, error) {
	var report contract.RetentionReport
	var begun contract.RetentionBegun
	if err := (call{name: contract.BeginRetention}).get(ctx, nil, &begun); err != nil {
		return report, err
	}
	for _, step := range begun.Kinds {
		report.Kinds = append(report.Kinds, removeKind(ctx, step))
	}
	return report, nil
}

func removeKind(ctx workflow.Context, step contract.RetentionStep) contract.RetentionDone {
	total := contract.RetentionDone{Kind: step.Kind}
	for range retentionSteps {
		var done contract.RetentionDone
		if err := (call{name: contract.RemoveExpired, summary: step.Kind}).get(ctx, step, &done); err != nil {
			workflow.GetLogger(ctx).Warn("retention step failed", "kind", step.Kind, "error", err)
			total.Failed++
			return total
		}
		total.Subjects += done.Subjects
		total.Rows += done.Rows
		total.Partitions += done.Partitions
		total.Failed += done.Failed
		step.After, total.More = done.After, done.More
		if !done.More {
			break
		}
	}
	return total
}
