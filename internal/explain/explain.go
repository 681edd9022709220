// Package explain renders reasons as sentences: why a task is in its state, which events support that, and which
// command is next.
package explain

import (
	"cmp"
	"fmt"
	"strconv"
	"strings"
	"time"

	"github.com/omoi-dev/omoi/internal/event"
	"github.com/omoi-dev/omoi/internal/task"
)

// States of an explained task.
const (
	StandsWaiting   = "waiting"   // for admission, for other tasks, or for a message to its agent
	StandsSuspended = "suspended" // its work is saved, and it waits for a condition to change
	StandsStarting  = "starting"  // an attempt is being prepared
	StandsRunning   = "running"   // its agent or a validator works
	StandsStuck     = "stuck"     // its agent runs without progress
	StandsUnknown   = "unknown"   // omoi cannot determine whether its agent works
	StandsCompleted = "completed"
	StandsFailed    = "failed"
	StandsCancelled = "cancelled"
)

// Explanation says why a task is in its state, which events support that, and what to do next.
type Explanation struct {
	TaskID    string      `json:"task_id" doc:"UUID of the explained task."`
	Status    task.Status `json:"status" doc:"Status of the task when the answer was made."`
	State     string      `json:"state" enum:"waiting,suspended,starting,running,stuck,unknown,completed,failed,cancelled" doc:"What the task does, in one word."`
	Why       string      `json:"why" doc:"One sentence for users, with the sequences of the events behind it."`
	Next      string      `json:"next" doc:"CLI command that comes next."`
	Evidence  []Evidence  `json:"evidence" nullable:"false" doc:"Events behind why, newest first."`
	Diagnosis *Diagnosis  `json:"diagnosis" doc:"Newest diagnosis of the task. Null: none."`
}

// WhyFacts holds the inputs of an explanation. Unknown values are nil or empty.
type WhyFacts struct {
	Task      task.Task
	At        time.Time // the database's time
	DependsOn []Dependency
	Pulse     *task.Pulse   // of the running attempt's sandbox
	Events    []event.Event // newest events of the newest attempt, in which package supervise finds evidence
	Signs     []Evidence    // evidence of the newest attempt, newest first
	Opinion   *Opinion
	Diagnosis *Diagnosis
	Same      bool // the newest attempts failed in a row with the same error
	Down      Outage
	Silent    time.Duration // age of the newest sign of life from which the state is unknown
	NoWork    time.Duration // age of the newest work from which an idle agent counts as stuck
	Idle      time.Duration // age of the wait for a message at which the attempt ends; 0: unknown
}

// Dependency is a task that another task waits for.
type Dependency struct {
	Key    string
	Status task.Status
}

// Opinion is the guardian's analysis of an attempt.
type Opinion struct {
	SpokenBy   string
	Steer      bool
	Summary    string
	Confidence float64
	Evidence   []int64
}

// Explain returns the explanation of a task. Each has a sentence and a command.
func Explain(f WhyFacts) Explanation {
	e := f.explain()
	t := f.Task
	e.TaskID, e.Status, e.Diagnosis = t.ID, t.Status, f.Diagnosis
	if e.Evidence == nil {
		e.Evidence = []Evidence{}
	}
	if c := t.PendingCommand; c != nil && !f.begunAgain() {
		e.Why = strings.TrimRight(e.Why, ".") + "; the command " + c.Kind + " is pending."
		e.Next = f.whileAsked(c, e.Next)
	}
	if codesOnly {
		e.Why = e.State
	}
	return e
}

// whileAsked returns the next step while a command is pending. It replaces a message to an agent that is about to end.
func (f WhyFacts) whileAsked(c *task.Command, next string) string {
	switch {
	case c.Kind == "cancel" && f.age(c.CreatedAt) > forgotten:
		return "omoi doctor"
	case c.Kind == "cancel", next == send(f.Task.ID):
		return "omoi logs -f " + f.Task.ID
	}
	return next
}

// begunAgain reports whether an ended task has a pending request to continue.
func (f WhyFacts) begunAgain() bool {
	c := f.Task.PendingCommand
	return c != nil && c.Kind == "retry" && f.Task.Status.Final()
}

