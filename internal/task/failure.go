package task

import "time"

// FailureClass decides what follows a failed attempt, and is the type of the
// application error with which a failed task's workflow closes.
type FailureClass string

// The failure classes, from DESIGN: what failed decides what comes next.
const (
	ClassNone           FailureClass = ""
	ClassInfrastructure FailureClass = "infrastructure" // sandbox or provider died; next attempt after a backoff
	ClassProviderLimit  FailureClass = "provider_limit" // a rate or usage limit; sleep until it resets
	ClassAgentError     FailureClass = "agent_error"    // the agent gave up; next attempt with feedback
	ClassResources      FailureClass = "resources"      // out of memory or disk; next attempt
	ClassStopped        FailureClass = "stopped"        // ended at a limit that a person set; final
	ClassInvalidInput   FailureClass = "invalid_input"  // the task cannot work as it was given; final
	ClassCredentials    FailureClass = "credentials"    // missing or refused credentials; final
	ClassPublish        FailureClass = "publish"        // work is done, branch or pull request refused; final, retry starts at publish
	ClassBudget         FailureClass = "budget"         // a budget is spent
	ClassTerminated     FailureClass = "terminated"     // an operator terminated the workflow
	ClassReported       FailureClass = "reported"       // a person or the agent declared the task failed; final
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

// RetryDelay is the pause before retry n (from 1) after a failure of class c:
// base, doubled each time, at most 32 times base, for infrastructure; none for the rest, whose
// next attempt differs from the last (feedback, size).
func RetryDelay(c FailureClass, n int, base time.Duration) time.Duration {
	if c != ClassInfrastructure {
		return 0
	}
	return base << min(max(n-1, 0), 5)
}
