package corpus_test

import (
	"encoding/json"
	"io/fs"
	"os"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/omoi-dev/omoi/internal/supervise"
	"github.com/omoi-dev/omoi/internal/supervise/corpus"
)

func recorded(tb testing.TB) []corpus.Trajectory {
	tb.Helper()
	dir, err := fs.Sub(supervise.Recorded, "testdata/corpus")
	require.NoError(tb, err)
	list, err := corpus.Load(dir)
	require.NoError(tb, err)
	return list
}

// What the rules reach on the corpus must not fall. OMOI_RECORD=1 writes down what it is now.
func TestTheScoreDoesNotFall(t *testing.T) {
	t.Parallel()
	now := corpus.Rules(recorded(t), supervise.DefaultSettings())
	for _, j := range now.Judged {
		if j.Said != j.Label {
			t.Logf("%s: is %q, said %q at event %d: %s", j.Name, j.Label, j.Said, j.Event, j.Why)
		}
	}
	now.Judged = nil
	if os.Getenv("OMOI_RECORD") != "" {
		raw, err := json.MarshalIndent(now, "", "  ")
		require.NoError(t, err)
		require.NoError(t, os.WriteFile("../testdata/score.json", append(raw, '\n'), 0o644))
		return
	}
	raw, err := supervise.Recorded.ReadFile("testdata/score.json")
	require.NoError(t, err)
	var before corpus.Score
	require.NoError(t, json.Unmarshal(raw, &before))
	require.Empty(t, now.Below(&before), "if that is meant: OMOI_RECORD=1 go test ./internal/supervise/corpus -run Score")
}
