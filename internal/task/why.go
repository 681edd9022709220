package task

import (
	"fmt"
	"strings"
)

// Why says in one sentence what a task is doing or waiting for, and what a person can do
// about it. It looks at nothing but the row.
func Why(t Task) string {
	if asked := t.PendingCommand; asked != nil && asked.Kind == "retry" && t.Status.Final() {
		return sentence(whyAgain(t), shown(t))
	}
	s := whyStatus(t)
	if t.PendingCommand != nil {
		s += fmt.Sprintf(" A %s is asked for and under way.", t.PendingCommand.Kind)
	}
	return s
}

// whyAgain says when a task that is over goes on.
func whyAgain(t Task) string {
	return fmt.Sprintf("The next attempt begins as soon as the sandboxes of the earlier ones are gone, or task.cleanup_wait after those attempts have ended; before, the task was %s", t.Status)
}

// Outage is what is missing so that no task can start, and the command to type; empty: nothing is.
type Outage struct{ What, Next string }

// WhyDuring is [Why] while something is missing.
func WhyDuring(t Task, down Outage) string {
	if down.What == "" || !t.AboutToStart() {
		return Why(t)
	}
	return whyDown(down)
}

func whyDown(down Outage) string { return sentence("Branch and sandbox cannot be made now", down.What) }

// AboutToStart reports whether a task waits for nothing but those who make its branch and its first sandbox.
func (t Task) AboutToStart() bool {
	return t.Status == StatusPending && t.Blocked == BlockedNone && t.WaitingFor == "" && len(t.Attempts) == 0 && t.PendingCommand == nil &&
		(t.QueueReason == "" || t.HoldsSlot)
}

func whyStatus(t Task) string {
	switch t.Status {
	case StatusPending:
		return whyPending(t)
	case StatusAssigned:
		return fmt.Sprintf("Attempt %d is being started in sandbox %s (%s).", t.AttemptCount, textOf(t.SandboxID), t.Provider) + doubt(t)
	case StatusRunning:
		return fmt.Sprintf("Attempt %d is at work in sandbox %s (%s).", t.AttemptCount, textOf(t.SandboxID), t.Provider) + doubt(t)
	case StatusPendingValidation:
		return "The work is done and on its branch; a validator is about to look at it (" + round(t) + ")."
	case StatusValidating:
		return fmt.Sprintf("Attempt %d validates the work in sandbox %s (%s), %s.", t.AttemptCount, textOf(t.SandboxID), t.Provider, round(t)) + doubt(t)
	case StatusNeedsRevision:
		return whyRevision(t)
	case StatusCompleted:
		return whyCompleted(t)
	case StatusFailed:
		return whyFailed(t)
	case StatusCancelled:
		return sentence("Cancelled", strings.TrimPrefix(textOf(t.ErrorMessage), "Task cancelled: ")) + " Begin again with `omoi retry " + t.ID + "`."
	}
	return "The task is " + string(t.Status) + "."
}

// doubt is what the last look at the sandbox could not make out.
func doubt(t Task) string {
	if t.WaitingFor == "" {
		return ""
	}
	return " " + sentence("It may be in trouble", t.WaitingFor) + " That alone does not end the attempt."
}

func whyPending(t Task) string {
	switch {
	case t.Blocked != BlockedNone:
		return whyBlocked(t)
	case t.QueuePosition != nil && t.QueueReason != "":
		return fmt.Sprintf("It is at position %d of its project's queue, %s.", *t.QueuePosition, t.QueueReason)
	case OutOfBudget(t):
		return "It is " + t.QueueReason + "." + raiseIt(t)
	case t.QueueReason != "" && !t.HoldsSlot:
		return "It is " + t.QueueReason + "."
	case t.WaitingFor != "":
		return sentence("It has its turn and waits", t.WaitingFor)
	case len(t.Attempts) > 0 && t.Attempts[len(t.Attempts)-1].EndedAt == nil:
		return fmt.Sprintf("Attempt %d is being prepared.", t.AttemptCount)
	case t.AttemptCount > 0:
		return sentence(fmt.Sprintf("Attempt %d has ended; the next one is being prepared", t.AttemptCount), lastReason(t))
	case t.HoldsSlot:
		return "It has its turn; branch and sandbox are being made."
	}
	return "It is accepted and about to be let in."
}

// needsReview introduces why a validator gave no verdict.
const needsReview = "The work is on its branch and waits for a user's review: the validator gave no verdict"

func whyBlocked(t Task) string {
	switch t.Blocked {
	case BlockedDependency:
		return fmt.Sprintf("It waits for %s to be completed.", counted(len(t.DependsOn.TaskIDs), "task"))
	case BlockedDependencyFailed:
		return "A task that it depends on has failed or was cancelled; retry that one, or remove the dependency."
	case BlockedProviderLimit:
		if t.queuesForLimit() {
			return whyLimit(t)
		}
		return whyLimit(t) + " `omoi retry " + t.ID + "` tries at once."
	case BlockedBudget:
		s := sentence("It is parked with its work saved", lastReason(t))
		if t.QueueReason != "" {
			s = "It is " + t.QueueReason + "."
		}
		return s + raiseIt(t)
	case BlockedPaused:
		return whyPaused(t)
	case BlockedUnknownTooLong:
		return sentence("Its sandbox could not be reached for too long, and the work is saved as far as it could be", lastReason(t)) +
			" Go on with `omoi retry " + t.ID + "`."
	case BlockedReview:
		return sentence(needsReview, lastReason(t)) + " Accept the work with `omoi verdict " + t.ID + " --passed`, send it back with `omoi verdict " +
			t.ID + " --failed \"...\"`, or start another validator with `omoi retry " + t.ID + "`."
	case BlockedNone:
	}
	return sentence("It is blocked", string(t.Blocked))
}

