package guardian_test

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/omoi-dev/omoi/internal/guardian"
	"github.com/omoi-dev/omoi/internal/task"
)

func TestTheLadderIsClimbedRungByRung(t *testing.T) {
	t.Parallel()
	l := guardian.Ladder{Nudge: 0.6, Interrupt: 0.75, Replace: 0.9, CoolDown: 10 * time.Minute, Cap: 4}
	past := func(age time.Duration, levels ...guardian.Level) (out []guardian.PastIntervention) {
		for _, level := range levels {
			out = append(out, guardian.PastIntervention{Level: level, Age: age})
		}
		return out
	}
	taken := func(levels ...guardian.Level) []guardian.PastIntervention {
		out := past(11*time.Minute, levels...)
		out[0].Taken = true
		return out
	}
	const old, young = 11 * time.Minute, 9 * time.Minute
	for name, c := range map[string]struct {
		confidence   float64
		emergency    bool
		ends         bool // an interrupt ends the agent
		replacements int
		past         []guardian.PastIntervention
		want         guardian.Level
	}{
		"too weak":                          {confidence: 0.59, want: guardian.LevelObserve},
		"first":                             {confidence: 0.95, want: guardian.LevelNudge},
		"cooling down":                      {confidence: 0.95, past: past(young, guardian.LevelNudge), want: guardian.LevelObserve},
		"second":                            {confidence: 0.8, past: past(old, guardian.LevelNudge), want: guardian.LevelInterrupt},
		"second, less sure":                 {confidence: 0.7, past: past(old, guardian.LevelNudge), want: guardian.LevelNudge},
		"third":                             {confidence: 0.9, past: past(old, guardian.LevelInterrupt, guardian.LevelNudge), want: guardian.LevelReplace},
		"third after a nudge between":       {confidence: 0.9, past: past(old, guardian.LevelNudge, guardian.LevelInterrupt), want: guardian.LevelReplace},
		"third, less sure":                  {confidence: 0.8, past: past(old, guardian.LevelInterrupt, guardian.LevelNudge), want: guardian.LevelObserve},
		"too many":                          {confidence: 0.95, past: past(old, guardian.LevelNudge, guardian.LevelNudge, guardian.LevelNudge, guardian.LevelNudge), want: guardian.LevelObserve},
		"replaced too often":                {confidence: 0.95, replacements: 2, past: past(old, guardian.LevelInterrupt), want: guardian.LevelObserve},
		"an emergency":                      {confidence: 0.95, emergency: true, want: guardian.LevelInterrupt},
		"an emergency, less sure":           {confidence: 0.7, emergency: true, want: guardian.LevelNudge},
		"an emergency that cools down":      {confidence: 0.95, emergency: true, past: past(young, guardian.LevelInterrupt), want: guardian.LevelObserve},
		"an emergency after a replacement":  {confidence: 0.95, emergency: true, past: past(old, guardian.LevelReplace), want: guardian.LevelReplace},
		"an emergency after the first step": {confidence: 0.95, emergency: true, past: past(old, guardian.LevelNudge), want: guardian.LevelInterrupt},
		"deaf, first":                       {confidence: 0.95, ends: true, want: guardian.LevelNudge},
		"deaf, second":                      {confidence: 0.95, ends: true, past: past(old, guardian.LevelNudge), want: guardian.LevelReplace},
		"deaf, second, less sure":           {confidence: 0.8, ends: true, past: past(old, guardian.LevelNudge), want: guardian.LevelNudge},
		"deaf, cooling down":                {confidence: 0.95, ends: true, past: past(young, guardian.LevelNudge), want: guardian.LevelObserve},
		"deaf, replaced too often":          {confidence: 0.95, ends: true, replacements: 2, past: past(old, guardian.LevelNudge), want: guardian.LevelNudge},
		"deaf, an emergency":                {confidence: 0.95, ends: true, emergency: true, want: guardian.LevelReplace},
		"it took the nudge":                 {confidence: 0.95, ends: true, past: taken(guardian.LevelNudge), want: guardian.LevelInterrupt},
	} {
		step := l.Step(c.confidence, c.emergency, !c.ends, c.replacements, c.past)
		require.Equal(t, c.want, step.Level, name)
		require.NotEmpty(t, step.Reason, name)
	}
}

func TestAReplacementEndsTheAttemptThatIsMeant(t *testing.T) {
	t.Parallel()
	at := func(edit func(*task.State)) task.State {
		s := task.State{Status: task.StatusRunning, SandboxID: "box", Attempts: 1, MaxRetries: 3}
		edit(&s)
		return s
	}
	replace := task.Fact{Kind: task.FactReplace, SandboxID: "box"}
	state, eff := task.Decide(at(func(*task.State) {}), replace)
	require.Equal(t, task.ActionBegin, eff.Action)
	require.Equal(t, task.StatusPending, eff.Status)
	require.Equal(t, task.ReceiptCarriedOut, eff.Receipt)
	require.Equal(t, 1, state.Replacements)
	require.Zero(t, state.Retries, "it is nobody's failure")
	for name, c := range map[string]struct {
		edit func(*task.State)
		want task.Receipt
	}{
		"another attempt": {func(s *task.State) { s.SandboxID = "other" }, task.ReceiptTooLate},
		"publishing":      {func(s *task.State) { s.Stage = task.StagePublish }, task.ReceiptTooLate},
		"ended":           {func(s *task.State) { s.Status = task.StatusFailed }, task.ReceiptTooLate},
		"limit":           {func(s *task.State) { s.Replacements = task.MaxReplacements }, task.ReceiptRefused},
		"all attempts":    {func(s *task.State) { s.Attempts = task.MaxAttempts }, task.ReceiptRefused},
	} {
		was := at(c.edit)
		state, eff := task.Decide(was, replace)
		require.Equal(t, c.want, eff.Receipt, name)
		require.Equal(t, task.ActionIgnore, eff.Action, name)
		require.Equal(t, was, state, name)
	}
}
