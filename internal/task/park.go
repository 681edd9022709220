package task

// Facts that park a task which holds a slot, with its work saved.
const (
	FactPause  FactKind = "pause"  // a person stops all that is at work in a project
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
