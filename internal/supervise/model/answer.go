package model

import (
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/omoi-dev/omoi/internal/supervise"
)

const (
	toolName    = "record_analysis"
	maxSentence = 1000
	maxFocus    = 128 // characters, as the column in OmoiOS
	maxEvidence = 30
)

// answer is the input of the tool call.
type answer struct {
	Aligned        bool            `json:"trajectory_aligned"`
	Score          float64         `json:"alignment_score"`
	Steer          bool            `json:"needs_steering"`
	Type           *string         `json:"steering_type"`
	Label          supervise.Label `json:"label"`
	Recommendation *string         `json:"steering_recommendation"`
	Summary        string          `json:"trajectory_summary"`
	Focus          string          `json:"current_focus"`
	Confidence     float64         `json:"confidence"`
	Evidence       []int64         `json:"evidence"`
}

func kinds() []string { return []string{supervise.Guidance, supervise.Correction, supervise.Emergency} }

func analysisForm() tool {
	return form(toolName, "Records your judgement of the attempt.", map[string]any{
		"trajectory_aligned":      map[string]any{"type": "boolean", "description": "Whether the work serves the goal within its limits."},
		"alignment_score":         share("How far it does."),
		"needs_steering":          map[string]any{"type": "boolean", "description": "Whether a message to the agent would help now."},
		"steering_type":           map[string]any{"enum": []any{kinds()[0], kinds()[1], kinds()[2], nil}, "description": "guidance: a hint. correction: something has to be undone. emergency: it must stop now. null: no steering."},
		"label":                   map[string]any{"type": "string", "enum": supervise.Labels(), "description": "What kind of trajectory this is; healthy exactly if it needs no steering."},
		"steering_recommendation": map[string]any{"type": []string{"string", "null"}, "description": "The message to the agent, in its language and to the point; null: no steering."},
		"trajectory_summary":      text("What the agent is doing, in one or two sentences."),
		"current_focus":           text("What it is at now, in a few words."),
		"confidence":              share("How sure you are of needs_steering and label."),
		"evidence":                map[string]any{"type": "array", "items": map[string]any{"type": "integer"}, "description": "Numbers of the events of the trajectory that show it; at least one if it needs steering."},
	})
}

// opinionOf reads and checks an answer.
func opinionOf(m *reply, s *supervise.Subject) (*supervise.Opinion, error) {
	var a answer
	if err := m.decode(analysisForm(), &a, "steering_type", "steering_recommendation"); err != nil {
		return nil, err
	}
	if err := a.check(s); err != nil {
		return nil, err
	}
	return a.opinion(m.Model), nil
}

func (a *answer) check(s *supervise.Subject) error {
	switch {
	case !part(a.Score), !part(a.Confidence):
		return errors.New("alignment_score and confidence must be from 0 to 1")
	case !slices.Contains(supervise.Labels(), a.Label):
		return fmt.Errorf("label %q is not in the enum of the form", a.Label)
	case a.Type != nil && !slices.Contains(kinds(), *a.Type):
		return fmt.Errorf("steering_type %q is not in the enum of the form", *a.Type)
	case strings.TrimSpace(a.Summary) == "":
		return errors.New("trajectory_summary is empty")
	}
	if err := a.agrees(); err != nil {
		return err
	}
	return a.shown(s)
}

// agrees checks that the fields agree with each other.
func (a *answer) agrees() error {
	switch {
	case a.Steer == (a.Label == supervise.LabelHealthy):
		return errors.New("label must be healthy exactly if needs_steering is false")
	case !a.Steer:
		return nil
	case a.Type == nil, a.Recommendation == nil, strings.TrimSpace(*a.Recommendation) == "":
		return errors.New("steering needs a steering_type and a steering_recommendation")
	case len(a.Evidence) == 0:
		return errors.New("steering needs evidence")
	}
	return nil
}

// shown rejects evidence that the prompt does not contain, and cheating without a diff.
func (a *answer) shown(s *supervise.Subject) error {
	known := map[int64]bool{}
	for i := range s.Events {
		known[s.Events[i].Sequence] = true
	}
	if s.Beat != nil {
		known[s.Beat.Sequence] = true
	}
	for _, n := range a.Evidence {
		if !known[n] {
			return fmt.Errorf("evidence %d is not an event of the trajectory", n)
		}
	}
	diffs := func(c supervise.Change) bool { return slices.Contains(a.Evidence, c.Event) }
	if a.Label == supervise.LabelCheating && !slices.ContainsFunc(supervise.Changes(s), diffs) {
		return errors.New("label cheating needs an event of CHANGES as evidence; without a diff give another label")
	}
	return nil
}

func part(f float64) bool { return f >= 0 && f <= 1 }

func (a *answer) opinion(name string) *supervise.Opinion {
	o := &supervise.Opinion{
		Model: name, Aligned: a.Aligned, AlignmentScore: a.Score, NeedsSteering: a.Steer, Label: a.Label,
		Summary: short(a.Summary, maxSentence), CurrentFocus: short(a.Focus, maxFocus), Confidence: a.Confidence,
		Evidence: a.Evidence[:min(len(a.Evidence), maxEvidence)],
	}
	if a.Steer {
		o.SteeringType, o.Recommendation = *a.Type, short(*a.Recommendation, maxSentence)
	}
	return o
}
