package task

// DefaultReason returns the reason shown for a fact that carries none.
func (f Fact) DefaultReason() string {
	all := defaultReasons[f.Kind]
	if f.OK && all.success != "" {
		return all.success
	}
	return all.reason
}

//nolint:gochecknoglobals // a table
var defaultReasons = map[FactKind]struct{ reason, success string }{
	FactStarted:             {reason: "The agent started."},
	FactCompleted:           {"The agent ended without success and did not say why.", "The agent reported success."},
	FactContinuousCompleted: {"The agent ended without a passed validation and did not say why.", "The agent reported success."},
	FactAgentFailed:         {reason: "Task execution failed"}, // the text of OmoiOS
	FactObserved:            {reason: "The agent no longer runs."},
	FactTooLong:             {reason: "The attempt exceeded its maximum duration."},
	FactValidatorLimit:      {reason: "The validator ended before it gave a verdict."},

	FactStepFailed:    {reason: "A step of the task failed."},
	FactPublished:     {reason: "The work was published."},
	FactPublishFailed: {reason: "Publish failed."},
	FactHandedIn:      {reason: "The work was saved on its branch for validation."},

	FactCancel:   {reason: "no reason was given."}, // follows the prefix "Task cancelled: "
	FactFail:     {reason: "Task failed by request, without a reason."},
	FactComplete: {"The sandbox reported a failure without a reason.", "The sandbox reported success."},
	FactVerdict:  {"The validation failed without feedback.", "The validation passed."},
	FactRetry:    {reason: "A retry was requested."},
	FactReplace:  {reason: "A replacement of the attempt was requested."},
	FactRewind:   {reason: "A rewind to an earlier checkpoint was requested."},
	FactPause:    {reason: "The project was paused."},
	FactBudget:   {reason: "A budget is spent."},
	FactSuspend:  {reason: "A user suspended the task."},
	FactAsked:    {reason: "The agent awaits an answer."},
}
