package contract

import "time"

const (
	// PullTurn is the duration of one [RelaySandbox].
	PullTurn = 4 * time.Minute
	// PullTurns bounds the history of one run of a [PullRelayWorkflow].
	PullTurns = 200
)

// PullRelayWorkflowID is the workflow id that relays between a sandbox and the API.
func PullRelayWorkflowID(sandboxID string) string { return "pull-relay-" + sandboxID }

// QueuePullRelays is the task queue of [RelaySandbox] for sandboxes whose other activities are on the given queue: relays are many
// and long, and must not keep a sandbox from being deleted.
func QueuePullRelays(queue string) string {
	if queue == "" {
		return ""
	}
	return queue + "-pull-relays"
}

// PullRelayInput starts a [PullRelayWorkflow].
type PullRelayInput struct {
	SandboxRef
	Queue string `json:"queue"` // task queue of the sandbox activities
}

// PullRelayTurn is the answer of [RelaySandbox].
type PullRelayTurn struct {
	// Over says why there is nothing more to carry; empty: the turn is over, and no more.
	Over string `json:"over,omitempty"`
}

// PullRelayResult is the result of a [PullRelayWorkflow].
type PullRelayResult struct {
	SandboxID string `json:"sandbox_id"`
	Over      string `json:"over"`
}
