package continuous

import (
	"context"
	"fmt"
	"time"

	"github.com/omoi-dev/omoi/internal/agent"
	"github.com/omoi-dev/omoi/internal/agent/inbox"
	"github.com/omoi-dev/omoi/internal/task"
)

// Agent is a coding agent that works in turns: all that a runtime gives a [Driver].
type Agent interface {
	// Turn has the agent work on a step until nothing more is expected of it, and brings to it what is said meanwhile.
	// The error is that of ctx, or of an agent that cannot be started.
	Turn(ctx context.Context, step Step) (*Turn, error)
	// Reported returns the result of an agent that has reported its outcome by itself; nil: it has not.
	Reported(ctx context.Context) (*agent.Result, error)
	// Failure returns why the last turn came to nothing; nil: it went well.
	Failure() *Failure
	// Once reports whether an attempt has one turn: the agent says and hears nothing, and would do the same again.
	Once() bool
	// Next waits for a message. ok is false if none came in time.
	Next(ctx context.Context, patience time.Duration) (m inbox.Message, ok bool, err error)
	// Close lets the agent's program end while messages are still taken, and judges that end.
	Close(ctx context.Context) (f *Failure, interrupted bool)
	// Standing returns where the agent stands.
	Standing() Standing
	// Save keeps where the agent stands for a restart, and the [State] with it.
	Save()
	// Failing adds what the agent knows to a failure that is about to be reported.
	Failing(f *Failure)
	// Complete reports that the agent's work is done.
	Complete(w Work)
}

// Step is the next input of an agent. The zero value is the task itself.
type Step struct {
	Text string
	Of   inbox.Message // from which it comes, if it does
}

// FromMessage reports whether the step comes from a message.
func (s Step) FromMessage() bool { return s.Of.ID != "" || s.Of.Content != "" }

// Turn is how a turn ended.
type Turn struct {
	Said        string // the text that the agent ended it with, of an agent that is prompted
	Stop        string // the limit at which it was stopped
	Interrupted bool   // by a message
}

// Failure is why a turn, and with it a single run, came to nothing.
type Failure struct {
	Class  task.FailureClass
	Kind   string // error_type
	Reason string // stop_reason
	Code   task.ReasonCode
	Text   string
	Phase  string         // default initial_task
	Reset  time.Time      // when the provider's limit ends, if that is known
	Data   map[string]any // what else the event says
}

// AtLimit is the end at a limit of turns or cost.
func AtLimit(stop string, now Standing) *Failure {
	kind, name := "max_budget", "MAX_BUDGET_USD"
	if stop == StopTurns {
		kind, name = "max_turns", "MAX_TURNS"
	}
	text := fmt.Sprintf("The agent was stopped after %d turns, at a cost of %.4f USD: %s allows no more.", now.Turns, now.Cost, name)
	return &Failure{Class: task.ClassStopped, Kind: kind, Reason: stop, Text: text}
}