func (f WhyFacts) explain() Explanation {
	t := f.Task
	if f.begunAgain() {
		return Explanation{State: StandsStarting, Why: task.Sentence(whyAgain(t), shown(t)), Next: "omoi sandbox list"}
	}
	switch t.Status {
	case task.StatusPending:
		return f.pending()
	case task.StatusAssigned, task.StatusRunning, task.StatusValidating:
		return f.live()
	case task.StatusPendingValidation:
		return Explanation{State: StandsWaiting, Why: whyStatus(t), Next: "omoi logs -f " + t.ID}
	case task.StatusNeedsRevision:
		return Explanation{State: StandsStarting, Why: whyRevision(t), Next: "omoi show " + t.ID}
	case task.StatusCompleted:
		return Explanation{State: StandsCompleted, Why: whyCompleted(t), Next: "omoi receipt " + t.ID, Evidence: f.completion()}
	case task.StatusFailed:
		return f.failed()
	case task.StatusCancelled:
		why := task.Sentence(strings.TrimRight(cmp.Or(shown(t), "Cancelled"), "."), "") // the reason names the user
		return Explanation{State: StandsCancelled, Why: why, Next: "omoi retry " + t.ID}
	}
	return Explanation{State: StandsUnknown, Why: whyStatus(t), Next: "omoi show " + t.ID}
}

func (f WhyFacts) pending() Explanation {
	t := f.Task
	switch last := t.Last(); {
	case t.Blocked != task.BlockedNone:
		return f.blocked()
	case f.Down.What != "" && AboutToStart(t):
		why := task.Sentence("Branch and sandbox cannot be created now", f.Down.What)
		return Explanation{State: StandsWaiting, Why: why, Next: f.Down.Next}
	case t.QueueReason.Code != "" && !t.HoldsSlot:
		return Explanation{State: StandsWaiting, Why: whyPending(t), Next: queueNext(t)}
	case t.WaitingFor.Code != "":
		return Explanation{State: StandsWaiting, Why: whyPending(t), Next: troubleNext(t.WaitingFor)}
	case last.Number > 0 && last.EndedAt == nil:
		why := fmt.Sprintf("Attempt %d is starting; its sandbox %s is %s.", last.Number, last.SandboxID, last.SandboxState)
		return Explanation{State: StandsStarting, Why: why, Next: "omoi logs -f " + t.ID}
	case last.Number > 0:
		shows := f.failures()
		return Explanation{State: StandsStarting, Why: withEvents(whyEnded(t), shows) + starting(t), Next: "omoi logs -f " + t.ID, Evidence: shows}
	case f.age(t.CreatedAt) > forgotten:
		why := fmt.Sprintf("The task was accepted %s ago and has not started: Temporal or a worker may not be running.", rough(f.age(t.CreatedAt)))
		return Explanation{State: StandsUnknown, Why: why, Next: "omoi doctor"}
	}
	return Explanation{State: StandsStarting, Why: whyPending(t), Next: "omoi logs -f " + t.ID}
}

// forgotten is the time after which an accepted task that has not started is a sign of trouble.
const forgotten = 2 * time.Minute

func (f WhyFacts) blocked() Explanation {
	t := f.Task
	switch t.Blocked {
	case task.BlockedDependency:
		return f.dependency("The task waits for " + task.Count(max(len(f.DependsOn), len(t.DependsOn.TaskIDs)), "task") + " to complete")
	case task.BlockedDependencyFailed:
		e := f.dependency("A dependency has failed or was cancelled")
		if broken := f.broken(); broken != "" {
			e.Next = "omoi retry " + broken
		}
		return e
	case task.BlockedProviderLimit:
		shows := f.newest()
		return Explanation{State: StandsSuspended, Why: withEvents(whyLimit(t), shows), Next: "omoi retry " + t.ID, Evidence: shows}
	case task.BlockedBudget:
		return f.suspended("The budget of the task or its project is spent; the work is saved", lastReason(t), RaiseBudget(t))
	case task.BlockedPaused:
		return f.paused()
	case task.BlockedSuspended:
		return f.suspended("A user suspended the task; the work is saved", lastReason(t), "omoi retry "+t.ID)
	case task.BlockedUnknownTooLong:
		return f.suspended("The sandbox was unreachable for too long; the work is saved as far as possible", lastReason(t), "omoi retry "+t.ID)
	case task.BlockedQuestion:
		return f.suspended(asked(t.Question)+"The task is suspended until a user answers; the work is saved", "", Answer(t.ID))
	case task.BlockedReview:
		return f.suspended(needsReview, lastReason(t), "omoi review "+t.ID+" --approve")
	case task.BlockedNone:
	}
	return f.suspended("The task is blocked", string(t.Blocked), "omoi show "+t.ID)
}

