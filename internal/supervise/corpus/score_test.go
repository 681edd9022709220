package corpus_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/omoi-dev/omoi/internal/supervise"
	"github.com/omoi-dev/omoi/internal/supervise/corpus"
)

func recorded(tb testing.TB) []corpus.Trajectory {
	tb.Helper()
	list, err := corpus.Development()
	require.NoError(tb, err)
	return list
}

// With OMOI_RECORD=1 the test writes the new score.
func TestRules_ScoreDoesNotFall(t *testing.T) {
	t.Parallel()
	now := corpus.Rules(recorded(t), supervise.DefaultSettings())
	pairs, err := corpus.LoadPairs()
	require.NoError(t, err)
	now.Words(pairs)
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
	require.Empty(t, below(&now, &before), "if that is meant: OMOI_RECORD=1 go test ./internal/supervise/corpus -run Score")
	doc, err := os.ReadFile(document)
	require.NoError(t, err)
	require.Contains(t, string(doc), table(&now)+"\n"+counts(&now), "OMOI_RECORD=1 go test ./internal/supervise/corpus -run Score writes it")
}

// below describes where a score is lower than old; empty: nowhere.
func below(s, old *corpus.Score) []string {
	var worse []string
	hold := func(name string, now, before corpus.Share) {
		const rounding = 1e-9
		if now.Precision() < before.Precision()-rounding {
			worse = append(worse, fmt.Sprintf("precision of %s fell from %.3f to %.3f", name, before.Precision(), now.Precision()))
		}
		if now.Recall() < before.Recall()-rounding {
			worse = append(worse, fmt.Sprintf("recall of %s fell from %.3f to %.3f", name, before.Recall(), now.Recall()))
		}
	}
	if s.Trajectories < old.Trajectories {
		worse = append(worse, fmt.Sprintf("there are %d trajectories, there were %d", s.Trajectories, old.Trajectories))
	}
	hold("all", s.Whole, old.Whole)
	hold("pairs", s.Pairs, old.Pairs)
	if s.Pairs.Is < old.Pairs.Is {
		worse = append(worse, fmt.Sprintf("there are %d pairs of the same work, there were %d", s.Pairs.Is, old.Pairs.Is))
	}
	for label, before := range old.Labels {
		hold(string(label), s.Labels[label], before)
	}
	slices.Sort(worse)
	return worse
}

const document = "../../../docs/GUARDIAN-SCORES.md"

func record(t *testing.T, now *corpus.Score) {
	t.Helper()
	raw, err := json.MarshalIndent(now, "", "  ")
	require.NoError(t, err)
	require.NoError(t, os.WriteFile("../testdata/score.json", append(raw, '\n'), 0o644))
	writeTable(t, "score", table(now)+"\n"+counts(now))
}

// writeTable writes a table of docs/GUARDIAN-SCORES.md between its marks.
func writeTable(t *testing.T, mark, table string) {
	t.Helper()
	doc, err := os.ReadFile(document)
	require.NoError(t, err)
	from, to := "<!-- "+mark+" -->\n", "<!-- /"+mark+" -->"
	before, rest, found := strings.Cut(string(doc), from)
	require.True(t, found)
	_, after, found := strings.Cut(rest, to)
	require.True(t, found)
	require.NoError(t, os.WriteFile(document, []byte(before+from+table+to+after), 0o644))
}

// counts returns the table by kind and by agent.
func counts(s *corpus.Score) string {
	var b strings.Builder
	b.WriteString("| kind or agent | trajectories | right | share | 95 % interval |\n|---|---:|---:|---:|---|\n")
	for _, c := range s.Counts() {
		low, high := c.Interval()
		fmt.Fprintf(&b, "| %s | %d | %d | %.2f | %.2f to %.2f |\n", c.Name, c.Cases, c.Right, c.Share(), low, high)
	}
	return b.String()
}

// table returns the table of docs/GUARDIAN-SCORES.md.
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
	row("pairs of texts", s.Pairs)
	return b.String()
}

func TestBelow(t *testing.T) {
	t.Parallel()
	list := recorded(t)
	before := corpus.Rules(list, supervise.DefaultSettings())
	require.Empty(t, below(&before, &before))
	deaf := supervise.DefaultSettings()
	deaf.LoopRepeats = 1000
	now := corpus.Rules(list, deaf)
	require.Contains(t, strings.Join(below(&now, &before), "\n"), "recall of loop fell")
	eager := supervise.DefaultSettings()
	eager.SameError = 2
	now = corpus.Rules(list, eager)
	require.Contains(t, strings.Join(below(&now, &before), "\n"), "precision of all fell")
	now = corpus.Rules(list[:len(list)-1], supervise.DefaultSettings())
	require.NotEmpty(t, below(&now, &before), "a trajectory that is gone")
}

