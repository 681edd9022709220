package continuous

import (
	"context"
	"fmt"
	"time"

	"github.com/omoi-dev/omoi/internal/agent"
	"github.com/omoi-dev/omoi/internal/agent/inbox"
	"github.com/omoi-dev/omoi/internal/task"
)

// Agent is a coding agent that works in turns. A runtime implements it for a [Driver].
type Agent interface {
	// Turn makes the agent work on a step until it stops, and delivers messages meanwhile. The error is that of ctx, or
	// of an agent that cannot start.
	Turn(ctx context.Context, step Step) (*Turn, error)
	// Reported returns the result of an agent that has reported its outcome itself; nil: it has not.
	Reported(ctx context.Context) (*agent.Result, error)
	// Failure returns the failure of the last turn; nil: it succeeded.
	Failure() *Failure
	// Once reports whether an attempt has one turn only, because the agent neither reports nor reads anything, and
	// would do the same again.
	Once() bool
	// Next waits for a message. ok is false if none came in time.
	Next(ctx context.Context, patience time.Duration) (m inbox.Message, ok bool, err error)
	// Close ends the agent's program while messages are still received, and returns the failure of that end.
	Close(ctx context.Context) (f *Failure, interrupted bool)
	// Standing returns the current state of the agent's work.
	Standing() Standing
	// Save writes this state and the [State] to disk, for a restart.
	Save()
	// Failing adds the agent's own data to a failure before it is reported.
	Failing(f *Failure)
	// Complete reports that the agent's work is complete.
	Complete(w Work)
}

// Step is the next input of an agent. The zero value means the task itself.
type Step struct {
	Text string
	Of   inbox.Message // message that the step comes from, if any
}

// FromMessage reports whether the step comes from a message.
func (s Step) FromMessage() bool { return s.Of.ID != "" || s.Of.Content != "" }

// Turn is the end of a turn.
type Turn struct {
	Said        string // final text of a prompted agent
	Stop        string // limit at which the agent was stopped; empty: none
	Interrupted bool   // by a message
}

// Failure is the failure of a turn, and so of a single run.
type Failure struct {
	Class  task.FailureClass
	Kind   string // error_type
	Reason string // stop_reason
	Code   task.ReasonCode
	Text   string
	Phase  string         // default initial_task
	Reset  time.Time      // end of the provider's limit, if known
	Data   map[string]any // further data of the event
}

// AtLimit returns the failure at a limit of turns or cost.
func AtLimit(stop string, now Standing) *Failure {
	kind, name := "max_budget", "MAX_BUDGET_USD"
	if stop == StopTurns {
		kind, name = "max_turns", "MAX_TURNS"
	}
	text := fmt.Sprintf("The agent was stopped after %d turns, at a cost of %.4f USD: %s allows no more.", now.Turns, now.Cost, name)
	return &Failure{Class: task.ClassStopped, Kind: kind, Reason: stop, Text: text}
}
