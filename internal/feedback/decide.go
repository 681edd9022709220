package feedback

import (
	"encoding/json"
	"fmt"
	"time"

	"github.com/omoi-dev/omoi/internal/task"
)

// Action is what omoi does with pending feedback.
type Action string

// Values of [Action].
const (
	ActionTell  Action = "tell"  // send a message to the running agent
	ActionStart Action = "start" // create a task that continues the branch
	ActionWait  Action = "wait"
	ActionDrop  Action = "drop"
)

// Case is the input of [Decide]. All feedback in a Case belongs to one pull request.
type Case struct {
	On        Mode
	Status    task.Status   // status of the newest task of the pull request
	Listens   bool          // the agent of that task can receive a message
	Closed    bool          // the pull request is closed or merged
	Rounds    int           // tasks that feedback has created
	MaxRounds int           // maximum of Rounds
	Age       time.Duration // age of the oldest pending feedback
}

// Decide returns what omoi does with pending feedback, and the reason. Feedback of a failed task waits: its agent
// receives the feedback after a retry. A completed task cannot be retried, so that feedback creates a new task.
func Decide(c Case) (Action, string) {
	switch {
	case c.Closed:
		return ActionDrop, "the pull request is closed"
	case c.On != ModeMessage && c.On != ModeRevise:
		return ActionDrop, "feedback is off for the project (omoi project update --on-feedback)"
	case c.Status == task.StatusCancelled:
		return ActionDrop, "the task was cancelled"
	case c.Status == task.StatusCompleted:
		return decideCompleted(c)
	case c.Listens:
		return ActionTell, ""
	case c.Age > Window:
		return ActionDrop, "no agent could receive a message for three days"
	case c.Status == task.StatusFailed:
		return ActionWait, "the task has failed: its agent receives the feedback after omoi retry"
	}
	return ActionWait, "waiting for an agent that can receive a message"
}

func decideCompleted(c Case) (Action, string) {
	switch {
	case c.On != ModeRevise:
		return ActionDrop, "the task is completed and the project creates no tasks for feedback (omoi project update --on-feedback=revise)"
	case c.Rounds >= c.MaxRounds:
		return ActionDrop, fmt.Sprintf("feedback has created %d of %d tasks for this pull request (github.max_followup_tasks)", c.Rounds, c.MaxRounds)
	}
	return ActionStart, ""
}

// Policy configures how pending feedback is settled.
type Policy struct {
	MaxRounds int           // tasks that feedback may create for one pull request
	Pause     time.Duration // minimum delay before waiting feedback is decided again
}

// Step is the result of settling the feedback of one pull request.
type Step struct {
	Sandboxes []string // sandboxes whose agents have a new message
	Started   []string // IDs of created tasks
	Dropped   []string // IDs of tasks whose pull request had feedback dropped
}

// MayChangeNothing returns an execution config that allows a task to change no file, by REQUIRE_CHANGES=false. A config
// that sets REQUIRE_CHANGES, or that cannot be parsed, is returned unchanged.
func MayChangeNothing(config json.RawMessage) json.RawMessage {
	all, env := map[string]json.RawMessage{}, map[string]json.RawMessage{}
	if len(config) > 0 && json.Unmarshal(config, &all) != nil {
		return config
	}
	if raw := all["env"]; len(raw) > 0 && json.Unmarshal(raw, &env) != nil {
		return config
	}
	if _, set := env[task.EnvRequireChanges]; set {
		return config
	}
	if all == nil {
		all = map[string]json.RawMessage{}
	}
	if env == nil {
		env = map[string]json.RawMessage{}
	}
	env[task.EnvRequireChanges] = json.RawMessage(`"false"`)
	var err error
	if all["env"], err = json.Marshal(env); err != nil {
		return config
	}
	out, err := json.Marshal(all)
	if err != nil {
		return config
	}
	return out
}
