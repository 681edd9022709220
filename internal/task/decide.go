package task

// FactKind names something that has happened to a task.
type FactKind string

// The facts that a task is judged by. Those in the first group speak of a sandbox
// and count only while that sandbox is the task's current one.
const (
	FactStarted             FactKind = "started"              // the agent reported in
	FactCompleted           FactKind = "completed"            // agent.completed; OK is its success
	FactContinuousCompleted FactKind = "continuous_completed" // OK is validation_passed
	FactAgentFailed         FactKind = "agent_failed"         // agent.error or agent.failed
	FactObserved            FactKind = "observed"             // Observe found the attempt dead; Class says how
	FactTooLong             FactKind = "too_long"             // the longest duration has passed; OK if it was last seen alive
	FactValidatorLimit      FactKind = "validator_limit"      // the validator reached its own limit, or a permanent error, before a verdict

	FactStepFailed    FactKind = "step_failed"    // a step of ours failed for good
	FactPublished     FactKind = "published"      // branch and pull request stand
	FactPublishFailed FactKind = "publish_failed" // they do not
	FactHandedIn      FactKind = "handed_in"      // work that is to be validated is on its branch

	FactCancel   FactKind = "cancel"   // a person stops the task
	FactFail     FactKind = "fail"     // a person or the guardian declares it failed
	FactComplete FactKind = "complete" // task-complete; OK is its success
	FactVerdict  FactKind = "verdict"  // validation-result; OK is passed
	FactRetry    FactKind = "retry"    // a user resumes a suspended task
	FactReplace  FactKind = "replace"  // the guardian or a person wants another attempt in the place of this one
)

// Fact is one thing that has happened, in words short enough for a history.
type Fact struct {
	Kind      FactKind
	SandboxID string // the sandbox that it speaks of; empty if of none
	OK        bool
	Class     FailureClass
}

// State is what [Decide] needs to know of a task. It travels in histories: fields are only added.
type State struct {
	Status       Status        `json:"status"`
	SandboxID    string        `json:"sandbox_id,omitempty"` // of the live attempt; empty between attempts
	Continuous   bool          `json:"continuous,omitempty"` // only a passed validation completes the task
	Stage        Stage         `json:"stage,omitempty"`      // how far the work is on its way to the pull request
	Blocked      BlockedReason `json:"blocked,omitempty"`
	Attempts     int           `json:"attempts,omitempty"` // begun so far, of every kind
	Retries      int           `json:"retries,omitempty"`  // begun because one failed
	MaxRetries   int           `json:"max_retries,omitempty"`
	Revisions    int           `json:"revisions,omitempty"`    // begun because a verdict asked for it
	Replacements int           `json:"replacements,omitempty"` // begun because the guardian asked for it
	Rounds       int           `json:"rounds,omitempty"`       // of validation, at most; 0: nobody validates
	Round        int           `json:"round,omitempty"`        // verdicts so far
}

// Stage is how far the work of a task is on its way to the pull request.
type Stage string

// The stages, in their order. A task goes from [StageWork] to [StagePublish] directly if nobody validates its work.
const (
	StageWork     Stage = ""           // an agent does the work, or is about to
	StageSubmit   Stage = "submitting" // the work is done; omoi pushes it to the branch for a validator
	StageValidate Stage = "validating" // the work is on the branch; the live attempt, or the next one, validates it
	StagePublish  Stage = "publishing" // the outcome is accepted; omoi pushes the branch and opens the pull request
)

// leaving reports whether the work is done and on its way to the branch: it no longer depends on the sandbox.
func (s State) leaving() bool { return s.Stage == StageSubmit || s.Stage == StagePublish }

// Limits on attempts, from WIRE.md: retries are the task's own setting, these are not.
const (
	MaxRevisions    = 3
	MaxReplacements = 2
	MaxAttempts     = 20
)

// Action is what the workflow does next.
type Action string

// The actions.
const (
	ActionIgnore   Action = "ignore"   // the fact changes nothing
	ActionStay     Action = "stay"     // project the status, go on watching
	ActionBegin    Action = "begin"    // end this attempt, begin the next
	ActionPublish  Action = "publish"  // end this attempt, publish its work
	ActionValidate Action = "validate" // end this attempt, bring its work to the branch, have it validated
	ActionPark     Action = "park"     // end this attempt, wait without a slot
	ActionFinish   Action = "finish"   // the task ends
)

