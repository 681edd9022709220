package task

import (
	"fmt"
	"time"
)

// FeedbackAction is what is done about feedback that waits.
type FeedbackAction string

// What is done about feedback that waits.
const (
	FeedbackTell  FeedbackAction = "tell"  // the agent that is at work
	FeedbackStart FeedbackAction = "start" // a task that goes on with the branch
	FeedbackWait  FeedbackAction = "wait"
	FeedbackDrop  FeedbackAction = "drop"
)

// FeedbackCase is what [JudgeFeedback] needs to know.
type FeedbackCase struct {
	On        OnFeedback
	Status    Status        // of the newest task of the pull request
	Listens   bool          // its agent can be told
	Closed    bool          // the pull request is closed or merged
	Rounds    int           // tasks that feedback has started
	MaxRounds int           // that it may start
	Age       time.Duration // of the oldest that waits
}

// JudgeFeedback says what is done about feedback that waits, and why. A task that failed goes on when a person retries
// it: its agent is told then. A completed task cannot be run again, hence a new one.
func JudgeFeedback(c FeedbackCase) (FeedbackAction, string) {
	switch {
	case c.Closed:
		return FeedbackDrop, "the pull request is closed"
	case c.On != OnFeedbackMessage && c.On != OnFeedbackRevise:
		return FeedbackDrop, "the project wants none (omoi project update --on-feedback)"
	case c.Status == StatusCancelled:
		return FeedbackDrop, "the task was cancelled"
	case c.Status == StatusCompleted:
		return judgeOver(c)
	case c.Listens:
		return FeedbackTell, ""
	case c.Age > FeedbackWindow:
		return FeedbackDrop, "no agent could be told in three days"
	case c.Status == StatusFailed:
		return FeedbackWait, "the task has failed; its agent is told after omoi retry"
	}
	return FeedbackWait, "the agent is told as soon as it can be"
}

func judgeOver(c FeedbackCase) (FeedbackAction, string) {
	switch {
	case c.On != OnFeedbackRevise:
		return FeedbackDrop, "no agent is at work, and the project starts none (omoi project update --on-feedback=revise)"
	case c.Rounds >= c.MaxRounds:
		return FeedbackDrop, fmt.Sprintf("feedback has started %d of %d tasks for this pull request (github.max_followup_tasks)", c.Rounds, c.MaxRounds)
	}
	return FeedbackStart, ""
}

// FeedbackPolicy is how feedback is settled.
type FeedbackPolicy struct {
	MaxRounds int           // tasks that it may start for one pull request
	Pause     time.Duration // until what nobody could be told is looked at again
}

// FeedbackStep is what one step of it did.
type FeedbackStep struct {
	Sandboxes []string // whose agents have a message
	Started   []string // tasks
	Dropped   []string // tasks for whose pull request something was dropped
}
