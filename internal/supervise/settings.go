package supervise

import "time"

// Settings are the thresholds of the rules. docs/GUARDIAN-RULES.md explains them.
type Settings struct {
	// Confidence is the minimum confidence of a finding or an opinion that steers, 0 to 1.
	Confidence float64

	LoopRepeats int // equal calls with equal answers, without new information in between
	// PollPause is the minimum pause or duration of a call that makes it polling; polling may last PollFor.
	PollPause time.Duration
	PollFor   time.Duration

	NoProgress      time.Duration // maximum time without new information
	NoProgressSteps int           // minimum steps in that time; fewer count as silence
	Silence         time.Duration // maximum time with heartbeats only
	Monologue       int           // messages of the agent in a row without a call
	ToolLimit       time.Duration // maximum duration of a tool call

	SameError   int // equal errors, whatever the agent tried in between
	SameFailing int // test runs with equal failures, with edits in between

	CostUSD    float64 // spending since the last change of a file
	CostTokens int64   // the same in tokens, if no price is known
	CostCalls  int     // minimum calls since the last change of a file
	CostShare  float64 // share of the task's budget, if that is less than CostUSD

	IdleAfterEnd time.Duration
	// Ignored are patterns of files that tools write.
	Ignored []string
}

// KeepAnalyses is the retention of analyses that led to no intervention.
const KeepAnalyses = 14 * 24 * time.Hour

// DefaultSettings returns the thresholds of docs/GUARDIAN-RULES.md.
func DefaultSettings() Settings {
	return Settings{
		Confidence:  0.6,
		LoopRepeats: 5,
		PollPause:   15 * time.Second, PollFor: 30 * time.Minute,
		NoProgress: 12 * time.Minute, NoProgressSteps: 8,
		Silence: 10 * time.Minute, Monologue: 6, ToolLimit: 30 * time.Minute,
		SameError: 5, SameFailing: 4,
		CostUSD: 3, CostTokens: 3_000_000, CostCalls: 20, CostShare: 0.5,
		IdleAfterEnd: 5 * time.Minute,
		Ignored: []string{
			"**/*.log", "**/__pycache__/**", "**/node_modules/**", "**/coverage*", "**/.coverage", "**/*.lock",
			"**/package-lock.json", "**/pnpm-lock.yaml", "**/go.sum", "**/.pytest_cache/**", "**/*.pyc", "**/.DS_Store",
		},
	}
}
