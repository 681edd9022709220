package app

import (
	"github.com/omoi-dev/omoi/config"
	"github.com/omoi-dev/omoi/internal/supervise"
)

// rulesOf are the numbers by which the guardian's rules judge.
func rulesOf(cfg *config.Loaded) supervise.Settings {
	r := cfg.Rules
	s := supervise.DefaultSettings()
	s.Confidence = r.Confidence
	s.LoopRepeats, s.LoopCycle, s.LoopPeriod = r.LoopRepeats, r.LoopCycle, r.LoopPeriod
	s.PollPause, s.PollFor = r.PollPause, r.PollFor
	s.NoProgress, s.NoProgressSteps, s.Silence, s.Monologue = r.NoProgress, r.NoProgressCalls, r.Silence, r.Monologue
	s.ToolLimit = cfg.Task.ToolTimeout
	s.SameError, s.SameFailing = r.SameError, r.SameFailing
	s.CostUSD, s.CostTokens, s.CostCalls, s.CostShare = r.CostUSD, r.CostTokens, r.CostCalls, r.CostShare
	s.IdleAfterEnd, s.TestsLost, s.TestsGrace = r.IdleAfterEnd, r.TestsLost, r.TestsGrace
	return s
}