// Receipt is the outcome of a command.
type Receipt string

// The receipts of commands.
const (
	ReceiptAccepted   Receipt = "accepted"
	ReceiptCarriedOut Receipt = "carried_out"
	ReceiptTooLate    Receipt = "too_late"
	ReceiptRefused    Receipt = "refused"
)

// Effects is what a fact leads to.
type Effects struct {
	Action  Action
	Status  Status // to be projected now
	Leads   Status // where the task stands if nothing else happens; what a wire answer tells
	Class   FailureClass
	Receipt Receipt // for facts that came as a command
}

// Decide judges one fact: the state that follows and what the workflow does. It is
// pure; the workflow and the API's answers both come from here.
func Decide(s State, f Fact) (State, Effects) {
	if s.Status.Final() {
		return s, ignore(s, ReceiptTooLate)
	}
	if f.SandboxID != "" && f.SandboxID != s.SandboxID {
		return s, ignore(s, ReceiptTooLate)
	}
	switch f.Kind {
	case FactStarted:
		return decideStarted(s)
	case FactCompleted:
		return decideCompleted(s, f)
	case FactContinuousCompleted:
		return decideContinuous(s, f)
	case FactAgentFailed, FactStepFailed:
		return decideFailure(s, f.Class)
	case FactObserved:
		return decideObserved(s, f)
	case FactTooLong:
		return decideTooLong(s, f)
	case FactValidatorLimit:
		return decideValidatorLimit(s, f)
	case FactPublished:
		return finish(s, StatusCompleted, ClassNone)
	case FactPublishFailed:
		return decidePublishFailed(s, f)
	case FactCancel:
		return finish(s, StatusCancelled, ClassNone)
	case FactFail:
		return finish(s, StatusFailed, ClassReported)
	case FactComplete:
		return decideComplete(s, f)
	case FactVerdict:
		return decideVerdict(s, f)
	case FactHandedIn:
		return decideHandedIn(s)
	case FactRetry:
		return decideRetry(s)
	case FactReplace:
		return decideReplace(s)
	case FactPause:
		return decidePark(s, BlockedPaused, ClassNone)
	case FactBudget:
		return decidePark(s, BlockedBudget, ClassBudget)
	}
	return s, ignore(s, ReceiptRefused)
}

func decideStarted(s State) (State, Effects) {
	if s.Stage == StagePublish || !CanMove(s.Status, StatusRunning) || s.Status == StatusRunning {
		return s, ignore(s, ReceiptTooLate)
	}
	s.Status = StatusRunning
	return s, Effects{Action: ActionStay, Status: s.Status, Leads: s.Status}
}

func decideCompleted(s State, f Fact) (State, Effects) {
	switch {
	case s.leaving():
		return s, ignore(s, ReceiptTooLate)
	case s.Stage == StageValidate: // a validator's end is no verdict
		return s, ignore(s, ReceiptAccepted)
	case !f.OK:
		return decideFailure(s, ClassAgentError)
	case s.Continuous:
		return s, ignore(s, ReceiptAccepted)
	}
	return accept(s)
}

func decideContinuous(s State, f Fact) (State, Effects) {
	switch {
	case s.leaving():
		return s, ignore(s, ReceiptTooLate)
	case s.Stage == StageValidate:
		return s, ignore(s, ReceiptAccepted)
	case f.OK:
		return accept(s)
	case f.Class == ClassNone:
		return decideFailure(s, ClassAgentError)
	}
	return decideFailure(s, f.Class)
}

// decideObserved is a failure that is no word of the agent on its work. Who interrupts a validator stops no work, since that is done
// and on its branch: another validator begins, and it costs no retry.
func decideObserved(s State, f Fact) (State, Effects) {
	if s.Stage == StageValidate && f.Class == ClassStopped && s.Attempts < MaxAttempts {
		return begin(s, s.waits(), f.Class)
	}
	return decideFailure(s, f.Class)
}

// decideFailure ends the attempt; the class decides whether another one follows. A
// task whose outcome is accepted no longer depends on its sandbox.
func decideFailure(s State, class FailureClass) (State, Effects) {
	if s.Stage == StageValidate && class == ClassAgentError { // a validator that gives up has judged nothing
		class = ClassInfrastructure
	}
	switch {
	case s.leaving():
		return s, ignore(s, ReceiptTooLate)
	case !class.Retryable():
		return finish(s, StatusFailed, class)
	case class == ClassProviderLimit && s.Attempts < MaxAttempts:
		return park(s, BlockedProviderLimit, class)
	case s.Retries >= s.MaxRetries || s.Attempts >= MaxAttempts:
		return finish(s, StatusFailed, class)
	}
	s.Retries++
	return begin(s, s.waits(), class)
}

