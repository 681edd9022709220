package metrics

import (
	"github.com/prometheus/client_golang/prometheus"

	"github.com/omoi-dev/omoi/internal/task"
)

// TaskCounts counts beginnings and ends, as the store writes them.
type TaskCounts struct{ ended, attempts, begun, cut *prometheus.CounterVec }

func newTaskCounts(r *prometheus.Registry) *TaskCounts {
	t := &TaskCounts{ended: counterVec(r, TaskCompletions), attempts: counterVec(r, AttemptsEnded), begun: counterVec(r, AttemptsStarted), cut: counterVec(r, ActivitiesCut)}
	for _, status := range []task.Status{task.StatusCompleted, task.StatusCancelled} { // a rate needs a beginning
		t.ended.WithLabelValues(string(status), "")
	}
	return t
}

// TaskEnded counts the end of a task; class is empty but for a failed one.
func (t *TaskCounts) TaskEnded(outcome task.Status, class task.FailureClass) {
	if outcome != task.StatusFailed {
		class = task.ClassNone
	}
	t.ended.WithLabelValues(string(outcome), string(class)).Inc()
}

// AttemptBegun counts the begin of an attempt.
func (t *TaskCounts) AttemptBegun(kind string) { t.begun.WithLabelValues(kind).Inc() }

// AttemptEnded counts the end of an attempt.
func (t *TaskCounts) AttemptEnded(outcome string, class task.FailureClass) {
	t.attempts.WithLabelValues(outcome, string(class)).Inc()
}

// ActivityCutOff counts an activity that was cancelled because Temporal did not answer its heartbeat, or had timed the activity out.
func (t *TaskCounts) ActivityCutOff(activity string) { t.cut.WithLabelValues(activity).Inc() }
