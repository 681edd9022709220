package supervise

import (
	"fmt"
	"slices"
	"strings"

	"github.com/omoi-dev/omoi/internal/explain"
	"github.com/omoi-dev/omoi/internal/task"
)

const (
	mostTasks  = 5 // newest tasks of a ticket that a diagnosis reads
	leastTasks = 2 // a single task has its own diagnosis
)

// TicketDue returns the IDs of the failed tasks to diagnose together, newest first, at most mostTasks. The result is
// empty until as many ends as failures says have failed in a row since the last diagnosis of the ticket.
func TicketDue(t TicketEnds, failures int) []string {
	fresh := 0
	for _, end := range failed(t) {
		if end.At.After(t.Upto) {
			fresh++
		}
	}
	tasks := tasksOf(failed(t))
	if fresh < failures || len(tasks) < leastTasks || t.Diagnoses >= maxDiagnoses {
		return nil
	}
	return tasks[:min(len(tasks), mostTasks)]
}

// failed returns the newest consecutive ends that are failures.
func failed(t TicketEnds) []TicketEnd {
	n := slices.IndexFunc(t.Ends, func(e TicketEnd) bool { return !e.Failed })
	if n < 0 {
		return t.Ends
	}
	return t.Ends[:n]
}

func tasksOf(ends []TicketEnd) []string {
	var ids []string
	for _, e := range ends {
		if !slices.Contains(ids, e.TaskID) {
			ids = append(ids, e.TaskID)
		}
	}
	return ids
}

// DiagnoseTicket diagnoses by rules why tasks of a ticket failed. The cases are the tasks that [TicketDue] returned, in
// the same order.
func DiagnoseTicket(t TicketEnds, cases []DiagnosisInput, settings Settings) explain.Diagnosis {
	newest, ends := cases[0].Task, failed(t)
	d := diagnoser{DiagnosisInput: cases[0], settings: settings}
	for _, c := range slices.Backward(cases) {
		d.streak = append(d.streak, endOf(c))
	}
	d.Task.Status, d.Task.FailureClass = task.StatusFailed, commonClass(d.streak)
	d.look()
	out := explain.Diagnosis{
		OrganizationID: newest.OrganizationID, ProjectID: newest.ProjectID, TicketID: newest.TicketID, TaskID: newest.ID, Attempt: d.newest(),
		Kind: explain.DiagnosisTicket, EndedAt: &ends[0].At, FailureClass: d.class(), Failures: len(ends), TicketFailures: d.TicketFailures,
		Evidence: d.evidence(), Source: string(ByRules),
	}
	out.Reason = d.reason()
	out.Summary = d.withReason(whatOfTicket(len(tasksOf(ends)), len(ends), d.same)) + "."
	d.conclude(&out)
	d.forTicket(&out)
	return out
}

// endOf returns the last ended attempt of a task. The failure of the task itself takes precedence, because a task can
// fail before its first or after its last attempt.
func endOf(c DiagnosisInput) DiagnosedAttempt {
	last := DiagnosedAttempt{TaskID: c.Task.ID}
	for _, try := range c.Tries {
		if try.EndedAt != nil {
			last = try
		}
	}
	if c.Task.Status == task.StatusFailed {
		last.FailureClass, last.EndReason = c.Task.FailureClass, c.Task.EndReason
		if c.Task.ErrorMessage != nil {
			last.Reason, _, _ = strings.Cut(*c.Task.ErrorMessage, "\n\n")
		}
	}
	return last
}

// commonClass returns the failure class of all attempts, or ClassNone if their classes differ.
func commonClass(streak []DiagnosedAttempt) task.FailureClass {
	for _, try := range streak {
		if try.FailureClass != streak[0].FailureClass {
			return task.ClassNone
		}
	}
	return streak[0].FailureClass
}

func whatOfTicket(tasks, ends int, same bool) string {
	what := fmt.Sprintf("%d tasks of the ticket failed one after the other", tasks)
	if ends > tasks {
		what += fmt.Sprintf(", %d times in all", ends)
	}
	if same {
		what += ", all of them in the same way"
	}
	return what
}

// forTicket adapts the conclusion to the ticket: no advice to agents, and no retry of a single task.
func (d *diagnoser) forTicket(out *explain.Diagnosis) {
	out.Notice, out.Advice = explain.NoticeNone, ""
	if out.FailureClass == task.ClassNone {
		out.Cause, out.Confidence = "Its tasks failed in different ways, so it may be what the ticket asks for.", sureByGuess
		out.Proposal = "Look at each of its tasks, then say more clearly what the ticket asks for, or divide it in another way."
	}
	if out.Command == "omoi retry "+out.TaskID {
		out.Command = "omoi why " + out.TaskID
	}
}
