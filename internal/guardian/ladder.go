package guardian

import (
	"fmt"
	"slices"
	"time"

	"github.com/omoi-dev/omoi/internal/task"
)

// Ladder is the escalation policy: which interventions the guardian uses for one attempt, and how fast.
type Ladder struct {
	Nudge     float64       // minimum confidence of a nudge
	Interrupt float64       // of an interrupt
	Replace   float64       // of a replacement
	CoolDown  time.Duration // minimum time between two interventions
	Cap       int           // maximum number of interventions in one attempt
}

// Step returns the intervention for an analysis that recommends steering with this confidence. past are the earlier
// interventions in the attempt, newest first. Escalation goes from nudge to interrupt to replace, each after the cooldown; an
// emergency starts at interrupt. If an interrupt would end the agent and the agent has acknowledged no message, Step returns
// a replacement instead of an interrupt. The reason of the result explains the level.
func (l Ladder) Step(confidence float64, emergency, outlives bool, replacements int, past []PastIntervention) PlannedIntervention {
	switch {
	case confidence < l.Nudge:
		return PlannedIntervention{Level: LevelObserve, Reason: fmt.Sprintf("the confidence %.2f is below %.2f", confidence, l.Nudge)}
	case len(past) >= l.Cap:
		return PlannedIntervention{Level: LevelObserve, Reason: fmt.Sprintf("the attempt has had %d interventions, the maximum", len(past))}
	case len(past) > 0 && past[0].Age < l.CoolDown:
		return PlannedIntervention{Level: LevelObserve, Reason: fmt.Sprintf("the last intervention was %s ago; the cooldown is %s", past[0].Age.Round(time.Second), l.CoolDown)}
	}
	switch l.reached(emergency, past) {
	case LevelNudge:
		return PlannedIntervention{Level: LevelNudge, Reason: "the first intervention"}
	case LevelInterrupt:
		if outlives || slices.ContainsFunc(past, func(p PastIntervention) bool { return p.Taken }) {
			return l.interrupt(confidence, emergency)
		}
		return l.instead(confidence, replacements)
	case LevelReplace, LevelObserve:
	}
	return l.replace(confidence, replacements)
}

// reached returns the next level after the past interventions.
func (l Ladder) reached(emergency bool, past []PastIntervention) Level {
	was := func(level Level) bool {
		return slices.ContainsFunc(past, func(p PastIntervention) bool { return p.Level == level })
	}
	switch {
	case was(LevelInterrupt) || was(LevelReplace):
		return LevelReplace
	case was(LevelNudge) || emergency:
		return LevelInterrupt
	}
	return LevelNudge
}

func (l Ladder) interrupt(confidence float64, emergency bool) PlannedIntervention {
	switch {
	case confidence < l.Interrupt:
		return PlannedIntervention{Level: LevelNudge, Reason: fmt.Sprintf("the confidence %.2f is below the %.2f of an interrupt", confidence, l.Interrupt)}
	case emergency:
		return PlannedIntervention{Level: LevelInterrupt, Reason: "an emergency"}
	}
	return PlannedIntervention{Level: LevelInterrupt, Reason: "a nudge has not helped"}
}

// instead returns the intervention for an agent that an interrupt would end, at the cost of a retry.
func (l Ladder) instead(confidence float64, replacements int) PlannedIntervention {
	const why = "an interrupt would end this agent, which has acknowledged no message"
	step := l.replace(confidence, replacements)
	if step.Level != LevelReplace {
		return PlannedIntervention{Level: LevelNudge, Reason: why + "; " + step.Reason}
	}
	return PlannedIntervention{Level: LevelReplace, Reason: why}
}

func (l Ladder) replace(confidence float64, replacements int) PlannedIntervention {
	switch {
	case replacements >= task.MaxReplacements:
		return PlannedIntervention{Level: LevelObserve, Reason: fmt.Sprintf("the task has had %d replacements, the maximum", replacements)}
	case confidence < l.Replace:
		return PlannedIntervention{Level: LevelObserve, Reason: fmt.Sprintf("the confidence %.2f is below the %.2f of a replacement", confidence, l.Replace)}
	}
	return PlannedIntervention{Level: LevelReplace, Reason: "an interrupt has not helped"}
}