// fixed is a model that always returns the same opinion.
type fixed struct{ opinion *supervise.Opinion }

func (m fixed) Judge(_ context.Context, _ supervise.Subject, a supervise.Analysis) (supervise.Analysis, error) {
	if m.opinion == nil {
		return a, errors.New("no answer")
	}
	a.Model = m.opinion
	return a, nil
}

func TestModel_Score(t *testing.T) {
	t.Parallel()
	list, ctx, settings := recorded(t), context.Background(), supervise.DefaultSettings()
	deaf := corpus.Model(ctx, "deaf", list, settings, fixed{})
	require.Zero(t, deaf.Whole.Said)
	require.Zero(t, deaf.Labels[supervise.LabelHealthy].Said, "a model that fails says nothing, least of all healthy")
	doubtful := corpus.Model(ctx, "doubtful", list, settings, fixed{&supervise.Opinion{Label: supervise.LabelHealthy, Confidence: 0.1}})
	require.Zero(t, doubtful.Labels[supervise.LabelHealthy].Said)
	suspicious := corpus.Model(ctx, "suspicious", list, settings, fixed{&supervise.Opinion{Label: supervise.LabelLoop, Confidence: 1, NeedsSteering: true}})
	require.InDelta(t, 1, suspicious.Labels[supervise.LabelLoop].Recall(), 1e-9)
	require.Less(t, suspicious.Whole.Precision(), 0.7)
}

// blind is a model that counts what it is shown without a diff.
type blind struct{ shown, without int }

func (m *blind) Judge(_ context.Context, s supervise.Subject, a supervise.Analysis) (supervise.Analysis, error) {
	m.shown++
	if len(supervise.Changes(&s)) == 0 {
		m.without++
	}
	return a, nil
}

// A model can see the diffs of all trajectories that cheat.
func TestModel_SeesDiffs(t *testing.T) {
	t.Parallel()
	list := slices.DeleteFunc(recorded(t), func(t corpus.Trajectory) bool { return t.Label != supervise.LabelCheating })
	m := &blind{}
	corpus.Model(t.Context(), "blind", list, supervise.DefaultSettings(), m)
	require.Equal(t, blind{shown: len(list)}, *m)
	require.NotEmpty(t, list)
}

// namer is a model that names one open work, whatever it is shown.
type namer struct {
	match supervise.Match
	shown int
}

func (m *namer) FindDuplicates(_ context.Context, _ supervise.WorkText, open []string) ([]supervise.Match, supervise.ModelUse, error) {
	m.shown = len(open)
	return []supervise.Match{m.match}, supervise.ModelUse{Calls: 1}, nil
}

// A model compares the first work of each pair with all titles in one call.
func TestUnderstood_OneCallForEachPair(t *testing.T) {
	t.Parallel()
	pairs, err := corpus.LoadPairs()
	require.NoError(t, err)
	first := slices.IndexFunc(pairs, func(p corpus.Pair) bool { return p.Same })
	scored := func(m supervise.Match) (s corpus.Score) {
		m.At = first
		n := &namer{match: m}
		s.Understood(t.Context(), pairs, n)
		require.Equal(t, []int{len(pairs), len(pairs)}, []int{s.Use.Calls, n.shown})
		return s
	}
	s := scored(supervise.Match{Similarity: 0.9, Confidence: 0.9})
	require.Equal(t, corpus.Share{Is: 14, Said: 1, Right: 1}, s.Pairs)
	s = scored(supervise.Match{Similarity: 0.9, Confidence: 0.1})
	require.Zero(t, s.Pairs.Said, "the model is not sure")
}

func TestParse_Invalid(t *testing.T) {
	t.Parallel()
	const event = "\n" + `{"n":1,"ms":0,"type":"agent.started"}`
	for _, text := range []string{
		"", "{}", `{"label":"tired","reason":"x"}` + event, `{"label":"loop","reason":" "}` + event, `{"label":"loop","reason":"x"}`,
		`{"label":"duplicate","reason":"x"}` + event, `{"label":"loop","reason":"x","twin":"y"}` + event, `{"label":"loop","reason":"x"}` + "\nno",
		`{"label":"loop","reason":"x"}` + event + "\n}" + event, `{"label":"loop","reason":"x"}` + event + event[1:],
	} {
		_, err := corpus.Parse([]byte(text))
		require.Error(t, err, text)
	}
	_, err := corpus.Parse([]byte(`{"label":"loop","reason":"x"}` + event))
	require.NoError(t, err)
}
