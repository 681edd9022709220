package contract

import "time"

const (
	// TailTurn is how long one [RelaySandbox] carries before it answers.
	TailTurn = 4 * time.Minute
	// TailTurns bounds the history of one run of a [PullRelayWorkflow].
	TailTurns = 200
)

// TailWorkflowID is the workflow id under which a sandbox is tailed.
func TailWorkflowID(sandboxID string) string { return "tail-" + sandboxID }

// QueueTails is the task queue of the tails of sandboxes whose work is on the given one: tails
// are many and long, and must not keep a sandbox from being deleted.
func QueueTails(queue string) string {
	if queue == "" {
		return ""
	}
	return queue + "-tails"
}

// TailInput starts a [PullRelayWorkflow].
type TailInput struct {
	SandboxRef
	Queue string `json:"queue"` // task queue of the sandbox activities
}

// Tailed is the answer of [RelaySandbox].
type Tailed struct {
	// Over says why there is nothing more to carry; empty: the turn is over, and no more.
	Over string `json:"over,omitempty"`
}

// TailResult is the result of a [PullRelayWorkflow].
type TailResult struct {
	SandboxID string `json:"sandbox_id"`
	Over      string `json:"over"`
}
