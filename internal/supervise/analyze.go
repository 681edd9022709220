package supervise

import (
	"context"
	"errors"
	"fmt"
	"slices"
)

// Analyze lets the rules speak, then the model if there is one. A model that is not there or
// fails leaves what the rules said; where they said nothing, that is unknown.
func Analyze(ctx context.Context, s Subject, settings Settings, m Model) Analysis {
	rules := Rules(s, settings)
	if m == nil {
		return rules
	}
	said, err := m.Judge(ctx, s, rules)
	rules.Use = said.Use
	if err == nil && said.Model == nil {
		err = errors.New("the model gave no opinion")
	}
	if err != nil {
		rules.Trouble = trouble(err)
		return rules
	}
	return merge(rules, *said.Model, settings)
}

func trouble(err error) string { return cut(fmt.Sprintf("The model did not judge: %s", err), maxText) }

// merge adds an opinion to what the rules said. It never takes a rule's word back: what the
// model has read was written by the agent that is judged.
func merge(a Analysis, o Opinion, settings Settings) Analysis {
	a.Model = &o
	if a.Verdict == Steer {
		return a
	}
	a.SpokenBy, a.Verdict = ByModel, verdictOf(o, settings)
	a.NeedsSteering = a.Verdict == Steer
	a.AlignmentScore, a.Confidence = &o.AlignmentScore, o.Confidence
	a.SteeringType, a.Recommendation = o.SteeringType, o.Recommendation
	a.Summary, a.CurrentFocus = o.Summary, o.CurrentFocus
	a.Evidence = slices.Clone(o.Evidence)
	return a
}

// verdictOf is unknown for a model that is not sure, or that sees a fault and asks for nothing.
func verdictOf(o Opinion, settings Settings) Verdict {
	switch {
	case o.Confidence < settings.Confidence:
		return Unknown
	case o.NeedsSteering:
		return Steer
	case o.Aligned:
		return Healthy
	}
	return Unknown
}
