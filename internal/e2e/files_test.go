package e2e_test

import (
	"slices"
	"testing"

	"github.com/stretchr/testify/require"

	apiclient "github.com/omoi-dev/omoi/api/client"
	"github.com/omoi-dev/omoi/internal/review"
	"github.com/omoi-dev/omoi/internal/task"
)

// TestFiles_OfCheckpointsAndResults compares the files of a task while its agent works and after its end, and continues the task by a
// comment.
func TestFiles_OfCheckpointsAndResults(t *testing.T) {
	t.Parallel()
	r := newRig(t, map[string]string{"OMOI_CHECKPOINT_INTERVAL": "100ms"}).up()
	made := r.submit(r.repo(), command(counts, `,"continuous":false`), asCommand)
	one := r.counted(made.ID)
	lines := func(from, to string) []string {
		found, err := r.api.Changes(t.Context(), made.ID, from, to)
		require.NoError(t, err)
		require.True(t, slices.ContainsFunc(found.Files, func(c review.FileChange) bool { return c.Path == "n.txt" }), "%v", found.Files)
		diff, err := r.api.FileDiff(t.Context(), made.ID, apiclient.FileDiffQuery{From: found.From.Name, To: found.To.Name, Path: "n.txt"})
		require.NoError(t, err)
		require.Len(t, diff.Hunks, 1)
		return diff.Hunks[0].Lines
	}
	require.Equal(t, []string{"+1"}, lines("base", one))
	require.Equal(t, []string{"-1", "+3"}, lines(one, "latest"))
	r.moves(made.ID, 3)
	r.ends(made.ID, task.StatusCompleted)
	done := r.task(made.ID)
	require.Equal(t, []string{"-1", "+3"}, lines(one, "1"))
	file, err := r.api.File(t.Context(), made.ID, "1", "n.txt", 0)
	require.NoError(t, err)
	require.Equal(t, r.git("-C", done.Repo, "show", *done.Branch+":n.txt"), file.Text)
	require.Equal(t, *done.Attempts[0].HeadCommit, file.At.Commit)

	sent, _, err := r.api.Comment(t.Context(), made.ID, apiclient.Comments{
		To: "1", Comments: []review.Comment{{Path: "n.txt", Line: 1, Quote: "3", Text: "Count further."}},
	}, "")
	require.NoError(t, err)
	require.Equal(t, "task", sent.Delivery)
	r.ends(sent.TaskID, task.StatusCompleted)
	next := r.task(sent.TaskID)
	require.Equal(t, *done.Branch, *next.Branch)
	require.Contains(t, next.Description, "1. n.txt, line 1 (at 1)\n   > 3\n   Count further.\n")
	r.noLeaks()
}
