package task

import "slices"

// Status is where a task stands. Only the task's workflow changes it.
type Status string

// The states of a task. Only a rewind follows completed.
const (
	StatusPending           Status = "pending"
	StatusAssigned          Status = "assigned"
	StatusRunning           Status = "running"
	StatusPendingValidation Status = "pending_validation"
	StatusValidating        Status = "validating"
	StatusNeedsRevision     Status = "needs_revision"
	StatusCompleted         Status = "completed"
	StatusFailed            Status = "failed"
	StatusCancelled         Status = "cancelled"
)

// Statuses lists every status in the order in which a task meets them.
func Statuses() []Status {
	return []Status{
		StatusPending, StatusAssigned, StatusRunning, StatusPendingValidation, StatusValidating,
		StatusNeedsRevision, StatusCompleted, StatusFailed, StatusCancelled,
	}
}

// Valid reports whether s is one of the known states.
func (s Status) Valid() bool { return slices.Contains(Statuses(), s) }

// Final reports whether the task has ended. A failed or cancelled task may still be retried, and each rewound.
func (s Status) Final() bool {
	return s == StatusCompleted || s == StatusFailed || s == StatusCancelled
}

// CanMove reports whether a task may go from one status to another. Staying is always legal.
func CanMove(from, to Status) bool {
	return from == to || slices.Contains(successors[from], to)
}

// successors is the table of legal transitions: the statuses that may follow each one.
//
//nolint:gochecknoglobals // a table
var successors = map[Status][]Status{
	StatusPending: {
		StatusAssigned, StatusPendingValidation, StatusValidating, StatusNeedsRevision, StatusCompleted, StatusFailed, StatusCancelled,
	},
	StatusAssigned: {
		StatusPending, StatusRunning, StatusPendingValidation, StatusNeedsRevision, StatusCompleted, StatusFailed, StatusCancelled,
	},
	StatusRunning: {
		StatusPending, StatusPendingValidation, StatusValidating, StatusNeedsRevision, StatusCompleted, StatusFailed, StatusCancelled,
	},
	StatusPendingValidation: {StatusPending, StatusValidating, StatusNeedsRevision, StatusCompleted, StatusFailed, StatusCancelled},
	StatusValidating:        {StatusPending, StatusPendingValidation, StatusNeedsRevision, StatusCompleted, StatusFailed, StatusCancelled},
	StatusNeedsRevision:     {StatusPending, StatusAssigned, StatusPendingValidation, StatusCompleted, StatusFailed, StatusCancelled},
	StatusCompleted:         {StatusPending},
	StatusFailed:            {StatusPending},
	StatusCancelled:         {StatusPending},
}

// BlockedReason says why a pending task is not being worked on, beyond waiting for its turn.
type BlockedReason string

// The reasons for which a pending task is suspended. None means that the task is queued.
const (
	BlockedNone             BlockedReason = ""
	BlockedDependency       BlockedReason = "dependency"
	BlockedDependencyFailed BlockedReason = "dependency_failed"
	BlockedProviderLimit    BlockedReason = "provider_limit"
	BlockedBudget           BlockedReason = "budget"
	BlockedPaused           BlockedReason = "paused"
	BlockedUnknownTooLong   BlockedReason = "unknown_too_long"
	BlockedSuspended        BlockedReason = "suspended" // a user suspended the task
	BlockedQuestion         BlockedReason = "question"  // the agent awaits the answer of a user
	BlockedReview           BlockedReason = "review"    // the validator gave no verdict, by its own limit or a permanent error: a user judges the work
)

// BlockedReasons lists every reason.
func BlockedReasons() []BlockedReason {
	return []BlockedReason{
		BlockedNone, BlockedDependency, BlockedDependencyFailed, BlockedProviderLimit, BlockedBudget, BlockedPaused, BlockedSuspended,
		BlockedUnknownTooLong, BlockedReview, BlockedQuestion,
	}
}
