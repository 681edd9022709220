package task

// FactKind names an event in the life of a task.
type FactKind string

// The kinds of facts. The first group is about a sandbox; a fact of it counts only while that sandbox is the task's
// current one.
const (
	FactStarted             FactKind = "started"              // the agent reported its start
	FactCompleted           FactKind = "completed"            // agent.completed; OK is its success
	FactContinuousCompleted FactKind = "continuous_completed" // OK is validation_passed
	FactAgentFailed         FactKind = "agent_failed"         // agent.error or agent.failed
	FactObserved            FactKind = "observed"             // CheckAgent found that the attempt is over; Class says how
	FactTooLong             FactKind = "too_long"             // the attempt reached its maximum duration; OK if its agent worked at the last check
	FactValidatorLimit      FactKind = "validator_limit"      // the validator reached its own limit, or a permanent error, before a verdict

	FactStepFailed    FactKind = "step_failed"    // a step of omoi failed for good
	FactPublished     FactKind = "published"      // branch and pull request are done
	FactPublishFailed FactKind = "publish_failed" // publish failed
	FactHandedIn      FactKind = "handed_in"      // work that needs a validation is on its branch

	FactCancel   FactKind = "cancel"   // a user cancels the task
	FactFail     FactKind = "fail"     // a user or the guardian declares the task failed
	FactComplete FactKind = "complete" // task-complete; OK is its success
	FactVerdict  FactKind = "verdict"  // validation-result; OK is passed
	FactRetry    FactKind = "retry"    // a user resumes a suspended task
	FactReplace  FactKind = "replace"  // the guardian or a user requests another attempt instead of the running one
	FactRewind   FactKind = "rewind"   // a user requests that the next attempt begins with an earlier checkpoint
)

// Fact is one thing that happened to a task, small enough for a history.
type Fact struct {
	Kind      FactKind
	SandboxID string // sandbox that the fact is about; empty: none
	OK        bool
	Class     FailureClass
}

// State is the input of [Decide]. It is stored in histories: fields are only added.
type State struct {
	Status       Status        `json:"status"`
	SandboxID    string        `json:"sandbox_id,omitempty"` // sandbox of the running attempt; empty between attempts
	Continuous   bool          `json:"continuous,omitempty"` // only a passed validation completes the task
	Stage        Stage         `json:"stage,omitempty"`      // progress of the work towards the pull request
	Blocked      BlockedReason `json:"blocked,omitempty"`
	Attempts     int           `json:"attempts,omitempty"` // number of attempts of every kind
	Retries      int           `json:"retries,omitempty"`  // attempts after a failed one
	MaxRetries   int           `json:"max_retries,omitempty"`
	Revisions    int           `json:"revisions,omitempty"`    // attempts that a verdict requested
	Replacements int           `json:"replacements,omitempty"` // attempts that the guardian requested
	Rounds       int           `json:"rounds,omitempty"`       // maximum number of validation rounds; 0: no validator
	Round        int           `json:"round,omitempty"`        // number of verdicts
}

// Stage is the progress of a task's work towards the pull request.
type Stage string

// The stages, in order. Without a validator a task goes from [StageWork] to [StagePublish] directly.
const (
	StageWork     Stage = ""           // an agent works, or will start
	StageSubmit   Stage = "submitting" // the work is done; omoi pushes it to the branch for a validator
	StageValidate Stage = "validating" // the work is on the branch; the running or the next attempt validates it
	StagePublish  Stage = "publishing" // the outcome is accepted; omoi pushes the branch and opens the pull request
)

// leaving reports whether the work is done and being pushed, so that it no longer depends on the sandbox.
func (s State) leaving() bool { return s.Stage == StageSubmit || s.Stage == StagePublish }

// Limits on attempts, from WIRE.md. The limit of retries is a setting of the task.
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
	ActionStay     Action = "stay"     // save the status, keep watching
	ActionBegin    Action = "begin"    // end this attempt, begin the next
	ActionPublish  Action = "publish"  // end this attempt, publish its work
	ActionValidate Action = "validate" // end this attempt, push its work to the branch, validate it
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

// Effects are the consequences of a fact.
type Effects struct {
	Action  Action
	Status  Status // to save now
	Leads   Status // status if nothing else happens, as API answers show it
	Class   FailureClass
	Receipt Receipt // for facts from commands
}

// Decide returns the state that follows from a fact, and what the workflow does next. It is a pure function, used by
// the workflow and by the API.
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
	case FactRewind:
		return decideRewind(s)
	case FactPause:
		return decidePark(s, BlockedPaused, ClassNone)
	case FactBudget:
		return decidePark(s, BlockedBudget, ClassBudget)
	case FactSuspend:
		return decidePark(s, BlockedSuspended, ClassNone)
	case FactAsked:
		return decidePark(s, BlockedQuestion, ClassNone)
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
	case s.Stage == StageValidate: // the end of a validator is not a verdict
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

// decideObserved handles a failure that the agent did not report. An interrupt of a validator does not stop the task,
// whose work is done: another validator starts, without counting as a retry.
func decideObserved(s State, f Fact) (State, Effects) {
	if s.Stage == StageValidate && f.Class == ClassStopped && s.Attempts < MaxAttempts {
		return begin(s, s.waits(), f.Class)
	}
	return decideFailure(s, f.Class)
}

// decideFailure ends the attempt. The class decides whether another one follows. A task whose outcome is accepted no
// longer depends on its sandbox.
func decideFailure(s State, class FailureClass) (State, Effects) {
	if s.Stage == StageValidate && class == ClassAgentError { // a validator that gives up gave no verdict
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

// decidePublishFailed ends the task and keeps its work. If the Git host limits requests for a while, the task waits
// with its outcome accepted.
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

// decideReplace ends the running attempt. Replacements do not count as failures.
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

// decideRewind ends the running attempt, or resumes a suspended task: an agent works next. A rewind does not count as a
// failure, and not as a replacement.
func decideRewind(s State) (State, Effects) {
	switch {
	case s.leaving():
		return s, ignore(s, ReceiptTooLate)
	case s.SandboxID == "" && s.Blocked == BlockedNone, s.Attempts >= MaxAttempts:
		return s, ignore(s, ReceiptRefused)
	}
	s.Stage, s.Blocked = StageWork, BlockedNone
	return begin(s, s.waits(), ClassNone)
}

func ignore(s State, r Receipt) Effects {
	return Effects{Action: ActionIgnore, Status: s.Status, Leads: leads(s), Receipt: r}
}

// leads returns the final status of a task if nothing else happens.
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

// park ends the attempt. Work that is not on its branch yet is no longer being pushed.
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

// Facts that suspend a task with a slot and save its work.
const (
	FactPause   FactKind = "pause"   // a user pauses a project and suspends its running tasks
	FactBudget  FactKind = "budget"  // a budget is spent
	FactSuspend FactKind = "suspend" // a user suspends the task
	FactAsked   FactKind = "asked"   // nobody answered the question of the agent while it waited
)

// decidePark ends the attempt and suspends the task. It is too late for a task that is being published. A user may also suspend a
// task that is suspended for another reason.
func decidePark(s State, why BlockedReason, class FailureClass) (State, Effects) {
	switch {
	case s.Stage == StagePublish, why == BlockedQuestion && s.leaving():
		return s, ignore(s, ReceiptTooLate)
	case s.Blocked == why, s.Blocked != BlockedNone && why != BlockedSuspended:
		return s, ignore(s, ReceiptRefused)
	}
	return park(s, why, class)
}
