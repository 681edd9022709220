package supervise

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
)

// A rule matches one fault. Rules are pure functions that return nil if in doubt.
type rule struct {
	name  string
	label Label
	kind  string // kind of steering
	look  func(*history, Settings) *Finding
}

// Names of the rules.
const (
	RuleLoop       = "loop"
	RuleNoProgress = "no_progress"
	RuleSameError  = "repeated_error"
	RuleFailing    = "tests_failing"
	RuleOutside    = "outside_paths"
	RuleConstraint = "constraint"
	RuleCost       = "cost"
	RuleWeakened   = "tests_weakened"
	RuleIdle       = "idle_after_end"
)

// allRules returns the rules, worst fault first: of equal confidence, the first one wins.
func allRules() []rule {
	return []rule{
		{RuleWeakened, LabelCheating, Correction, weakened},
		{RuleConstraint, LabelDrift, Correction, constraint},
		{RuleOutside, LabelDrift, Correction, outside},
		{RuleLoop, LabelLoop, Guidance, loop},
		{RuleFailing, LabelFailing, Guidance, failing},
		{RuleSameError, LabelFailing, Guidance, sameError},
		{RuleNoProgress, LabelStuck, Guidance, noProgress},
		{RuleCost, LabelStuck, Guidance, cost},
		{RuleIdle, LabelIdle, Guidance, idle},
	}
}

// Rules analyzes a subject by rules alone. Without a finding the verdict is unknown.
func Rules(s Subject, settings Settings) Analysis {
	t := newHistory(&s)
	a := Analysis{
		SpokenBy: ByNone, Verdict: Unknown, Findings: []Finding{}, Evidence: []int64{},
		Context: contextOf(t), Seen: s.Seen,
	}
	a.CurrentFocus = a.Context.Focus
	for _, r := range allRules() {
		if f := r.look(t, settings); f != nil {
			f.Rule, f.Label, f.Type = r.name, r.label, r.kind
			a.Findings = append(a.Findings, *f)
		}
	}
	slices.SortStableFunc(a.Findings, func(x, y Finding) int { return cmp.Compare(y.Confidence, x.Confidence) })
	a.speak(settings)
	return a
}

// speak makes the strongest finding the verdict, if its confidence suffices.
func (a *Analysis) speak(settings Settings) {
	if len(a.Findings) == 0 || a.Findings[0].Confidence < settings.Confidence {
		a.Summary = fmt.Sprintf("No rule found a fault in events %d to %d; whether the work serves its goal was not judged.", a.Seen.First, a.Seen.Last)
		return
	}
	f := a.Findings[0]
	score := 1 - f.Confidence
	a.SpokenBy, a.Verdict, a.NeedsSteering, a.AlignmentScore = ByRules, Steer, true, &score
	a.SteeringType, a.Recommendation, a.Summary = f.Type, f.Advice, f.Why
	a.Confidence, a.Evidence = f.Confidence, f.Evidence
}

// Label returns the kind of trajectory of an analysis. Empty: unknown.
func (a *Analysis) Label() Label {
	switch {
	case a.Verdict == Healthy:
		return LabelHealthy
	case a.Verdict == Steer && a.SpokenBy == ByModel && a.Model != nil:
		return a.Model.Label
	case a.Verdict == Steer && len(a.Findings) > 0:
		return a.Findings[0].Label
	}
	return ""
}

// Analyze applies the rules, then the model m, if it is not nil and the rules have not settled it. If the model fails, the analysis of the rules stays
// and Trouble says why.
func Analyze(ctx context.Context, s Subject, settings Settings, m Model) Analysis {
	rules := Rules(s, settings)
	if m == nil || rules.settled(&s, settings) {
		return rules
	}
	said, err := m.Judge(ctx, s, rules)
	rules.Use = said.Use
	if err == nil && said.Model == nil {
		err = errors.New("the model returned no opinion")
	}
	if err != nil {
		rules.Trouble = trouble(err)
		return rules
	}
	return merge(rules, *said.Model, settings)
}

func trouble(err error) string { return cut(fmt.Sprintf("The model did not judge: %s", err), maxText) }

// merge adds the opinion of a model to an analysis. A steer verdict of the rules stays, because the model reads text
// that the analyzed agent wrote.
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

// verdictOf returns unknown for a model that is not confident, or that sees a fault and advises no steering.
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
