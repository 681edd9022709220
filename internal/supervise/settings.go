package supervise

import "time"

// Settings are the numbers of the rules. docs/GUARDIAN-RULES.md says of each where it comes from.
type Settings struct {
	// Confidence is the least one with which a finding or an opinion calls for steering.
	Confidence float64

	LoopRepeats int // the same call with the same answer, with nothing new in between
	// PollPause makes calls that are so far apart polling; it may go on for PollFor.
	PollPause time.Duration
	PollFor   time.Duration

	NoProgress      time.Duration // at work, and nothing new
	NoProgressSteps int           // least steps of that time; fewer are silence
	Silence         time.Duration // alive, at nothing, and says nothing
	Monologue       int           // messages of its own in a row without a call
	ToolLimit       time.Duration // until then a tool under way is work

	SameError   int // the same error, whatever was tried in between
	SameFailing int // runs of tests with the same failures, after edits

	CostUSD    float64 // spent since the last change of a file
	CostTokens int64   // the same, where no price is known
	CostCalls  int     // and so many calls
	CostShare  float64 // and this part of the budget, where there is one

	IdleAfterEnd time.Duration
	// TestsLost are tests or checks that may go, net, without a word.
	TestsLost  int
	TestsGrace time.Duration // until then it may be about to put them elsewhere
	// Ignored are patterns of files that tools write by themselves.
	Ignored []string
}

// KeepAnalyses is how long analyses are kept that led to nothing.
const KeepAnalyses = 14 * 24 * time.Hour

// DefaultSettings are the numbers of docs/GUARDIAN-RULES.md.
func DefaultSettings() Settings {
	return Settings{
		Confidence:  0.6,
		LoopRepeats: 5,
		PollPause:   15 * time.Second, PollFor: 30 * time.Minute,
		NoProgress: 12 * time.Minute, NoProgressSteps: 8,
		Silence: 10 * time.Minute, Monologue: 6, ToolLimit: 30 * time.Minute,
		SameError: 5, SameFailing: 4,
		CostUSD: 3, CostTokens: 3_000_000, CostCalls: 20, CostShare: 0.5,
		IdleAfterEnd: 5 * time.Minute, TestsGrace: 2 * time.Minute,
		Ignored: []string{
			"**/*.log", "**/__pycache__/**", "**/node_modules/**", "**/coverage*", "**/.coverage", "**/*.lock",
			"**/package-lock.json", "**/pnpm-lock.yaml", "**/go.sum", "**/.pytest_cache/**", "**/*.pyc", "**/.DS_Store",
		},
	}
}
