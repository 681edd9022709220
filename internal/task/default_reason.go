package task

// DefaultReason returns the reason shown for a fact that carries none.
func (f Fact) DefaultReason() string {
	if f.OK {
		return f.Kind.ofSuccess()
	}
	switch f.Kind { //nolint:exhaustive // the rest do not fail
	case FactCompleted:
		return "The agent ended without success and did not say why."
	case FactContinuousCompleted:
		return "The agent ended without a passed validation and did not say why."
	case FactComplete:
		return "The sandbox reported a failure without a reason."
	case FactVerdict:
		return "The validation failed without feedback."
	}
	return f.Kind.ofRequest()
}

func (k FactKind) ofSuccess() string {
	switch k { //nolint:exhaustive // the rest do not tell success
	case FactCompleted, FactContinuousCompleted:
		return "The agent reported success."
	case FactComplete:
		return "The sandbox reported success."
	case FactVerdict:
		return "The validation passed."
	}
	return k.ofRequest()
}

// ofRequest is the reason of what users and the guardian ask for. That of a cancel follows the prefix "Task cancelled: ".
func (k FactKind) ofRequest() string {
	switch k { //nolint:exhaustive // the rest are omoi's own
	case FactCancel:
		return "no reason was given."
	case FactFail:
		return "Task failed by request, without a reason."
	case FactRetry:
		return "A retry was requested."
	case FactReplace:
		return "A replacement of the attempt was requested."
	case FactPause:
		return "The project was paused."
	case FactBudget:
		return "A budget is spent."
	}
	return k.ofStep()
}

// ofStep is the reason of what omoi itself does or finds.
func (k FactKind) ofStep() string {
	switch k { //nolint:exhaustive // the rest stand above
	case FactAgentFailed:
		return "Task execution failed" // as the legacy system says it
	case FactStarted:
		return "The agent started."
	case FactObserved:
		return "The agent no longer runs."
	case FactTooLong:
		return "The attempt exceeded its maximum duration."
	case FactValidatorLimit:
		return "The validator ended before it gave a verdict."
	case FactStepFailed:
		return "A step of the task failed."
	case FactPublished:
		return "The work was published."
	case FactPublishFailed:
		return "Publish failed."
	case FactHandedIn:
		return "The work was saved on its branch for validation."
	}
	return ""
}
