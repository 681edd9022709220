package supervise

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/omoi-dev/omoi/internal/event"
	"github.com/omoi-dev/omoi/internal/explain"
	"github.com/omoi-dev/omoi/internal/redact"
	"github.com/omoi-dev/omoi/internal/task"
)

// Limits of a diagnosis; maxReason and maxCause are bytes.
const (
	maxDiagnoses = 10 // diagnoses of one task or ticket, as in OmoiOS
	maxReason    = 300
	maxCause     = 800
	signsOfTry   = 2
	signsOfAll   = 8
)

// DiagnosedAttempt is an attempt as a diagnosis reads it.
type DiagnosedAttempt struct {
	task.Attempt

	TaskID string
	Feed   []event.Event // newest events, oldest first; may be empty
	// InterruptedBy is the sender kind of the interrupt message that ended the attempt. Empty: no interrupt ended it.
	InterruptedBy string
}

// DiagnosisInput is what a diagnosis of a failed task is based on.
type DiagnosisInput struct {
	Task           task.Task
	Tries          []DiagnosedAttempt // oldest first
	TicketFailures int
	Diagnoses      int       // number of earlier diagnoses of the task
	Diagnosed      int       // newest attempt that an earlier diagnosis covers; 0: none
	At             time.Time // time of the database
}

// TicketEnds lists the newest ends of a ticket's tasks and the earlier diagnoses of the ticket.
type TicketEnds struct {
	Ends      []TicketEnd // newest first
	Diagnoses int         // number of earlier diagnoses of the ticket
	Upto      time.Time   // newest end that an earlier diagnosis covers
}

// TicketEnd is one end of a task.
type TicketEnd struct {
	TaskID string
	Failed bool
	At     time.Time
}

// Diagnose diagnoses a task by rules. The result is false unless the task has failed, or as many attempts as failures
// says have failed in a row since the last diagnosis.
func Diagnose(c DiagnosisInput, failures int, settings Settings) (explain.Diagnosis, bool) {
	d := diagnoser{DiagnosisInput: c, settings: settings, streak: streakOf(c.Tries)}
	kind := d.kind(failures)
	if kind == "" {
		return explain.Diagnosis{}, false
	}
	d.look()
	t := c.Task
	out := explain.Diagnosis{
		OrganizationID: t.OrganizationID, ProjectID: t.ProjectID, TicketID: t.TicketID, TaskID: t.ID, Attempt: d.newest(),
		Kind: kind, EndedAt: t.CompletedAt, FailureClass: d.class(), Failures: len(d.streak), TicketFailures: c.TicketFailures,
		Evidence: d.evidence(), Source: string(ByRules), Notice: explain.NoticeNone,
	}
	if kind == explain.DiagnosisRepeated {
		out.EndedAt = nil
	}
	out.Summary, out.Reason = d.what(kind), d.reason()
	d.conclude(&out)
	return out, true
}

// diagnoser holds the state of one diagnosis.
type diagnoser struct {
	DiagnosisInput

	settings Settings
	streak   []DiagnosedAttempt // newest attempts in a row that failed with one class, oldest first
	finding  *Finding           // strongest finding in the newest attempt
	blocker  string             // error that the newest attempt did not overcome
	same     bool               // all attempts of streak failed with the same error
}

// streakOf returns the newest consecutive attempts that failed with one class, oldest first. Suspended and running
// attempts are skipped.
func streakOf(tries []DiagnosedAttempt) []DiagnosedAttempt {
	var out []DiagnosedAttempt
	for _, try := range slices.Backward(tries) {
		switch {
		case try.Outcome == "suspended" || try.EndedAt == nil:
			continue
		case try.Outcome != "failed" || len(out) > 0 && try.FailureClass != out[0].FailureClass:
			slices.Reverse(out)
			return out
		}
		out = append(out, try)
	}
	slices.Reverse(out)
	return out
}

// kind returns the kind of the diagnosis. Empty: no diagnosis is due, because too few attempts failed, the agent or the
// budget ended the task, or the task already has maxDiagnoses.
func (d *diagnoser) kind(failures int) string {
	t := d.Task
	switch {
	case d.Diagnoses >= maxDiagnoses:
		return ""
	case t.Status == task.StatusFailed:
		if t.FailureClass == task.ClassReported || t.FailureClass == task.ClassBudget {
			return ""
		}
		return explain.DiagnosisEnded
	case t.Status.Final() || d.fresh() < failures:
		return ""
	}
	return explain.DiagnosisRepeated
}

// fresh counts the attempts of the streak that no diagnosis covers.
func (d *diagnoser) fresh() int {
	n := 0
	for _, try := range d.streak {
		if try.Number > d.Diagnosed {
			n++
		}
	}
	return n
}

