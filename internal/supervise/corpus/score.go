package corpus

import (
	"context"
	"fmt"
	"slices"

	"github.com/omoi-dev/omoi/internal/supervise"
)

// ByRules is the judge's name of a score of the rules.
const ByRules = "rules"

// every is after how many events a trajectory is judged again.
const every = 5

// Share counts what was said to be something against what is.
type Share struct {
	Is    int `json:"is"`    // trajectories that are it
	Said  int `json:"said"`  // of which it was said
	Right int `json:"right"` // both
}

// Precision is the part of what was said that is so; 1 where nothing was said.
func (s Share) Precision() float64 { return ratio(s.Right, s.Said) }

// Recall is the part of what is so that was said; 1 where nothing is.
func (s Share) Recall() float64 { return ratio(s.Right, s.Is) }

func ratio(part, whole int) float64 {
	if whole == 0 {
		return 1
	}
	return float64(part) / float64(whole)
}

// Judged is what was said of one trajectory.
type Judged struct {
	Name   string             `json:"name"`
	Label  supervise.Label    `json:"label"`
	Said   supervise.Label    `json:"said"`  // empty: nobody could say
	Event  int64              `json:"event"` // after which it was said
	Why    string             `json:"why"`
	Reason string             `json:"reason"` // a person's, of the label
	Use    supervise.ModelUse `json:"use,omitzero"`
}

// Score is what a judge reached on a corpus.
type Score struct {
	Judge        string                    `json:"judge"` // rules, or a model's name
	Trajectories int                       `json:"trajectories"`
	Whole        Share                     `json:"whole"` // faulty, and called so, by whatever label
	Labels       map[supervise.Label]Share `json:"labels"`
	Pairs        Share                     `json:"pairs"` // of texts that are about the same work
	Judged       []Judged                  `json:"judged,omitempty"`
	Use          supervise.ModelUse        `json:"use,omitzero"`
}

// Rules scores the rules. A trajectory is judged while it grows, and the first call for
// steering counts, as it would with a guardian; where there is none it was left alone, which is
// right of a healthy one.
func Rules(list []Trajectory, settings supervise.Settings) Score {
	s := newScore(ByRules, list)
	for i := range list {
		if list[i].Label == supervise.LabelDuplicate {
			continue
		}
		s.add(replay(&list[i], settings))
	}
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

// Model scores a model by what it says of each trajectory at its end, whatever the rules say.
func Model(ctx context.Context, name string, list []Trajectory, settings supervise.Settings, m supervise.Model) Score {
	s := newScore(name, list)
	for i := range list {
		if list[i].Label == supervise.LabelDuplicate {
			continue
		}
		s.add(asked(ctx, &list[i], settings, m))
	}
	return s
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

func newScore(judge string, list []Trajectory) Score {
	return Score{Judge: judge, Trajectories: len(list), Labels: make(map[supervise.Label]Share)}
}

func (s *Score) add(j Judged) {
	s.Judged = append(s.Judged, j)
	s.Use = s.Use.Plus(j.Use)
	s.count(j.Label, func(c *Share) { c.Is++ })
	if j.Said != "" {
		s.count(j.Said, func(c *Share) { c.Said++ })
	}
	if j.Said == j.Label {
		s.count(j.Label, func(c *Share) { c.Right++ })
	}
	is, said := j.Label != supervise.LabelHealthy, j.Said != supervise.LabelHealthy && j.Said != ""
	s.Whole.Is, s.Whole.Said, s.Whole.Right = s.Whole.Is+one(is), s.Whole.Said+one(said), s.Whole.Right+one(is && said)
}

func one(yes bool) int {
	if yes {
		return 1
	}
	return 0
}

func (s *Score) count(label supervise.Label, do func(*Share)) {
	c := s.Labels[label]
	do(&c)
	s.Labels[label] = c
}

// pairs scores what is taken for the same work, among those of which somebody has said whether
// it is. Others of the corpus share their tasks, so that only what was done about them differs.
func (s *Score) pairs(all []Trajectory) {
	list := slices.DeleteFunc(slices.Clone(all), func(t Trajectory) bool { return t.Twin == "" && !t.Apart })
	subjects := make([]supervise.Subject, len(list))
	for i := range list {
		rows := list[i].rows()
		subjects[i] = list[i].subject(rows, len(rows))
	}
	for i := range list {
		for k := i + 1; k < len(list); k++ {
			is := list[i].Twin == list[k].Name || list[k].Twin == list[i].Name
			likeness := supervise.Similarity(subjects[i], subjects[k])
			s.pair(&list[i], &list[k], is, likeness)
		}
	}
}

func (s *Score) pair(a, b *Trajectory, is bool, likeness float64) {
	said := likeness >= supervise.SimilarityThreshold
	if !is && !said {
		return
	}
	s.count(supervise.LabelDuplicate, func(c *Share) {
		c.Is, c.Said, c.Right = c.Is+one(is), c.Said+one(said), c.Right+one(is && said)
	})
	j := Judged{Name: a.Name + " + " + b.Name, Why: fmt.Sprintf("They are alike by %.2f.", likeness)}
	if is {
		j.Label, j.Reason = supervise.LabelDuplicate, a.Reason
	}
	if said {
		j.Said = supervise.LabelDuplicate
	}
	s.Judged = append(s.Judged, j)
}
