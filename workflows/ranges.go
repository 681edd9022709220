package workflows

import (
	"strconv"

	"go.temporal.io/sdk/workflow"

	"github.com/omoi-dev/omoi/internal/contract"
)

// analyzeRanges runs an activity for each range of a cycle side by side and returns its results. A range whose activity fails leaves
// the others alone: failed gives its result, for the number of items in it. The next cycle analyzes it again.
func analyzeRanges[T any](ctx workflow.Context, name, unit string, ranges []contract.SandboxRange, failed func(count int) T) []T {
	pending := make([]workflow.Future, len(ranges))
	for n, r := range ranges {
		pending[n] = call{name: name, summary: strconv.Itoa(r.Count) + " " + unit}.start(ctx, r)
	}
	results := make([]T, len(ranges))
	for n, f := range pending {
		if err := f.Get(ctx, &results[n]); err != nil {
			workflow.GetLogger(ctx).Warn("analyze range failed", "activity", name, "error", err)
			results[n] = failed(ranges[n].Count)
		}
	}
	return results
}
