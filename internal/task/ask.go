package task

import (
	"encoding/json"
	"time"
)

// Draft is a task as it is accepted: complete, checked, and not yet stored.
type Draft struct {
	OrganizationID string
	UserID         string // whose task it is; empty: nobody's
	// One of the three says where the task belongs; the first that is not empty counts.
	TicketID  string
	ProjectID string
	Repo      string
	// Ticket is made when TicketID is empty.
	Ticket TicketDraft

	Title       string
	Description string
	TaskType    string
	PhaseID     string
	Priority    string
	Mode        string
	Agent       string
	Provider    string
	Continuous  bool
	MaxRetries  int
	DeadlineAt  *time.Time
	Validation  ValidationDraft
	DependsOn   []string
	Budget      Budget
	Execution   json.RawMessage // an object

	Sender string // who asks, for the receipt
	Trace  string // W3C traceparent of the request; empty: it is not traced
	// IdempotencyKey with the same BodyHash answers the same task; empty: every time a new one.
	IdempotencyKey string
	BodyHash       []byte
	ProjectSlots   int // limit of a project that has to be made
	// NoAgent refuses a draft without an agent, unless its IdempotencyKey names a task already.
	NoAgent error
}

// ValidationDraft says whether the work of a task is to be validated.
type ValidationDraft struct {
	Asked  *bool // by the task itself; nil: type and project say
	ByType bool
	Able   bool // the validator has all that it needs: a default may count
	Rounds int  // at most
}

// TicketDraft is a ticket as it is accepted.
type TicketDraft struct {
	Title       string
	Description string
	TicketType  string
	PhaseID     string
	Priority    string
	Context     json.RawMessage // an object
}

// Accepted names what a [Draft] became.
type Accepted struct {
	TaskID   string
	TicketID string
	Repeated bool // the idempotency key was known: this is the task of the first time
}

// Kinds of [Ask]; the contract's commands bear the same names.
const (
	AskCancel   = "cancel"
	AskFail     = "fail"
	AskComplete = "complete"
	AskVerdict  = "verdict"
	AskRetry    = "retry"
	AskReplace  = "replace" // with the sandbox of the attempt that is to be replaced
)

// Ask is what somebody wants of a task. It becomes a command.
type Ask struct {
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
	// Wire marks an ask of the old wire form: too late is an answer there and no error.
	Wire bool
}

// Asked is what an [Ask] led to.
type Asked struct {
	Command   Command
	Status    Status   // of the task if nothing else happens
	Unblocked []string // pending tasks that wait for nothing else, if that is completed
}

// Judge says whether an ask is in order while the task stands as s, and what it leads to:
// a [CodeConflict] with the reason if it is not. For the wire form a late ask is in order
// and its receipt is [ReceiptTooLate]; one that is refused is a conflict there too.
func Judge(s State, a Ask) (Effects, error) {
	if a.Kind == AskRetry {
		return judgeRetry(s)
	}
	fact := Fact{Kind: factOf(a.Kind), OK: a.OK}
	if a.Kind == AskComplete || a.Kind == AskReplace || a.Attempt { // other verdicts come from another sandbox than the one they judge
		fact.SandboxID = a.SandboxID
	}
	_, effects := Decide(s, fact)
	if a.Kind == AskVerdict && a.SandboxID != "" && !a.OK && s.Status == StatusNeedsRevision { // there is no new work to judge
		effects = ignore(s, ReceiptTooLate)
	}
	if effects.Receipt == ReceiptCarriedOut || a.Wire && effects.Receipt != ReceiptRefused {
		return effects, nil
	}
	return effects, refusal(s, a.Kind)
}

func factOf(kind string) FactKind {
	switch kind {
	case AskCancel:
		return FactCancel
	case AskFail:
		return FactFail
	case AskComplete:
		return FactComplete
	case AskVerdict:
		return FactVerdict
	case AskReplace:
		return FactReplace
	}
	return ""
}

func judgeRetry(s State) (Effects, error) {
	switch s.Status {
	case StatusFailed, StatusCancelled:
		return Effects{Action: ActionBegin, Status: s.Status, Leads: StatusPending, Receipt: ReceiptAccepted}, nil
	case StatusCompleted:
		return Effects{}, Errorf(CodeConflict, "The task is completed; there is nothing to retry.")
	case StatusPending, StatusAssigned, StatusRunning, StatusPendingValidation, StatusValidating, StatusNeedsRevision:
	}
	_, effects := Decide(s, Fact{Kind: FactRetry})
	if effects.Receipt == ReceiptCarriedOut {
		return effects, nil
	}
	if s.Status == StatusPending {
		return effects, Errorf(CodeConflict, "The task is pending, and a retry changes nothing about what it waits for, which `omoi why` says; cancel it first to begin again.")
	}
	return effects, Errorf(CodeConflict, "The task is %s and goes on by itself; cancel it first to begin again.", s.Status)
}

func refusal(s State, kind string) error {
	if s.Status.Final() {
		if kind == AskVerdict {
			kind = "judge"
		}
		return Errorf(CodeConflict, "The task is %s already; there is nothing to %s.", s.Status, kind)
	}
	return Errorf(CodeConflict, "The task is %s; a %s is not possible now.", s.Status, kind)
}
