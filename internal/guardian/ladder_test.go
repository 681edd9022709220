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
	past := func(age time.Duration, levels ...task.Level) (out []task.Past) {
		for _, level := range levels {
			out = append(out, task.Past{Level: level, Age: age})
		}
		return out
	}
	taken := func(levels ...task.Level) []task.Past {
		out := past(11*time.Minute, levels...)
		out[0].Taken = true
		return out
	}
	const old, young = 11 * time.Minute, 9 * time.Minute
	for name, c := range map[string]struct {
		confidence   float64
		emergency    bool
		ends         bool // by an interrupt
		replacements int
		past         []task.Past
		want         task.Level
	}{
		"too weak":                          {confidence: 0.59, want: task.LevelObserve},
		"first":                             {confidence: 0.95, want: task.LevelNudge},
		"cooling down":                      {confidence: 0.95, past: past(young, task.LevelNudge), want: task.LevelObserve},
		"second":                            {confidence: 0.8, past: past(old, task.LevelNudge), want: task.LevelInterrupt},
		"second, less sure":                 {confidence: 0.7, past: past(old, task.LevelNudge), want: task.LevelNudge},
		"third":                             {confidence: 0.9, past: past(old, task.LevelInterrupt, task.LevelNudge), want: task.LevelReplace},
		"third after a nudge between":       {confidence: 0.9, past: past(old, task.LevelNudge, task.LevelInterrupt), want: task.LevelReplace},
		"third, less sure":                  {confidence: 0.8, past: past(old, task.LevelInterrupt, task.LevelNudge), want: task.LevelObserve},
		"too many":                          {confidence: 0.95, past: past(old, task.LevelNudge, task.LevelNudge, task.LevelNudge, task.LevelNudge), want: task.LevelObserve},
		"replaced too often":                {confidence: 0.95, replacements: 2, past: past(old, task.LevelInterrupt), want: task.LevelObserve},
		"an emergency":                      {confidence: 0.95, emergency: true, want: task.LevelInterrupt},
		"an emergency, less sure":           {confidence: 0.7, emergency: true, want: task.LevelNudge},
		"an emergency that cools down":      {confidence: 0.95, emergency: true, past: past(young, task.LevelInterrupt), want: task.LevelObserve},
		"an emergency after a replacement":  {confidence: 0.95, emergency: true, past: past(old, task.LevelReplace), want: task.LevelReplace},
		"an emergency after the first step": {confidence: 0.95, emergency: true, past: past(old, task.LevelNudge), want: task.LevelInterrupt},
		"deaf, first":                       {confidence: 0.95, ends: true, want: task.LevelNudge},
		"deaf, second":                      {confidence: 0.95, ends: true, past: past(old, task.LevelNudge), want: task.LevelReplace},
		"deaf, second, less sure":           {confidence: 0.8, ends: true, past: past(old, task.LevelNudge), want: task.LevelNudge},
		"deaf, cooling down":                {confidence: 0.95, ends: true, past: past(young, task.LevelNudge), want: task.LevelObserve},
		"deaf, replaced too often":          {confidence: 0.95, ends: true, replacements: 2, past: past(old, task.LevelNudge), want: task.LevelNudge},
		"deaf, an emergency":                {confidence: 0.95, ends: true, emergency: true, want: task.LevelReplace},
		"it took the nudge":                 {confidence: 0.95, ends: true, past: taken(task.LevelNudge), want: task.LevelInterrupt},
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
