package corpus

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"

	"github.com/omoi-dev/omoi/internal/supervise"
)

// Pair is two tasks, and whether a person says that they are the same work.
type Pair struct {
	Name   string             `json:"name"`
	Same   bool               `json:"same"`
	Reason string             `json:"reason"`
	A      supervise.WorkText `json:"a"`
	B      supervise.WorkText `json:"b"`
}

// LoadPairs reads those that omoi was built with.
func LoadPairs() ([]Pair, error) {
	raw, err := supervise.Recorded.ReadFile("testdata/pairs.jsonl")
	if err != nil {
		return nil, fmt.Errorf("read pairs: %w", err)
	}
	var list []Pair
	for lines := json.NewDecoder(bytes.NewReader(raw)); lines.More(); {
		var p Pair
		if err := lines.Decode(&p); err != nil {
			return nil, fmt.Errorf("read pairs: line %d: %w", len(list)+1, err)
		}
		if list = append(list, p); p.Name == "" || p.Reason == "" {
			return nil, fmt.Errorf("read pairs: line %d: it has no name or no reason", len(list))
		}
	}
	return list, nil
}

// Words scores what is said of pairs by counting words.
func (s *Score) Words(list []Pair) {
	for _, p := range list {
		a, b := supervise.WorkOf(p.A.Title, p.A.Description), supervise.WorkOf(p.B.Title, p.B.Description)
		alike := a.Similarity(&b)
		s.compared(p, alike >= supervise.SimilarityThreshold, alikeBy(alike))
	}
}

// Understood scores what a model says of pairs. Of whom it says nothing they are not called the same.
func (s *Score) Understood(ctx context.Context, list []Pair, settings supervise.Settings, m supervise.Comparer) {
	for _, p := range list {
		said, use, err := m.Compare(ctx, p.A, p.B)
		s.Use = s.Use.Plus(use)
		why := said.Work
		if err != nil {
			why = err.Error()
		}
		same, sure := said.Says(settings.Confidence)
		s.compared(p, err == nil && same && sure, why)
	}
}

func (s *Score) compared(p Pair, said bool, why string) {
	s.Pairs.add(p.Same, said)
	s.pair(Judged{Name: "pair " + p.Name, Why: why, Reason: p.Reason}, p.Same, said)
}
