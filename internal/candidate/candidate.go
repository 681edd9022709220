// Package candidate compares tasks that do the same work: the parts of their budget, their figures, and which one to take.
package candidate

import (
	"encoding/json"
	"strings"

	"github.com/omoi-dev/omoi/internal/task"
)

// Comparison is a ticket whose tasks, the candidates, do the same work.
type Comparison struct {
	TicketID       string         `json:"ticket_id" doc:"Ticket of all candidates."`
	TicketKey      string         `json:"ticket_key" doc:"Key of that ticket, for example APP-T7."`
	Title          string         `json:"title" doc:"What the user wants, in one line."`
	Ended          bool           `json:"ended" doc:"True: each candidate is completed, failed or cancelled."`
	Budget         task.Budget    `json:"budget" doc:"Limits of all candidates together: the sum of their parts; each candidate has the whole wall clock. A missing key or 0: no limit, or a candidate has none."`
	Candidates     []ComparedTask `json:"candidates" nullable:"false" doc:"Tasks that do the work, in the order of the request."`
	Recommendation Recommendation `json:"recommendation" doc:"Which work to take, by fixed rules, and why."`
}

// Judged returns the comparison with what follows from its candidates.
func (c Comparison) Judged() Comparison {
	c.Ended = count(c.Candidates, func(one ComparedTask) bool { return one.Status.Final() }) == len(c.Candidates)
	c.Budget, c.Recommendation = Whole(c.Candidates), Recommend(c.Candidates)
	return c
}

// ComparedTask is one task of a comparison.
type ComparedTask struct {
	Name        string             `json:"name" doc:"Agent and model, for example claude:opus; without a model the agent alone."`
	TaskID      string             `json:"task_id" doc:"UUID of the task that does the work, on a branch of its own."`
	TaskKey     string             `json:"task_key" doc:"Key of that task, for example APP-12."`
	Status      task.Status        `json:"status" doc:"Status of the task; a candidate that failed or was cancelled can be retried."`
	Blocked     task.BlockedReason `json:"blocked_reason" doc:"Why the pending task is suspended or blocked. Empty: neither."`
	Group       task.Group         `json:"group" doc:"Who acts next on the task: needs_you is one that only a user lets continue."`
	Branch      *string            `json:"branch_name" doc:"Branch with the work, which stays whatever is recommended. Null: not created."`
	PullURL     *string            `json:"pull_request_url" doc:"Web address of the pull request. Null: not opened."`
	Tests       *task.TestRepeat   `json:"test_repeat" doc:"Result of the test command, repeated by omoi on the newest work. Null: none."`
	Lines       *int               `json:"changed_lines" doc:"Added and deleted lines of the work together. Null: not completed, no work, or not counted."`
	Files       *int               `json:"changed_files" doc:"Number of files that the work changes. Null: not completed, no work, or not counted."`
	CostUSD     *float64           `json:"cost_usd" doc:"Cost of the models in US dollars, as far as known. Null: unknown."`
	CostUnknown bool               `json:"cost_unknown" doc:"True: a model without a known price was used, and cost_usd leaves its cost out."`
	Tokens      float64            `json:"tokens" doc:"Input and output tokens of all models together, as the agent reports."`
	Seconds     float64            `json:"wall_clock_seconds" doc:"Seconds since the creation of the task, to its end."`
	Budget      task.Budget        `json:"budget" doc:"Part of the candidate in the budget of the comparison."`
}

// label names a candidate in a sentence.
func (c ComparedTask) label() string { return c.TaskKey + " (" + c.Name + ")" }

// key of the execution config that makes a task a candidate. Copies of the config for other tasks leave it out.
const key = "candidate"

// Choice is what makes a task a candidate: the value of the key candidate in its execution config.
type Choice struct {
	Model string `json:"model,omitempty" doc:"Model that the comparison named for the agent. Absent: none."`
}

// Mark returns an execution config that makes its task a candidate with a model; empty: the default of the agent.
func Mark(config json.RawMessage, model string) (json.RawMessage, error) {
	all, env := map[string]json.RawMessage{}, map[string]json.RawMessage{}
	if len(config) > 0 && (json.Unmarshal(config, &all) != nil || all == nil) {
		return nil, task.Invalid("execution_config", "Invalid execution_config: expected an object.")
	}
	if model != "" {
		if raw := all["env"]; len(raw) > 0 && (json.Unmarshal(raw, &env) != nil || env == nil) {
			return nil, task.Invalid("execution_config.env", "Invalid execution_config.env: expected an object.")
		}
		env["MODEL"], _ = json.Marshal(model) //nolint:errchkjson // a text
		all["env"], _ = json.Marshal(env)     //nolint:errchkjson // parsed above
	}
	all[key], _ = json.Marshal(Choice{model}) //nolint:errchkjson // a text
	return json.Marshal(all)
}

// Unmark returns an execution config for a task that is not a candidate.
func Unmark(config json.RawMessage) json.RawMessage {
	var all map[string]json.RawMessage
	if json.Unmarshal(config, &all) != nil || all[key] == nil {
		return config
	}
	delete(all, key)
	out, _ := json.Marshal(all) //nolint:errchkjson // parsed above
	return out
}

// Is reports whether an execution config makes its task a candidate.
func Is(config json.RawMessage) bool {
	var all map[string]json.RawMessage // field names of a struct would match in any case
	var choice *Choice
	return json.Unmarshal(config, &all) == nil && json.Unmarshal(all[key], &choice) == nil && choice != nil
}

// Name names the agent and the model of a candidate.
func Name(agent, model string) string { return strings.TrimSuffix(agent+":"+model, ":") }