func (d *diagnoser) class() task.FailureClass {
	if d.Task.Status == task.StatusFailed || len(d.streak) == 0 {
		return d.Task.FailureClass
	}
	return d.streak[len(d.streak)-1].FailureClass
}

func (d *diagnoser) newest() int {
	if n := len(d.Tries); n > 0 {
		return d.Tries[n-1].Number
	}
	return 0
}

// look applies the rules to the newest attempt of the streak, as of its newest event.
func (d *diagnoser) look() {
	d.same = sameOf(d.streak)
	if len(d.streak) == 0 || len(d.streak[len(d.streak)-1].Feed) == 0 {
		return
	}
	feed := d.streak[len(d.streak)-1].Feed
	s := Subject{Title: d.Task.Title, Description: d.Task.Description, TaskType: d.Task.TaskType, Mode: d.Task.Mode}
	s.Read(feed, feed[len(feed)-1].CreatedAt)
	a := Rules(s, d.settings)
	if len(a.Findings) > 0 && a.Findings[0].Confidence >= d.settings.Confidence {
		d.finding = &a.Findings[0]
	}
	if n := len(a.Context.Blockers); n > 0 {
		d.blocker = a.Context.Blockers[n-1]
	}
}

// SameFailures reports whether the newest attempts of a task failed one after the other with the same error.
func SameFailures(attempts []task.Attempt) bool {
	tries := make([]DiagnosedAttempt, len(attempts))
	for n, a := range attempts {
		tries[n].Attempt = a
	}
	return sameOf(streakOf(tries))
}

func sameOf(streak []DiagnosedAttempt) bool {
	for _, try := range streak {
		if says := errorOf(try.Reason); says == "" || says != errorOf(streak[0].Reason) {
			return false
		}
	}
	return len(streak) > 1
}

func (d *diagnoser) reason() string {
	reason := ""
	if n := len(d.streak); n > 0 {
		reason = d.streak[n-1].Reason
	}
	if d.Task.Status == task.StatusFailed && d.Task.ErrorMessage != nil {
		reason, _, _ = strings.Cut(cmp.Or(*d.Task.ErrorMessage, reason), "\n\n")
	}
	return plainText(explain.InShort(reason), maxReason)
}

// endReason returns the structured end reason; zero if the tasks ended with different classes.
func (d *diagnoser) endReason() task.Reason {
	n := len(d.streak)
	switch {
	case d.class() == task.ClassNone:
		return task.Reason{}
	case d.Task.Status == task.StatusFailed && d.Task.ErrorMessage != nil, n == 0:
		return d.Task.EndReason
	}
	return d.streak[n-1].EndReason
}

// plainText returns text as one line of at most n bytes, without secrets and without a trailing full stop.
func plainText(text string, n int) string {
	line := strings.Join(strings.Fields(redact.Scrub(text, nil)), " ")
	return strings.TrimRight(cut(line, n), ". ")
}

func (d *diagnoser) what(kind string) string {
	count, how := len(d.streak), ""
	if d.same {
		how = ", all of them in the same way"
	}
	what := fmt.Sprintf("%d attempts in a row failed%s", count, how)
	switch {
	case kind == explain.DiagnosisEnded && d.newest() == 0:
		what = "The task failed before its first attempt"
	case kind == explain.DiagnosisEnded && count <= 1:
		what = fmt.Sprintf("The task failed in attempt %d", d.newest())
	case kind == explain.DiagnosisEnded:
		what = fmt.Sprintf("The task failed: %d attempts in a row%s", count, how)
	}
	what = d.withReason(what)
	if d.TicketFailures > 1 {
		what += fmt.Sprintf("; %d tasks of its ticket stand failed", d.TicketFailures)
	}
	return what + "."
}

// withReason appends the failure class and the newest reason to what.
func (d *diagnoser) withReason(what string) string {
	if class := d.class(); class != task.ClassNone {
		what += " (" + string(class) + ")"
	}
	if reason := d.reason(); reason != "" {
		what += ": " + reason
	}
	return what
}

// evidence returns the newest failure events of each attempt, newest attempt first. For an attempt without failure
// events, evidence returns its newest event.
func (d *diagnoser) evidence() []explain.Evidence {
	out := []explain.Evidence{}
	for _, try := range slices.Backward(d.streak) {
		signs := Signs(try.TaskID, try.Number, try.Feed)
		bad := slices.DeleteFunc(slices.Clone(signs), func(s explain.Evidence) bool { return !s.Failure })
		if len(bad) == 0 {
			bad = signs[:min(1, len(signs))]
		}
		out = append(out, bad[:min(signsOfTry, len(bad))]...)
	}
	return out[:min(signsOfAll, len(out))]
}
