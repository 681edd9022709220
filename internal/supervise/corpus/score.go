package corpus

import (
	"context"
	"encoding/json"
	"fmt"
	"maps"
	"math"
	"slices"

	"github.com/omoi-dev/omoi/internal/supervise"
)

// ByRules is the value of Score.Judge for the rules.
const ByRules = "rules"

// every is the number of events between two analyses of a growing trajectory.
const every = 5

// Share counts how often a label is correct.
type Share struct {
	Is    int `json:"is"`    // trajectories with the label
	Said  int `json:"said"`  // trajectories that the analysis gave the label
	Right int `json:"right"` // both
}

// Precision returns the share of Said that is correct; 1 if Said is 0.
func (s Share) Precision() float64 { return ratio(s.Right, s.Said) }

// Recall returns the share of Is that was found; 1 if Is is 0.
func (s Share) Recall() float64 { return ratio(s.Right, s.Is) }

func tally(s *Share, is, said bool) {
	s.Is, s.Said, s.Right = s.Is+one(is), s.Said+one(said), s.Right+one(is && said)
}

func one(yes bool) int {
	if yes {
		return 1
	}
	return 0
}

func ratio(part, whole int) float64 {
	if whole == 0 {
		return 1
	}
	return float64(part) / float64(whole)
}

// Count counts trajectories.
type Count struct {
	Cases int `json:"cases"`
	Right int `json:"right"` // cases that were given their label
}

func (c Count) plus(j Judged) Count { return Count{c.Cases + 1, c.Right + one(j.Said == j.Label)} }

// Share returns the share of cases that were given their label.
func (c Count) Share() float64 { return ratio(c.Right, c.Cases) }

// Interval returns the interval of Wilson in which the share lies with a confidence of 95 %.
func (c Count) Interval() (low, high float64) {
	const z = 1.96
	n, p := float64(c.Cases), c.Share()
	middle := (p + z*z/(2*n)) / (1 + z*z/n)
	half := z / (1 + z*z/n) * math.Sqrt(p*(1-p)/n+z*z/(4*n*n))
	return max(middle-half, 0), min(middle+half, 1)
}

// NamedCount is a count of a kind or an agent.
type NamedCount struct {
	Count

	Name string
}

// Counts returns the counts of the kinds, then of the agents, by name.
func (s *Score) Counts() (list []NamedCount) {
	for _, kind := range slices.Sorted(maps.Keys(s.Kinds)) {
		list = append(list, NamedCount{s.Kinds[kind], kind})
	}
	for _, agent := range slices.Sorted(maps.Keys(s.Agents)) {
		list = append(list, NamedCount{s.Agents[agent], "agent " + agent})
	}
	return list
}

// Right returns the number of trajectories that were given their label.
func (s *Score) Right() (right int) {
	for _, c := range s.Agents {
		right += c.Right
	}
	return right
}

// Judged is the result for one trajectory.
type Judged struct {
	Name   string             `json:"name"`
	Label  supervise.Label    `json:"label"`
	Said   supervise.Label    `json:"said"`  // empty: no label was given
	Event  int64              `json:"event"` // sequence after which Said was given
	Why    string             `json:"why"`
	Reason string             `json:"reason"` // reason of Label, from the person who labelled the trajectory
	Use    supervise.ModelUse `json:"use,omitzero"`
}

// Score is the result of the rules or of a model on the corpus.
type Score struct {
	Judge        string `json:"judge"` // "rules", or the name of a model
	Trajectories int    `json:"trajectories"`
	// Whole counts faults with any label.
	Whole  Share                     `json:"whole"`
	Labels map[supervise.Label]Share `json:"labels"`
	// Kinds and Agents count trajectories by [Trajectory.Kind] and by agent, without duplicates.
	Kinds  map[string]Count   `json:"kinds"`
	Agents map[string]Count   `json:"agents"`
	Pairs  Share              `json:"pairs"` // pairs of tasks about the same work
	Judged []Judged           `json:"judged,omitempty"`
	Use    supervise.ModelUse `json:"use,omitzero"`
}

// Rules scores the rules. Each trajectory is analyzed while it grows. The first steer verdict counts; without one, the
// trajectory counts as healthy.
func Rules(list []Trajectory, settings supervise.Settings) Score {
	s := newScore(ByRules, list, func(t *Trajectory) Judged { return replay(t, settings) })
	s.pairs(list)
	return s
}

func replay(t *Trajectory, settings supervise.Settings) Judged {
	rows := t.rows()
	j := Judged{Name: t.Name, Label: t.Label, Said: supervise.LabelHealthy, Reason: t.Reason}
	for n := every; ; n += every {
		n = min(n, len(rows))
		a := supervise.Rules(t.subject(rows, n), settings)
		j.Event = rows[n-1].Sequence
		if a.Verdict == supervise.Steer {
			j.Said, j.Why = a.Label(), a.Summary
			return j
		}
		if n == len(rows) {
			return j
		}
	}
}

// Model scores a model by its opinion of each complete trajectory, whatever the rules find.
func Model(ctx context.Context, name string, list []Trajectory, settings supervise.Settings, m supervise.Model) Score {
	return newScore(name, list, func(t *Trajectory) Judged { return asked(ctx, t, settings, m) })
}

