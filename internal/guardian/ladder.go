package guardian

import (
	"fmt"
	"slices"
	"time"

	"github.com/omoi-dev/omoi/internal/task"
)

// Ladder is how far the guardian goes with one attempt, and how fast.
type Ladder struct {
	Nudge     float64       // least confidence of a nudge
	Interrupt float64       // of an interrupt
	Replace   float64       // of a replacement
	CoolDown  time.Duration // between two steps
	Cap       int           // steps in one attempt
}

// Step answers what is to be done about a judgement with this confidence that asks for steering.
// past is what was done about the attempt before, newest first; emergencies begin at an
// interrupt. Each rung is climbed once, after the one below it has had its time; where nothing is
// done, the reason says why. An agent that would not outlive an interrupt, and has not shown that it
// takes messages, is replaced instead.
func (l Ladder) Step(confidence float64, emergency, outlives bool, replacements int, past []PastIntervention) PlannedIntervention {
	switch {
	case confidence < l.Nudge:
		return PlannedIntervention{Level: LevelObserve, Reason: fmt.Sprintf("the confidence %.2f is below %.2f", confidence, l.Nudge)}
	case len(past) >= l.Cap:
		return PlannedIntervention{Level: LevelObserve, Reason: fmt.Sprintf("the attempt has had %d steps; that is the limit", len(past))}
	case len(past) > 0 && past[0].Age < l.CoolDown:
		return PlannedIntervention{Level: LevelObserve, Reason: fmt.Sprintf("the last step was %s ago; it has %s to show", past[0].Age.Round(time.Second), l.CoolDown)}
	}
	switch l.reached(emergency, past) {
	case LevelNudge:
		return PlannedIntervention{Level: LevelNudge, Reason: "the first step"}
	case LevelInterrupt:
		if outlives || slices.ContainsFunc(past, func(p PastIntervention) bool { return p.Taken }) {
			return l.interrupt(confidence, emergency)
		}
		return l.instead(confidence, replacements)
	case LevelReplace, LevelObserve:
	}
	return l.replace(confidence, replacements)
}

// reached is the rung that comes next by what was done before.
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

// instead is the step where an interrupt would only end the agent, and cost the task one of its retries.
func (l Ladder) instead(confidence float64, replacements int) PlannedIntervention {
	const why = "an interrupt would end this agent, which has taken no message"
	step := l.replace(confidence, replacements)
	if step.Level != LevelReplace {
		return PlannedIntervention{Level: LevelNudge, Reason: why + "; " + step.Reason}
	}
	return PlannedIntervention{Level: LevelReplace, Reason: why}
}

func (l Ladder) replace(confidence float64, replacements int) PlannedIntervention {
	switch {
	case replacements >= task.MaxReplacements:
		return PlannedIntervention{Level: LevelObserve, Reason: fmt.Sprintf("the task has had %d replacements; that is the limit", replacements)}
	case confidence < l.Replace:
		return PlannedIntervention{Level: LevelObserve, Reason: fmt.Sprintf("the confidence %.2f is below the %.2f of a replacement", confidence, l.Replace)}
	}
	return PlannedIntervention{Level: LevelReplace, Reason: "an interrupt has not helped"}
}