// decidePublishFailed ends the task with its work kept. A git host that takes no requests for a while is waited for: the
// outcome stays accepted.
func decidePublishFailed(s State, f Fact) (State, Effects) {
	if f.Class == ClassProviderLimit {
		return park(s, BlockedProviderLimit, ClassPublish)
	}
	return finish(s, StatusFailed, f.Class)
}

func decideTooLong(s State, f Fact) (State, Effects) {
	switch {
	case s.Stage == StagePublish:
		return s, ignore(s, ReceiptTooLate)
	case f.OK:
		return finish(s, StatusFailed, ClassStopped)
	}
	return park(s, BlockedUnknownTooLong, ClassInfrastructure)
}

func decideComplete(s State, f Fact) (State, Effects) {
	switch {
	case s.Stage != StageWork:
		return s, ignore(s, ReceiptTooLate)
	case !f.OK:
		return finish(s, StatusFailed, ClassReported)
	}
	return accept(s)
}

func decideRetry(s State) (State, Effects) {
	if s.Blocked == BlockedNone || s.SandboxID != "" {
		return s, ignore(s, ReceiptRefused)
	}
	s.Blocked = BlockedNone
	return begin(s, s.waits(), ClassNone)
}

// decideReplace ends an attempt that is under way; it counts apart from failures.
func decideReplace(s State) (State, Effects) {
	switch {
	case s.leaving():
		return s, ignore(s, ReceiptTooLate)
	case s.SandboxID == "", s.Replacements >= MaxReplacements, s.Attempts >= MaxAttempts:
		return s, ignore(s, ReceiptRefused)
	}
	s.Replacements++
	return begin(s, s.waits(), ClassNone)
}

func ignore(s State, r Receipt) Effects {
	return Effects{Action: ActionIgnore, Status: s.Status, Leads: leads(s), Receipt: r}
}

// leads returns the final state of a task to which nothing more happens.
func leads(s State) Status {
	switch s.Stage {
	case StagePublish:
		return StatusCompleted
	case StageSubmit:
		return StatusPendingValidation
	case StageWork, StageValidate:
	}
	return s.Status
}

func begin(s State, status Status, class FailureClass) (State, Effects) {
	s.Status, s.SandboxID = status, ""
	return s, Effects{Action: ActionBegin, Status: status, Leads: status, Class: class, Receipt: ReceiptCarriedOut}
}

// park ends the attempt. Work that was not on its branch yet is no more on its way there.
func park(s State, why BlockedReason, class FailureClass) (State, Effects) {
	s.Status, s.SandboxID, s.Blocked = StatusPending, "", why
	if s.Stage == StageSubmit {
		s.Stage = StageWork
	}
	return s, Effects{Action: ActionPark, Status: s.Status, Leads: s.Status, Class: class, Receipt: ReceiptCarriedOut}
}

func publish(s State) (State, Effects) {
	s.Stage, s.Blocked = StagePublish, BlockedNone
	return s, Effects{Action: ActionPublish, Status: s.Status, Leads: StatusCompleted, Receipt: ReceiptCarriedOut}
}

func finish(s State, status Status, class FailureClass) (State, Effects) {
	s.Status, s.Stage, s.Blocked = status, StageWork, BlockedNone
	return s, Effects{Action: ActionFinish, Status: status, Leads: status, Class: class, Receipt: ReceiptCarriedOut}
}

// Facts that park a task which holds a slot, with its work saved.
const (
	FactPause  FactKind = "pause"  // a user pauses a project and suspends its running tasks
	FactBudget FactKind = "budget" // a budget is spent
)

// decidePark ends the attempt and waits for a person. What is being published is past that.
func decidePark(s State, why BlockedReason, class FailureClass) (State, Effects) {
	switch {
	case s.Stage == StagePublish:
		return s, ignore(s, ReceiptTooLate)
	case s.Blocked != BlockedNone:
		return s, ignore(s, ReceiptRefused)
	}
	return park(s, why, class)
}
