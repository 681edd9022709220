package task

import "time"

// FailureClass decides what follows a failed attempt, and is the type of the
// application error with which a failed task's workflow closes.
type FailureClass string

// The failure classes. The class decides what happens next.
const (
	ClassNone           FailureClass = ""
	ClassInfrastructure FailureClass = "infrastructure" // sandbox or provider failed; next attempt after a backoff
	ClassProviderLimit  FailureClass = "provider_limit" // rate or usage limit; wait until it resets
	ClassAgentError     FailureClass = "agent_error"    // the agent failed; next attempt with feedback
	ClassResources      FailureClass = "resources"      // out of memory or disk; next attempt
	ClassStopped        FailureClass = "stopped"        // ended at a limit that a user set; final
	ClassInvalidInput   FailureClass = "invalid_input"  // the task cannot succeed as it was created; final
	ClassCredentials    FailureClass = "credentials"    // missing or refused credentials; final
	ClassPublish        FailureClass = "publish"        // the work is done, branch or pull request refused; final, a retry starts at publish
	ClassBudget         FailureClass = "budget"         // budget spent
	ClassTerminated     FailureClass = "terminated"     // an operator terminated the workflow
	ClassReported       FailureClass = "reported"       // a user or the agent declared the task failed; final
)

// Retryable reports whether another attempt can succeed after a failure of this class.
func (c FailureClass) Retryable() bool {
	switch c {
	case ClassInfrastructure, ClassProviderLimit, ClassAgentError, ClassResources:
		return true
	case ClassNone, ClassStopped, ClassInvalidInput, ClassCredentials, ClassPublish, ClassBudget, ClassTerminated, ClassReported:
		return false
	}
	return false
}

// RetryDelay returns the pause before retry n, from 1, after a failure of class c. For infrastructure it is base,
// doubled each time, at most 32 times base. For other classes it is zero: their next attempt differs, by feedback or
// size.
func RetryDelay(c FailureClass, n int, base time.Duration) time.Duration {
	if c != ClassInfrastructure {
		return 0
	}
	return base << min(max(n-1, 0), 5)
}