// paused explains a project that a user paused, or organizations that a setting paused.
func (f WhyFacts) paused() Explanation {
	next := "omoi project resume " + f.Task.ProjectID
	if allPaused(f.Task) {
		next = "omoi config show"
	}
	shows := f.newest()
	return Explanation{State: StandsSuspended, Why: withEvents(whyPaused(f.Task), shows), Next: next, Evidence: shows}
}

// suspended explains a suspended task. The reason of the admission controller overrides why and reason.
func (f WhyFacts) suspended(why, reason, next string) Explanation {
	if f.Task.QueueReason.Code != "" {
		why, reason = "The task is "+Reason(f.Task.QueueReason), ""
	}
	shows := f.newest()
	return Explanation{State: StandsSuspended, Why: withEvents(task.Sentence(why, reason), shows), Next: next, Evidence: shows}
}

// dependency explains a wait for other tasks. Of lists, which do not read them, the reason of the admission controller has their keys.
func (f WhyFacts) dependency(why string) Explanation {
	if len(f.DependsOn) == 0 && len(f.Task.QueueReason.Keys) > 0 {
		why = "The task is " + Reason(f.Task.QueueReason)
	}
	var names []string
	for _, d := range f.DependsOn {
		names = append(names, d.Key+" is "+string(d.Status))
	}
	next := "omoi show " + f.Task.ID
	if len(f.DependsOn) > 0 {
		next = "omoi why " + f.DependsOn[0].Key
	}
	return Explanation{State: StandsWaiting, Why: task.Sentence(why, strings.Join(names, ", ")), Next: next}
}

// broken returns the first dependency that will not complete by itself.
func (f WhyFacts) broken() string {
	for _, d := range f.DependsOn {
		if d.Status == task.StatusFailed || d.Status == task.StatusCancelled {
			return d.Key
		}
	}
	return ""
}

func (f WhyFacts) failed() Explanation {
	t := f.Task
	class := ""
	if t.FailureClass != task.ClassNone {
		class = " (" + string(t.FailureClass) + ")"
	}
	why := task.Sentence("Failed after "+task.Count(t.AttemptCount, "attempt")+class, shown(t))
	shows, next := f.failures(), FailureNext(t, t.FailureClass, endReason(t), f.Same)
	e := Explanation{State: StandsFailed, Why: withEvents(why, shows), Next: next, Evidence: shows}
	if t.FailureClass == task.ClassPublish || t.FailureClass == task.ClassCredentials && t.Last().FailureClass == task.ClassPublish {
		e.Why += " " + whyPublish(t)
	}
	return e
}

func (f WhyFacts) age(t time.Time) time.Duration { return f.At.Sub(t) }

// newest returns the newest evidence, if any. The exit of a program and a checkpoint count only if there is no other event.
func (f WhyFacts) newest() []Evidence {
	acts := f.sign(func(s Evidence) bool { return s.Type != event.AgentShutdown && !event.Is(s.Type, event.Background) })
	if acts == nil {
		return f.Signs[:min(1, len(f.Signs))]
	}
	return acts
}

// completion returns the event with which the agent ended its work, or else the newest evidence.
func (f WhyFacts) completion() []Evidence {
	for _, s := range f.Signs {
		if event.Is(s.Type, event.Completion) && !s.Failure {
			return []Evidence{s}
		}
	}
	return f.newest()
}

// mostShown is the maximum number of events that an explanation names.
const mostShown = 3

// failures returns the newest events that report a failure, or else the newest evidence.
func (f WhyFacts) failures() []Evidence {
	var out []Evidence
	for _, s := range f.Signs {
		if s.Failure && len(out) < mostShown {
			out = append(out, s)
		}
	}
	if out == nil {
		return f.newest()
	}
	return out
}

// withEvents adds event numbers to a sentence.
func withEvents(why string, shows []Evidence) string {
	if len(shows) == 0 {
		return why
	}
	numbers := make([]string, 0, len(shows))
	for _, s := range shows {
		numbers = append(numbers, strconv.FormatInt(s.Sequence, 10))
	}
	word := "event "
	if len(numbers) > 1 {
		word = "events "
	}
	return fmt.Sprintf("%s (%s%s of attempt %d).", strings.TrimRight(why, "."), word, strings.Join(numbers, ", "), shows[0].Attempt)
}

// rough returns a duration in a short form for users.
func rough(d time.Duration) string {
	if d < time.Minute {
		return d.Round(time.Second).String()
	}
	return strings.TrimSuffix(d.Round(time.Minute).String(), "0s")
}
