package task

// Group says who acts next on a task. Lists and boards show tasks by group. Each task has exactly one.
type Group string

// The groups of tasks.
const (
	GroupNeedsYou  Group = "needs_you" // only a user lets the task continue, or its agent waits for a message
	GroupRunning   Group = "running"
	GroupChecking  Group = "checking" // the work is validated or revised
	GroupWaiting   Group = "waiting"  // the task continues by itself, or as soon as the user who suspended it wants
	GroupDone      Group = "done"
	GroupFailed    Group = "failed"
	GroupCancelled Group = "cancelled"
)

// Groups lists every group, the most urgent first.
func Groups() []Group {
	return []Group{GroupNeedsYou, GroupRunning, GroupChecking, GroupWaiting, GroupDone, GroupFailed, GroupCancelled}
}

// GroupOf returns the group of a task whose agent does not wait for a message.
func GroupOf(status Status, blocked BlockedReason) Group {
	switch status {
	case StatusPending:
		switch blocked { //nolint:exhaustive // the others end by themselves, or by the user who began them
		case BlockedDependencyFailed, BlockedBudget, BlockedUnknownTooLong, BlockedReview, BlockedQuestion:
			return GroupNeedsYou
		}
		return GroupWaiting
	case StatusAssigned, StatusRunning:
		return GroupRunning
	case StatusPendingValidation, StatusValidating, StatusNeedsRevision:
		return GroupChecking
	case StatusCompleted:
		return GroupDone
	case StatusFailed:
		return GroupFailed
	case StatusCancelled:
		return GroupCancelled
	}
	return GroupWaiting
}
