package config

import "time"

// Rules are the numbers by which the guardian's rules judge.
type Rules struct {
	Confidence      float64       `key:"confidence" default:"0.6" min:"0" max:"1" doc:"Least confidence with which a finding, or a model, calls for steering."`
	LoopRepeats     int           `key:"loop_repeats" default:"5" min:"2" max:"1000" doc:"Same calls with the same answers, and nothing new in between, that are a loop."`
	LoopCycle       int           `key:"loop_cycle" default:"4" min:"2" max:"1000" doc:"Rounds of several calls that are a loop."`
	LoopPeriod      int           `key:"loop_period" default:"4" min:"1" max:"20" doc:"Longest round that is looked for."`
	PollPause       time.Duration `key:"poll_pause" default:"15s" min:"1ms" max:"1h" doc:"A call that takes so long, or a question to the outside after so long, is polling."`
	PollFor         time.Duration `key:"poll_for" default:"30m" min:"1ms" max:"168h" doc:"How long polling may go on without a change."`
	NoProgress      time.Duration `key:"no_progress" default:"12m" min:"1ms" max:"168h" doc:"Time at work with nothing new."`
	NoProgressCalls int           `key:"no_progress_calls" default:"8" min:"1" max:"1000" doc:"Least calls in that time."`
	Silence         time.Duration `key:"silence" default:"10m" min:"1ms" max:"168h" doc:"Time that an agent may be alive, at nothing, and say nothing."`
	Monologue       int           `key:"monologue" default:"6" min:"2" max:"1000" doc:"Messages of its own in a row without a call."`
	SameError       int           `key:"same_error" default:"5" min:"2" max:"1000" doc:"Times that the same error comes whatever is tried."`
	SameFailing     int           `key:"same_failing" default:"4" min:"2" max:"1000" doc:"Runs of the same tests with the same failures, with edits in between."`
	CostUSD         float64       `key:"cost_usd" default:"3" min:"0.01" max:"100000" unit:"USD" doc:"Money spent since a file was changed last."`
	CostTokens      int64         `key:"cost_tokens" default:"3000000" min:"1000" max:"1000000000000" unit:"tokens" doc:"The same, where no price is known."`
	CostCalls       int           `key:"cost_calls" default:"20" min:"1" max:"100000" doc:"Least calls in that time."`
	CostShare       float64       `key:"cost_share" default:"0.5" min:"0.01" max:"1" doc:"Part of a task's budget that is as much, if that is less."`
	IdleAfterEnd    time.Duration `key:"idle_after_end" default:"5m" min:"1ms" max:"168h" doc:"How long an agent may stay when its work is done, or wait for a message that nobody promised."`
	TestsLost       int           `key:"tests_lost" default:"0" min:"0" max:"1000" doc:"Tests or checks that may go without a word in the task."`
	TestsGrace      time.Duration `key:"tests_grace" default:"2m" min:"0s" max:"24h" doc:"How long they may be gone before that counts, if no test is run and nothing committed."`
}
