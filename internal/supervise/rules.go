package supervise

import (
	"cmp"
	"fmt"
	"slices"
)

// A rule looks for one fault. It is pure, and says nothing rather than something doubtful.
type rule struct {
	name  string
	label Label
	kind  string // of steering
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

// allRules are in the order of their weight where two are as sure.
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

// Rules judges by rules alone. Where none speaks the verdict is unknown.
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

// speak makes the strongest finding the verdict, if it is strong enough.
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

// Label is the kind of trajectory that an analysis takes a subject for; empty where it cannot say.
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
