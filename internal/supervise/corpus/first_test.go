package corpus_test

import (
	"bytes"
	"encoding/json"
	"os"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/omoi-dev/omoi/internal/supervise"
	"github.com/omoi-dev/omoi/internal/supervise/corpus"
)

// Each trajectory of the validation corpus has a first score, and neither changes. With OMOI_RECORD=1 the test adds the
// first scores of new trajectories, and changes none that exists.
func TestFirstScores_StandForEver(t *testing.T) {
	t.Parallel()
	list, err := corpus.Validation()
	require.NoError(t, err)
	firsts, err := corpus.Firsts()
	require.NoError(t, err)
	if os.Getenv("OMOI_RECORD") != "" {
		firsts = withNew(t, list, firsts)
	}
	require.Empty(t, broken(t, list, firsts))
	doc, err := os.ReadFile(document)
	require.NoError(t, err)
	first := corpus.FirstScore(list, firsts)
	require.Contains(t, string(doc), counts(&first), "OMOI_RECORD=1 go test ./internal/supervise/corpus -run FirstScores writes it")
}

func TestFirstScores_Changed(t *testing.T) {
	t.Parallel()
	list, err := corpus.Validation()
	require.NoError(t, err)
	firsts, err := corpus.Firsts()
	require.NoError(t, err)
	require.NotEmpty(t, broken(t, list, firsts[:len(firsts)-1]), "a trajectory without a first score")
	require.NotEmpty(t, broken(t, list[1:], firsts), "a trajectory that is gone")
	require.NotEmpty(t, broken(t, list[1:], firsts[1:]), "a trajectory that is gone with its first score")
	raw := list[0].Raw
	list[0].Raw = bytes.Replace(raw, []byte("mutator"), []byte("person"), 1)
	require.NotEmpty(t, broken(t, list, firsts), "another trajectory")
	list[0].Raw = raw
	require.Empty(t, broken(t, list, firsts))
	firsts[0].Said = supervise.LabelIdle
	require.NotEmpty(t, broken(t, list, firsts), "another first score")
}

// broken describes what does not fit together; empty: nothing.
func broken(t *testing.T, list []corpus.Trajectory, firsts []corpus.First) (wrong []string) {
	t.Helper()
	by := map[string]*corpus.Trajectory{}
	for i := range list {
		by[list[i].Name] = &list[i]
	}
	before := ""
	for _, f := range firsts {
		if by[f.Name] == nil {
			return append(wrong, f.Name+" is gone")
		}
		if corpus.Sign(before, by[f.Name], f.Said) != f {
			wrong = append(wrong, f.Name+" or its first score was changed")
		}
		before = f.Sum
		delete(by, f.Name)
	}
	for name := range by {
		wrong = append(wrong, name+" has no first score: OMOI_RECORD=1 go test ./internal/supervise/corpus -run FirstScores")
	}
	return wrong
}

func withNew(t *testing.T, list []corpus.Trajectory, firsts []corpus.First) []corpus.First {
	t.Helper()
	old, before := map[string]bool{}, ""
	for _, f := range firsts {
		old[f.Name], before = true, f.Sum
	}
	file, err := os.OpenFile("../testdata/first-scores.jsonl", os.O_APPEND|os.O_WRONLY, 0o644)
	require.NoError(t, err)
	for _, j := range corpus.Rules(list, supervise.DefaultSettings()).Judged {
		for i := range list {
			if list[i].Name != j.Name || old[j.Name] {
				continue
			}
			f := corpus.Sign(before, &list[i], j.Said)
			raw, err := json.Marshal(f)
			require.NoError(t, err)
			_, err = file.Write(append(raw, '\n'))
			require.NoError(t, err)
			firsts, before = append(firsts, f), f.Sum
		}
	}
	require.NoError(t, file.Close())
	first := corpus.FirstScore(list, firsts)
	writeTable(t, "validation", counts(&first))
	return firsts
}
