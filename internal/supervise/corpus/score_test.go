package corpus_test

import (
	"encoding/json"
	"fmt"
	"io/fs"
	"os"
	"strings"
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
		record(t, &now)
	}
	raw, err := supervise.Recorded.ReadFile("testdata/score.json")
	require.NoError(t, err)
	var before corpus.Score
	require.NoError(t, json.Unmarshal(raw, &before))
	require.Empty(t, now.Below(&before), "if that is meant: OMOI_RECORD=1 go test ./internal/supervise/corpus -run Score")
	doc, err := os.ReadFile(document)
	require.NoError(t, err)
	require.Contains(t, string(doc), table(&now), "OMOI_RECORD=1 go test ./internal/supervise/corpus -run Score writes it")
}

const document = "../../../docs/SUPERVISION.md"

func record(t *testing.T, now *corpus.Score) {
	t.Helper()
	raw, err := json.MarshalIndent(now, "", "  ")
	require.NoError(t, err)
	require.NoError(t, os.WriteFile("../testdata/score.json", append(raw, '\n'), 0o644))
	doc, err := os.ReadFile(document)
	require.NoError(t, err)
	before, rest, found := strings.Cut(string(doc), "<!-- score -->\n")
	require.True(t, found)
	_, after, found := strings.Cut(rest, "<!-- /score -->")
	require.True(t, found)
	require.NoError(t, os.WriteFile(document, []byte(before+"<!-- score -->\n"+table(now)+"<!-- /score -->"+after), 0o644))
}

// table is what the document shows.
func table(s *corpus.Score) string {
	var b strings.Builder
	b.WriteString("| label | trajectories | called so | rightly | precision | recall |\n|---|---:|---:|---:|---:|---:|\n")
	row := func(name string, c corpus.Share) {
		fmt.Fprintf(&b, "| %s | %d | %d | %d | %.2f | %.2f |\n", name, c.Is, c.Said, c.Right, c.Precision(), c.Recall())
	}
	for _, label := range corpus.Labels() {
		row(string(label), s.Labels[label])
	}
	row("any fault", s.Whole)
	return b.String()
}
