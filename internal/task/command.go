package task

import (
	"encoding/json"
)

// Kinds of [CommandRequest]. The resulting facts and the commands of package contract have the same names.
const (
	CommandCancel   = "cancel"
	CommandFail     = "fail"
	CommandComplete = "complete"
	CommandVerdict  = "verdict"
	CommandRetry    = "retry"
	CommandReplace  = "replace" // for the sandbox of the attempt to replace
	CommandSuspend  = "suspend"
)

// CommandRequest requests a change of a task. If it is accepted, it becomes a command.
type CommandRequest struct {
	OrganizationID string
	TaskID         string
	Kind           string
	Checkpoint     string // of a retry: the next attempt begins with it, and a running attempt ends for it; empty: the newest
	AfterAttempt   int    // of a checkpoint that a user gives: the newest attempt, which has ended; 0: no condition
	OK             bool   // success of a completion, passed of a verdict
	Reason         string
	// SandboxID is the sandbox that sent the request; empty for a user. A completion counts only from the task's
	// current sandbox.
	SandboxID string
	Own       bool // the sandbox authenticated with its token, so that even a verdict must be about its own task
	Attempt   bool // a verdict from the sandbox of an attempt of the task: it counts only while that attempt runs
	Sender    string
	Args      json.RawMessage // JSON object with the whole request; it includes reason and ok
	// Wire marks a request of the legacy API: a late request is then a normal answer, not an error.
	Wire bool
}

// CommandResult is the result of a [CommandRequest].
type CommandResult struct {
	Command   Command
	Status    Status   // status of the task if nothing else happens
	Unblocked []string // pending tasks that wait only for this completion
}

// Judge returns the effects of a request in state s, or a [CodeConflict] error with the reason. A late request of the
// legacy API returns [ReceiptTooLate]. A rejected request is a conflict there too.
func Judge(s State, a CommandRequest) (Effects, error) {
	switch {
	case a.Checkpoint != "":
		return judgeRewind(s)
	case a.Kind == CommandRetry:
		return judgeRetry(s)
	}
	fact := Fact{Kind: FactKind(a.Kind), OK: a.OK}
	if a.Kind == CommandComplete || a.Kind == CommandReplace || a.Attempt { // other verdicts come from another sandbox than the judged one
		fact.SandboxID = a.SandboxID
	}
	_, effects := Decide(s, fact)
	if a.Kind == CommandVerdict && a.SandboxID != "" && !a.OK && s.Status == StatusNeedsRevision { // there is no new work to judge
		effects = ignore(s, ReceiptTooLate)
	}
	if effects.Receipt == ReceiptCarriedOut || a.Wire && effects.Receipt != ReceiptRefused {
		return effects, nil
	}
	return effects, refusal(s, a.Kind)
}

func judgeRetry(s State) (Effects, error) {
	switch s.Status {
	case StatusFailed, StatusCancelled:
		return Effects{Action: ActionBegin, Status: s.Status, Leads: StatusPending, Receipt: ReceiptAccepted}, nil
	case StatusCompleted:
		return Effects{}, Errorf(CodeConflict, "The task is completed; there is nothing to retry.").WithKind(KindInvalidState)
	case StatusPending, StatusAssigned, StatusRunning, StatusPendingValidation, StatusValidating, StatusNeedsRevision:
	}
	_, effects := Decide(s, Fact{Kind: FactRetry})
	if effects.Receipt == ReceiptCarriedOut {
		return effects, nil
	}
	if s.Status == StatusPending {
		return effects, Errorf(CodeConflict, "The task is pending, and a retry changes nothing about what it waits for, which `omoi why` says; cancel it first to begin again.").WithKind(KindInvalidState)
	}
	return effects, Errorf(CodeConflict, "The task is %s and continues by itself. Next: omoi cancel, then omoi retry", s.Status).WithKind(KindInvalidState)
}

func judgeRewind(s State) (Effects, error) {
	if s.Attempts >= MaxAttempts {
		return Effects{}, Errorf(CodeConflict, "The task reached the limit of %d attempts. Next: omoi run creates another task", MaxAttempts).WithKind(KindInvalidState)
	}
	if s.Status.Final() {
		return Effects{Action: ActionBegin, Status: s.Status, Leads: StatusPending, Receipt: ReceiptAccepted}, nil
	}
	_, effects := Decide(s, Fact{Kind: FactRewind})
	switch effects.Receipt {
	case ReceiptCarriedOut:
		return effects, nil
	case ReceiptTooLate:
		return effects, Errorf(CodeConflict, "The work of the task is being published. Next: rewind once the task is completed").WithKind(KindInvalidState)
	case ReceiptAccepted, ReceiptRefused:
	}
	return effects, Errorf(CodeConflict, "The task is %s without a running attempt. Next: rewind once an attempt runs", s.Status).WithKind(KindInvalidState)
}

func refusal(s State, kind string) error {
	if s.Status.Final() {
		if kind == CommandVerdict {
			kind = "judge"
		}
		return Errorf(CodeConflict, "The task is %s already; there is nothing to %s.", s.Status, kind).WithKind(KindInvalidState)
	}
	return Errorf(CodeConflict, "The task is %s; a %s is not possible now.", s.Status, kind).WithKind(KindInvalidState)
}
