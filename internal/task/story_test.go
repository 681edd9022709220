package task_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/omoi-dev/omoi/internal/task"
)

func TestStoriesOfOnePullRequestAreSummed(t *testing.T) {
	t.Parallel()
	one := func(id string, cost float64, spoken ...task.Spoken) task.Story {
		made := task.Task{ID: id, AttemptCount: 2, Replacements: 1, Attempts: []task.Attempt{{Number: 1, InputTokens: 3}, {Number: 2}}}
		boxes := []task.Sandbox{{ID: "of " + id, Provider: task.ProviderLocal, TaskID: id, CostUSD: &cost, Cost: &task.Money{Amount: 1, Currency: "EUR"}}}
		return task.Story{Task: made, Receipt: task.NewReceipt(made, boxes, nil), Spoken: spoken, Output: id}
	}
	person := task.Spoken{By: "person", Kind: "user_message", Count: 2}
	story := one("b", 2, person, task.Spoken{By: "guardian", Kind: "guardian_nudge", Count: 1})
	require.Equal(t, story, story.Sum(), "one task is its own sum")
	story.Earlier = []task.Story{one("a", 1, person)}
	sum := story.Sum()
	require.Equal(t, []any{4, 4, 2, "b", "b"}, []any{sum.Task.AttemptCount, len(sum.Task.Attempts), sum.Task.Replacements, sum.Output, sum.Receipt.TaskID})
	require.Equal(t, []task.Spoken{{By: "person", Kind: "user_message", Count: 4}, {By: "guardian", Kind: "guardian_nudge", Count: 1}}, sum.Spoken)
	require.InDelta(t, 3, *sum.Receipt.CostUSD, 1e-9)
	require.Equal(t, []task.Money{{Amount: 2, Currency: "EUR"}}, sum.Receipt.Costs)
	require.Len(t, sum.Receipt.Sandboxes, 2)
	require.Equal(t, 2, story.Earlier[0].Spoken[0].Count, "the stories stay as they are")
}

func TestWhatFeedbackAsked(t *testing.T) {
	t.Parallel()
	feedback := task.FeedbackText("acme/app", 1, []task.Entry{{Note: "alice asks for changes", Text: "Handle the empty list.", URL: "u"}})
	require.Equal(t, "1. alice asks for changes\n   u\n   > Handle the empty list.", task.Revised(task.ReviseDescription("Write a list.", feedback)))
	require.Equal(t, "something else", task.Revised("something else"), "what a person wrote is left as it is")
}
