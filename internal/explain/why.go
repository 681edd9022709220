package explain

import (
	"cmp"
	"encoding/json"
	"fmt"
	"strings"

	"github.com/omoi-dev/omoi/internal/task"
)

// Why returns in one sentence what a task does or waits for, from its row and the outage. [Explain] uses more inputs
// and names the next command.
func Why(t task.Task, down Outage) string {
	return Explain(WhyFacts{Task: t, At: t.CreatedAt, Down: down}).Why
}

// whyAgain returns when an ended task continues.
func whyAgain(t task.Task) string {
	return fmt.Sprintf("The next attempt starts when the sandboxes of earlier attempts are deleted, or task.cleanup_timeout after their end; the task was %s before", t.Status)
}

// Outage is a missing component without which no task can start, and the command that helps. The zero value means none.
type Outage struct{ What, Next string }

// AboutToStart reports whether a task waits only for the creation of its branch and first sandbox.
func AboutToStart(t task.Task) bool {
	return t.Status == task.StatusPending && t.Blocked == task.BlockedNone && t.WaitingFor.Code == "" && len(t.Attempts) == 0 && t.PendingCommand == nil &&
		(t.QueueReason.Code == "" || t.HoldsSlot)
}

// whyStatus returns what the running attempt does.
func whyStatus(t task.Task) string {
	switch t.Status { //nolint:exhaustive // the others are no attempt's
	case task.StatusAssigned:
		return fmt.Sprintf("Attempt %d is starting (%s)%s.", t.AttemptCount, t.Provider, withCredential(t))
	case task.StatusRunning:
		return fmt.Sprintf("Attempt %d is running (%s)%s.", t.AttemptCount, t.Provider, withCredential(t))
	case task.StatusPendingValidation:
		return "Work pushed to the branch; validation " + round(t) + " is starting."
	case task.StatusValidating:
		return fmt.Sprintf("Attempt %d validates the work (%s), %s%s.", t.AttemptCount, t.Provider, round(t), withCredential(t))
	}
	return "The task is " + string(t.Status) + "."
}

// withCredential returns which credential the running attempt uses in place of a rate limited one; empty if it uses the first.
func withCredential(t task.Task) string {
	if used := t.Last().Takeover; used != nil {
		return " with " + Takeover(*used)
	}
	return ""
}

// Takeover returns which credential is used, and why not the first.
func Takeover(t task.Takeover) string {
	return fmt.Sprintf("%s credential %d of the %s, since credential %d was rate limited until %s", t.Kind, t.Number, t.Scope, t.Limited, moment(t.Until))
}

func whyPending(t task.Task) string {
	switch {
	case t.QueuePosition != nil && t.QueueReason.Code != "":
		return fmt.Sprintf("Queued at position %d: %s.", *t.QueuePosition, Reason(t.QueueReason))
	case t.QueueReason.Code != "" && !t.HoldsSlot:
		return "The task is " + Reason(t.QueueReason) + "."
	case t.WaitingFor.Code != "":
		return task.Sentence("The task is admitted and waits", Reason(t.WaitingFor))
	case len(t.Attempts) > 0:
		return whyEnded(t) + starting(t)
	case t.AttemptCount > 0: // lists know no attempts: the newest may have ended, or have no sandbox yet
		return "The next attempt is starting."
	case t.HoldsSlot && t.Loaded:
		return "Admitted; creating branch and sandbox."
	case t.HoldsSlot:
		return "Admitted; waiting for Temporal to start the workflow."
	}
	return "Task accepted; waiting for admission."
}

// whyEnded returns why the last attempt ended.
func whyEnded(t task.Task) string {
	return task.Sentence(fmt.Sprintf("Attempt %d ended", t.AttemptCount), lastReason(t))
}

// starting returns that the next attempt starts.
func starting(t task.Task) string { return fmt.Sprintf(" Starting attempt %d.", t.AttemptCount+1) }

// needsReview is the beginning of the reason of a validator without a verdict.
const needsReview = "The work is on its branch and waits for a user's review: the validator gave no verdict"

// whyLimit returns that a rate limit was reached, and until when if known.
func whyLimit(t task.Task) string {
	switch {
	case t.QueuedAt != nil && t.QueueReason.Code != "": // another task may have reached the limit
		return "The task is " + Reason(t.QueueReason) + "."
	case t.QueueReason.Code != "":
		return task.Sentence("A provider's rate limit is reached; the task is "+Reason(t.QueueReason), shown(t))
	}
	return task.Sentence("A provider's rate limit is reached; the task resumes when the limit resets", shown(t))
}

