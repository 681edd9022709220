package guardian

import (
	"encoding/json"
	"fmt"
	"time"

	"github.com/omoi-dev/omoi/internal/supervise"
)

// Rules are [supervise.Settings] under the names of the API. Its durations hold seconds.
type Rules struct {
	Confidence      float64       `json:"confidence" doc:"Confidence from which a finding or an opinion calls for steering, 0 to 1."`
	LoopRepeats     int           `json:"loop_repeats" doc:"Equal calls with equal answers that make a loop."`
	PollPause       time.Duration `json:"poll_pause_seconds" doc:"Calls that are at least so many seconds apart are polling."`
	PollFor         time.Duration `json:"poll_limit_seconds" doc:"Seconds for which polling makes no loop."`
	NoProgress      time.Duration `json:"no_progress_seconds" doc:"Seconds of calls without new information that make an agent stuck."`
	NoProgressSteps int           `json:"no_progress_calls" doc:"Minimum number of calls in that time."`
	Silence         time.Duration `json:"silence_seconds" doc:"Seconds without an event and without a running tool that make an agent stuck."`
	Monologue       int           `json:"monologue_messages" doc:"Messages of the agent in a row, without a call, that make the agent stuck."`
	ToolLimit       time.Duration `json:"tool_limit_seconds" doc:"Seconds for which a running tool counts as work."`
	SameError       int           `json:"same_error_count" doc:"Occurrences of the same error that make an agent failing."`
	SameFailing     int           `json:"same_failure_runs" doc:"Test runs with the same failures, after edits, that make an agent failing."`
	CostUSD         float64       `json:"cost_usd" doc:"Cost in USD since the last changed file that makes an agent stuck."`
	CostTokens      int64         `json:"cost_tokens" doc:"The same in tokens, where no price is known."`
	CostCalls       int           `json:"cost_calls" doc:"Minimum number of calls since the last changed file for the rule about cost."`
	CostShare       float64       `json:"cost_budget_share" doc:"Part of the task's budget, 0 to 1, that replaces cost_usd if the part is less."`
	IdleAfterEnd    time.Duration `json:"idle_after_end_seconds" doc:"Seconds after the end of the work that make an agent idle."`
	Ignored         []string      `json:"ignored_paths" doc:"Patterns of files that tools write, which no rule reads."`
}

// ShownRules returns stored [supervise.Settings] as [Rules].
func ShownRules(stored json.RawMessage) (json.RawMessage, error) {
	var settings supervise.Settings
	if err := json.Unmarshal(stored, &settings); err != nil { //nolint:musttag // stored under the names of the fields
		return nil, fmt.Errorf("read the rules of an analysis: %w", err)
	}
	rules := Rules(settings)
	for _, d := range []*time.Duration{
		&rules.PollPause, &rules.PollFor, &rules.NoProgress, &rules.Silence, &rules.ToolLimit, &rules.IdleAfterEnd,
	} {
		*d /= time.Second
	}
	return json.Marshal(rules)
}
