package feedback

import (
	"encoding/json"
	"fmt"
	"time"

	"github.com/omoi-dev/omoi/internal/task"
)

// Action is what is done about feedback that waits.
type Action string

// What is done about feedback that waits.
const (
	ActionTell  Action = "tell"  // the agent that is at work
	ActionStart Action = "start" // a task that goes on with the branch
	ActionWait  Action = "wait"
	ActionDrop  Action = "drop"
)

// Case is what [Decide] needs to know.
type Case struct {
	On        Mode
	Status    task.Status   // of the newest task of the pull request
	Listens   bool          // its agent can be told
	Closed    bool          // the pull request is closed or merged
	Rounds    int           // tasks that feedback has started
	MaxRounds int           // that it may start
	Age       time.Duration // of the oldest that waits
}

// Decide says what is done about feedback that waits, and why. A task that failed goes on when a person retries
// it: its agent is told then. A completed task cannot be run again, hence a new one.
func Decide(c Case) (Action, string) {
	switch {
	case c.Closed:
		return ActionDrop, "the pull request is closed"
	case c.On != ModeMessage && c.On != ModeRevise:
		return ActionDrop, "the project wants none (omoi project update --on-feedback)"
	case c.Status == task.StatusCancelled:
		return ActionDrop, "the task was cancelled"
	case c.Status == task.StatusCompleted:
		return decideCompleted(c)
	case c.Listens:
		return ActionTell, ""
	case c.Age > Window:
		return ActionDrop, "no agent could be told in three days"
	case c.Status == task.StatusFailed:
		return ActionWait, "the task has failed; its agent is told after omoi retry"
	}
	return ActionWait, "the agent is told as soon as it can be"
}

func decideCompleted(c Case) (Action, string) {
	switch {
	case c.On != ModeRevise:
		return ActionDrop, "no agent is at work, and the project starts none (omoi project update --on-feedback=revise)"
	case c.Rounds >= c.MaxRounds:
		return ActionDrop, fmt.Sprintf("feedback has started %d of %d tasks for this pull request (github.max_followup_tasks)", c.Rounds, c.MaxRounds)
	}
	return ActionStart, ""
}

// Policy is how feedback is settled.
type Policy struct {
	MaxRounds int           // tasks that it may start for one pull request
	Pause     time.Duration // until what nobody could be told is looked at again
}

// Step is what one step of it did.
type Step struct {
	Sandboxes []string // whose agents have a message
	Started   []string // tasks
	Dropped   []string // tasks for whose pull request something was dropped
}

// MayChangeNothing is an execution config that allows it, unless that says otherwise itself. One that cannot be read stays as it is.
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