func whyPaused(t task.Task) string {
	if allPaused(t) {
		return "The task is " + Reason(t.QueueReason) + ": no task starts while omoi runs with ORCHESTRATOR_ENABLED=false. Start omoi without it."
	}
	return "The project is paused; the task resumes with the project."
}

// allPaused reports whether the setting orchestrator.enabled, and no user, holds the task.
func allPaused(t task.Task) bool { return t.QueueReason.Code == task.ReasonOrganizationPaused }

func whyCompleted(t task.Task) string {
	switch {
	case t.PullURL != nil:
		return fmt.Sprintf("Completed%s; the pull request is %s.", after(t), PullRequest(t))
	case t.Branch != nil:
		return fmt.Sprintf("Completed%s; the branch is %s.", after(t), *t.Branch)
	}
	return fmt.Sprintf("Completed%s.", after(t))
}

// after says after how many attempts a task completed, and counts validations apart. It is empty if they are not known:
// a validated task of a list has no attempts.
func after(t task.Task) string {
	if t.Rounds > 0 && len(t.Attempts) == 0 {
		return ""
	}
	validations := 0
	for _, a := range t.Attempts {
		if a.Kind == task.KindValidation {
			validations++
		}
	}
	text := " after " + task.Count(t.AttemptCount-validations, "attempt")
	if validations > 0 {
		text += " and " + task.Count(validations, "validation")
	}
	return text
}

// PullRequest names the pull request of a task: by its address or, where no page shows it, by the command that does. It
// is empty without a pull request.
func PullRequest(t task.Task) string {
	url := task.Deref(t.PullURL)
	if strings.HasPrefix(url, "file:") {
		return fmt.Sprintf("#%d, recorded in the local repository (see it with: omoi diff %s)", task.Deref(t.PullNumber), cmp.Or(t.Key, t.ID))
	}
	return url
}

// shown returns the first paragraph of the reason of the end. The rest is for developers of omoi.
func shown(t task.Task) string {
	reason, _, _ := strings.Cut(task.Deref(t.ErrorMessage), "\n\n")
	if reason == "" {
		reason = lastReason(t)
	}
	return reason
}

// whyPublish returns what a retry does: publish work that is on its branch or saved, or start a new attempt. omoi does
// not publish work that failed its validation.
func whyPublish(t task.Task) string {
	last, outside := t.Last(), t.SelfConnecting()
	there, saved := last.HeadCommit != nil, last.Unpublished().Head != ""
	place := "The work is saved outside its branch; "
	if last.Unpublished().Text != "" {
		place = "The work is kept by omoi as a git bundle (`omoi work " + t.ID + "`); "
	}
	retry := "`omoi retry " + t.ID + "` "
	switch {
	case t.Rounds > 0 && last.Kind == task.KindValidation, t.Rounds == 0 && (there || outside):
		return "The work is on its branch; " + retry + "publishes it without a new attempt."
	case t.Rounds > 0 && there:
		return "The work is on its branch; " + retry + "validates it without a new attempt at the work."
	case t.Rounds > 0 && saved:
		return place + retry + "pushes it and validates it, and starts a new attempt if the branch has moved."
	case saved:
		return place + retry + "pushes it without a new attempt, and starts one if the branch has moved."
	}
	return "The work did not reach its branch; `omoi work " + t.ID + "` lists what is saved. " + retry + "starts a new attempt."
}

func lastReason(t task.Task) string { return t.Last().Reason }

// endReason returns the condition behind [shown].
func endReason(t task.Task) task.Reason {
	if t.EndReason.Code != "" || task.Deref(t.ErrorMessage) != "" {
		return t.EndReason
	}
	return t.Last().EndReason
}

// round returns the current validation round. Lists know earlier verdicts from the result only.
func round(t task.Task) string {
	var result struct {
		Iteration int `json:"validation_iteration"`
	}
	_ = json.Unmarshal(t.Result, &result) // no result yet
	return task.RoundWords(max(result.Iteration, len(t.Reviews))+1, t.Rounds)
}

func whyRevision(t task.Task) string {
	if len(t.Reviews) == 0 {
		return fmt.Sprintf("A validator asked for a revision (%d so far); the next attempt is starting.", t.Revisions)
	}
	return strings.TrimRight(t.Reviews[len(t.Reviews)-1].Words(t.Rounds), ".") + ". The next attempt is starting."
}