// queuesForLimit reports whether the gate holds a task for a limit that another one may have met.
func (t Task) queuesForLimit() bool { return t.QueuedAt != nil && t.QueueReason != "" }

// whyLimit says until when, where that is known.
func whyLimit(t Task) string {
	switch {
	case t.queuesForLimit():
		return "It is " + t.QueueReason + "."
	case t.QueueReason != "":
		return sentence("A limit of a provider is reached, and it is "+t.QueueReason, shown(t))
	}
	return sentence("A limit of a provider is reached; it goes on when the limit resets", shown(t))
}

func raiseIt(t Task) string {
	return " Raise the budget with `" + RaiseBudget(t) + "`, and it goes on."
}

func whyPaused(t Task) string {
	if t.allPaused() {
		return "It is " + t.QueueReason + ": no task begins while omoi runs with ORCHESTRATOR_ENABLED=false. Start omoi without that."
	}
	return "Its project is paused; it goes on when the project is resumed."
}

// allPaused reports whether the setting orchestrator.enabled holds a task, and no person.
func (t Task) allPaused() bool { return strings.Contains(t.QueueReason, "organization is paused") }

func whyCompleted(t Task) string {
	switch {
	case t.PullURL != nil:
		return fmt.Sprintf("Completed after %s; the pull request is %s.", counted(t.AttemptCount, "attempt"), *t.PullURL)
	case t.Branch != nil:
		return fmt.Sprintf("Completed after %s; the branch is %s.", counted(t.AttemptCount, "attempt"), *t.Branch)
	}
	return fmt.Sprintf("Completed after %s.", counted(t.AttemptCount, "attempt"))
}

// shown is the reason of the end; what follows its first paragraph is for those who look into omoi.
func shown(t Task) string {
	reason, _, _ := strings.Cut(textOf(t.ErrorMessage), "\n\n")
	if reason == "" {
		reason = lastReason(t)
	}
	return reason
}

func whyFailed(t Task) string {
	reason := shown(t)
	s := sentence(fmt.Sprintf("Failed after %s", counted(t.AttemptCount, "attempt")), reason) + firstReason(t)
	if next := setupNext(t, reason); SetupFailed(t.FailureClass, reason) && next != "omoi show "+t.ID {
		return s + " Mend the setup step with `" + next + "`, then `omoi retry " + t.ID + "`."
	}
	switch t.FailureClass {
	case ClassPublish:
		return s + " " + whyPublish(t)
	case ClassCredentials:
		if lastAttempt(t).FailureClass == ClassPublish {
			return s + " Mend the credentials. " + whyPublish(t)
		}
		return s + " Mend the credentials, then `omoi retry " + t.ID + "`."
	case ClassInvalidInput: // the same again would end the same way
		return s + " Mend that, then `omoi retry " + t.ID + "`."
	case ClassNone, ClassInfrastructure, ClassProviderLimit, ClassAgentError, ClassResources, ClassStopped, ClassBudget, ClassTerminated, ClassReported:
	}
	return s + " Begin again with `omoi retry " + t.ID + "`."
}

// whyPublish says what a retry will do: the work is there or saved, or an attempt does it again. Work that nobody
// has found good is not published.
func whyPublish(t Task) string {
	last, outside := lastAttempt(t), t.outside()
	there, saved := last.HeadCommit != nil, last.Unpublished().Head != ""
	place := "The work is saved beside its branch; "
	if last.Unpublished().Text != "" {
		place = "The work is kept by omoi as a git bundle (`omoi work " + t.ID + "`); "
	}
	retry := "`omoi retry " + t.ID + "` "
	switch {
	case t.Rounds > 0 && last.Kind == KindValidation, t.Rounds == 0 && (there || outside):
		return "The work is on its branch; " + retry + "publishes it without a new attempt."
	case t.Rounds > 0 && there:
		return "The work is on its branch; " + retry + "hands it to a validator, and nobody does it again."
	case t.Rounds > 0 && saved:
		return place + retry + "tries to put it there and hands it to a validator, " +
			"and begins a new attempt where the branch has moved."
	case saved:
		return place + retry + "tries to put it there without a new attempt, " +
			"and begins one where the branch has moved."
	}
	return "The work did not get to its branch; what could be saved of it stands with the attempt. " + retry + "begins a new attempt."
}

// outside reports whether the agent connects itself, so that omoi starts none and sees nothing of it but its reports.
func (t Task) outside() bool { return t.Provider == ProviderExternal || t.Agent == AgentExternal }

func lastAttempt(t Task) Attempt {
	if n := len(t.Attempts); n > 0 {
		return t.Attempts[n-1]
	}
	return Attempt{}
}

// sentence joins a beginning and an optional reason, with one full stop at the end.
func sentence(beginning, reason string) string {
	reason = strings.TrimRight(strings.TrimSpace(reason), ".")
	if reason == "" {
		return beginning + "."
	}
	return beginning + ": " + reason + "."
}

func counted(n int, noun string) string {
	if n == 1 {
		return "1 " + noun
	}
	return fmt.Sprintf("%d %ss", n, noun)
}

func textOf(s *string) string {
	if s == nil {
		return ""
	}
	return *s
}

func lastReason(t Task) string { return lastAttempt(t).Reason }
