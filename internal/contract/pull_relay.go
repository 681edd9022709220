package contract

import "time"

const (
	// PullTurn is the duration of one [RelaySandbox].
	PullTurn = 4 * time.Minute
	// PullTurns bounds the history of one run of a [PullRelayWorkflow].
	PullTurns = 200
)

// PullRelayWorkflowID returns the workflow ID of the pull relay of a sandbox.
func PullRelayWorkflowID(sandboxID string) string { return "pull-relay-" + sandboxID }

// QueuePullRelays returns the task queue of [RelaySandbox] for sandboxes whose other activities run on queue. Pull relays have
// their own queue because many long activities must not delay the deletion of a sandbox.
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
	// Over is why the relay ends; empty: only this turn ends.
	Over string `json:"over,omitempty"`
}

// PullRelayResult is the result of a [PullRelayWorkflow].
type PullRelayResult struct {
	SandboxID string `json:"sandbox_id"`
	Over      string `json:"over"`
}