func asked(ctx context.Context, t *Trajectory, settings supervise.Settings, m supervise.Model) Judged {
	rows := t.rows()
	j := Judged{Name: t.Name, Label: t.Label, Reason: t.Reason, Event: rows[len(rows)-1].Sequence}
	subject := t.subject(rows, len(rows))
	said, err := m.Judge(ctx, subject, supervise.Rules(subject, settings))
	j.Use = said.Use
	switch {
	case err != nil:
		j.Why = err.Error()
	case said.Model != nil && said.Model.Confidence >= settings.Confidence:
		j.Said, j.Why = said.Model.Label, said.Model.Summary
	case said.Model != nil:
		j.Why = "It is not sure."
	}
	return j
}

// newScore scores all trajectories except duplicates.
func newScore(judge string, list []Trajectory, judged func(*Trajectory) Judged) Score {
	s := Score{Judge: judge, Trajectories: len(list), Labels: make(map[supervise.Label]Share), Kinds: map[string]Count{}, Agents: map[string]Count{}}
	for i := range list {
		if list[i].Label != supervise.LabelDuplicate {
			j := judged(&list[i])
			s.add(j)
			s.Kinds[list[i].Kind()] = s.Kinds[list[i].Kind()].plus(j)
			s.Agents[list[i].Agent] = s.Agents[list[i].Agent].plus(j)
		}
	}
	return s
}

func (s *Score) add(j Judged) {
	s.Judged = append(s.Judged, j)
	s.Use = s.Use.Plus(j.Use)
	for _, label := range supervise.Labels() {
		if is, said := j.Label == label, j.Said == label; is || said {
			s.count(label, is, said)
		}
	}
	tally(&s.Whole, j.Label != supervise.LabelHealthy, j.Said != supervise.LabelHealthy && j.Said != "")
}

func (s *Score) count(label supervise.Label, is, said bool) {
	c := s.Labels[label]
	tally(&c, is, said)
	s.Labels[label] = c
}

// pairs scores the similarity of trajectories that are labelled as duplicate or apart. Other trajectories share tasks
// by design, so their pairs do not count.
func (s *Score) pairs(all []Trajectory) {
	list := slices.DeleteFunc(slices.Clone(all), func(t Trajectory) bool { return t.Twin == "" && !t.Apart })
	works := make([]supervise.Work, len(list))
	for i := range list {
		works[i] = supervise.WorkOf(list[i].Task.Title, list[i].Task.Description)
	}
	for i, a := range list {
		for k, b := range list[i+1:] {
			is, alike := a.Twin == b.Name || b.Twin == a.Name, works[i].Similarity(&works[i+1+k])
			j := Judged{Name: a.Name + " + " + b.Name, Why: alikeBy(alike)}
			if is {
				j.Reason = a.Reason
			}
			if said := alike >= supervise.SimilarityThreshold; s.pair(j, is, said) {
				s.count(supervise.LabelDuplicate, is, said)
			}
		}
	}
}

// pair records a pair and reports whether it counts: pairs that are neither labelled nor called duplicate do not.
func (s *Score) pair(j Judged, is, said bool) bool {
	if is {
		j.Label = supervise.LabelDuplicate
	}
	if said {
		j.Said = supervise.LabelDuplicate
	}
	if is || said {
		s.Judged = append(s.Judged, j)
	}
	return is || said
}

func alikeBy(likeness float64) string { return fmt.Sprintf("They are alike by %.2f.", likeness) }

// Pair is two tasks with a label: whether they are the same work.
type Pair struct {
	Name   string             `json:"name"`
	Same   bool               `json:"same"`
	Reason string             `json:"reason"`
	A      supervise.WorkText `json:"a"`
	B      supervise.WorkText `json:"b"`
}

// LoadPairs reads the pairs that are embedded in the binary.
func LoadPairs() ([]Pair, error) {
	raw, err := supervise.Recorded.ReadFile("testdata/pairs.jsonl")
	if err != nil {
		return nil, fmt.Errorf("read pairs: %w", err)
	}
	var list []Pair
	for n, line := range lines(raw) {
		var p Pair
		if err := json.Unmarshal(line, &p); err != nil {
			return nil, fmt.Errorf("read pairs: line %d: %w", n+1, err)
		}
		if list = append(list, p); p.Name == "" || p.Reason == "" {
			return nil, fmt.Errorf("read pairs: line %d: the pair needs a name and a reason", n+1)
		}
	}
	return list, nil
}

// Words scores word similarity on pairs.
func (s *Score) Words(list []Pair) {
	for _, p := range list {
		a, b := supervise.WorkOf(p.A.Title, p.A.Description), supervise.WorkOf(p.B.Title, p.B.Description)
		alike := a.Similarity(&b)
		s.compared(p, alike >= supervise.SimilarityThreshold, alikeBy(alike))
	}
}

// Understood scores a model on pairs. It is shown the first work of a pair and the titles of the second ones of all pairs.
// A pair for which the model fails or is not confident counts as not the same.
func (s *Score) Understood(ctx context.Context, list []Pair, m supervise.Finder) {
	titles := make([]string, len(list))
	for n, p := range list {
		titles[n] = p.B.Title
	}
	for n, p := range list {
		found, use, err := m.FindDuplicates(ctx, p.A, titles)
		s.Use = s.Use.Plus(use)
		at := slices.IndexFunc(found, func(m supervise.Match) bool { return m.At == n })
		switch {
		case err != nil:
			s.compared(p, false, err.Error())
		case at < 0:
			s.compared(p, false, "")
		default:
			s.compared(p, found[at].Sure(), found[at].Work)
		}
	}
}

func (s *Score) compared(p Pair, said bool, why string) {
	tally(&s.Pairs, p.Same, said)
	s.pair(Judged{Name: "pair " + p.Name, Why: why, Reason: p.Reason}, p.Same, said)
}
