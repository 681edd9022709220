package task

import (
	"encoding/json"
)

// Kinds of [CommandRequest]. The facts that they lead to and the commands of package contract have the same names.
const (
	CommandCancel   = "cancel"
	CommandFail     = "fail"
	CommandComplete = "complete"
	CommandVerdict  = "verdict"
	CommandRetry    = "retry"
	CommandReplace  = "replace" // with the sandbox of the attempt that is to be replaced
)

// CommandRequest asks to change a task. It becomes a command.
type CommandRequest struct {
	OrganizationID string
	TaskID         string
	Kind           string
	OK             bool // success of a completion, passed of a verdict
	Reason         string
	// SandboxID speaks, if it is not a person. A completion counts only from the task's own sandbox.
	SandboxID string
	Own       bool // the sandbox has proven itself by its token, so even a verdict must be on its own task
	Attempt   bool // a verdict comes from the sandbox of an attempt of the task: it counts while that attempt is the current one
	Sender    string
	Args      json.RawMessage // an object: all that was said; reason and ok stand in it too
	// Wire marks a request of the legacy API, where too late is an answer and not an error.
	Wire bool
}

// CommandResult is what a [CommandRequest] led to.
type CommandResult struct {
	Command   Command
	Status    Status   // of the task if nothing else happens
	Unblocked []string // pending tasks that wait for nothing else, if that is completed
}

// Judge returns what a request leads to in state s, or a [CodeConflict] error with the reason. A late request of the
// legacy API leads to [ReceiptTooLate]; one that is refused is a conflict there too.
func Judge(s State, a CommandRequest) (Effects, error) {
	if a.Kind == CommandRetry {
		return judgeRetry(s)
	}
	fact := Fact{Kind: FactKind(a.Kind), OK: a.OK}
	if a.Kind == CommandComplete || a.Kind == CommandReplace || a.Attempt { // other verdicts come from another sandbox than the one they judge
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

func refusal(s State, kind string) error {
	if s.Status.Final() {
		if kind == CommandVerdict {
			kind = "judge"
		}
		return Errorf(CodeConflict, "The task is %s already; there is nothing to %s.", s.Status, kind).WithKind(KindInvalidState)
	}
	return Errorf(CodeConflict, "The task is %s; a %s is not possible now.", s.Status, kind).WithKind(KindInvalidState)
}
