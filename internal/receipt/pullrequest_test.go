package receipt_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/omoi-dev/omoi/internal/receipt"
	"github.com/omoi-dev/omoi/internal/task"
)

func TestStoriesOfOnePullRequestAreSummed(t *testing.T) {
	t.Parallel()
	one := func(id string, cost float64, spoken ...receipt.Spoken) receipt.PullRequestData {
		made := task.Task{ID: id, AttemptCount: 2, Replacements: 1, Attempts: []task.Attempt{{Number: 1, InputTokens: 3}, {Number: 2}}}
		boxes := []task.Sandbox{{ID: "of " + id, Provider: task.ProviderLocal, TaskID: id, CostUSD: &cost, Cost: &task.Money{Amount: 1, Currency: "EUR"}}}
		return receipt.PullRequestData{Task: made, Receipt: receipt.New(made, boxes, nil), Spoken: spoken, Output: id}
	}
	person := receipt.Spoken{By: "person", Kind: "user_message", Count: 2}
	story := one("b", 2, person, receipt.Spoken{By: "guardian", Kind: "guardian_nudge", Count: 1})
	require.Equal(t, story, story.Sum(), "one task is its own sum")
	story.Earlier = []receipt.PullRequestData{one("a", 1, person)}
	sum := story.Sum()
	require.Equal(t, []any{4, 4, 2, "b", "b"}, []any{sum.Task.AttemptCount, len(sum.Task.Attempts), sum.Task.Replacements, sum.Output, sum.Receipt.TaskID})
	require.Equal(t, []receipt.Spoken{{By: "person", Kind: "user_message", Count: 4}, {By: "guardian", Kind: "guardian_nudge", Count: 1}}, sum.Spoken)
	require.InDelta(t, 3, *sum.Receipt.CostUSD, 1e-9)
	require.Equal(t, []task.Money{{Amount: 2, Currency: "EUR"}}, sum.Receipt.Costs)
	require.Len(t, sum.Receipt.Sandboxes, 2)
	require.Equal(t, 2, story.Earlier[0].Spoken[0].Count, "the stories stay as they are")
}
