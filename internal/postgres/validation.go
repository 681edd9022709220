package postgres

import (
	"context"
	"encoding/json"
	"reflect"
	"strings"

	"github.com/omoi-dev/omoi/internal/postgres/db"
	"github.com/omoi-dev/omoi/internal/task"
)

// roundsOf returns the maximum of validation rounds of a new task; 0: no validation. A request in the task takes
// precedence over its type and its project.
func roundsOf(ctx context.Context, q *db.Queries, d task.NewTask, projectID string) (int, error) {
	v := d.Validation
	asked := v.ByType && v.Able
	switch {
	case v.Asked != nil:
		asked = *v.Asked
	case !asked && v.Able && d.Mode == task.ModeImplementation:
		var err error
		if asked, err = q.ProjectValidates(ctx, projectID); err != nil {
			return 0, err
		}
	}
	if !asked {
		return 0, nil
	}
	return v.Rounds, nil
}

// spokenBefore returns the verdict that a sandbox gave before. Only the first verdict of a sandbox counts.
func spokenBefore(ctx context.Context, q *db.Queries, a task.CommandRequest, row db.Task, last *db.Attempt) (asked task.CommandResult, before bool, err error) {
	now := task.Status(row.Status)
	validator := a.Attempt && row.ValidationRounds > 0
	// after the end of a task, other verdicts are too late
	if a.Kind != task.CommandVerdict || a.SandboxID == "" || now.Final() && !validator {
		return asked, false, nil
	}
	given, found, err := maybe(q.AcceptedVerdict(ctx, db.AcceptedVerdictParams{TaskID: a.TaskID, SandboxID: a.SandboxID, IsForeign: !a.Attempt}))
	if !found || !a.Attempt && given.State != string(task.ReceiptAccepted) && judgesAgain(given, a, last) {
		return asked, false, err
	}
	if saysOK(given) && !now.Final() {
		now = task.StatusCompleted
	}
	return task.CommandResult{Command: commandRecord(given), Status: now}, true, nil
}

// judgesAgain reports whether a sandbox outside of the task gives a new verdict: with other content, on an attempt that
// began after its last verdict. A repeated request has the same content.
func judgesAgain(given db.Command, a task.CommandRequest, last *db.Attempt) bool {
	return last != nil && given.CreatedAt.Before(last.StartedAt) && !sameObject(given.Args, a.Args)
}

// validates reports whether an attempt is a validator.
func validates(a db.Attempt) bool { return a.Kind == task.KindValidation }

// handed reports whether pushed work waits for a verdict. This includes a task whose validator ended without one.
func handed(status string, last *db.Attempt) bool {
	now := task.Status(status)
	return now == task.StatusPendingValidation || now == task.StatusValidating ||
		last != nil && validates(*last) && last.Outcome != "rejected" && now == task.StatusPending
}

// roundsSoFar returns the number of verdicts in a result.
func roundsSoFar(result json.RawMessage) int {
	var n int
	_ = json.Unmarshal(readObject(result)["validation_iteration"], &n) // zero before the first
	return n
}

// openDemand returns the feedback of the newest verdict, if the work has not passed since.
func openDemand(result json.RawMessage) string {
	said := readObject(result)
	if said["revision_feedback"] == nil || said.yes("validation_passed") {
		return ""
	}
	return feedbackOf(object{"feedback": said["revision_feedback"], "recommendations": said["revision_recommendations"]})
}

// review is a verdict to apply.
type review struct {
	by   string
	args object
	ok   bool
}

// judge adds a verdict to the result and stores the validation round.
func (w *projecting) judge(ctx context.Context, result object, v review) error {
	applyVerdict(result, v.ok, v.args["feedback"], v.args["recommendations"])
	var round int
	if err := json.Unmarshal(result["validation_iteration"], &round); err != nil {
		return err
	}
	row := db.InsertReviewParams{
		TaskID: w.row.ID, Round: round, SandboxID: v.args.text("sandbox_id"), GivenBy: v.by, Passed: v.ok,
		Feedback: v.args.text("feedback"), Recommendations: textsOf(v.args["recommendations"]),
		Evidence: objectOf(v.args["evidence"]),
	}
	if row.Feedback == "" {
		row.Feedback = v.args.text("reason")
	}
	var err error
	if row.Attempt, err = w.judged(ctx, row.SandboxID); err != nil {
		return err
	}
	return w.q.InsertReview(ctx, row)
}

// judged returns the attempt of the validator that gave the verdict, else the judged attempt; 0 before the first.
func (w *projecting) judged(ctx context.Context, sandboxID string) (int, error) {
	if w.last != nil && w.last.Attempt.SandboxID == sandboxID {
		return w.last.Attempt.Number, nil
	}
	work, _, err := maybe(w.q.LastWorkAttempt(ctx, w.row.ID))
	return work.Number, err
}

// textsOf returns a list of strings unchanged, or an empty list.
func textsOf(raw json.RawMessage) json.RawMessage {
	var texts []string
	if json.Unmarshal(raw, &texts) != nil || len(texts) == 0 {
		return json.RawMessage(`[]`)
	}
	return raw
}

// objectOf returns a JSON object unchanged, or nil.
func objectOf(raw json.RawMessage) json.RawMessage {
	if len(readObject(raw)) == 0 {
		return nil
	}
	return raw
}

// reportedEvidence returns the fields of a validator's agent.completed that are the evidence of the verdict.
func reportedEvidence(reported object) object {
	evidence := object{}
	for _, name := range []string{"tests_passed", "code_pushed", "pr_created", "pr_url"} {
		if value, ok := reported[name]; ok {
			evidence[name] = value
		}
	}
	return evidence
}

func reviewRecord(r db.ValidationReview) task.Validation {
	out := task.Validation{
		Round: r.Round, SandboxID: r.SandboxID, Attempt: r.Attempt, By: r.GivenBy, Passed: r.Passed,
		Feedback: r.Feedback, Recommendations: []string{}, Evidence: r.Evidence, CreatedAt: r.CreatedAt,
	}
	_ = json.Unmarshal(r.Recommendations, &out.Recommendations) // omoi wrote the value
	return out
}

// forAttempt sets whether the newest attempt validates, and its feedback. The feedback of a retry stays for all attempts
// that the retry began, and open feedback of a verdict until the work passes, also over failed attempts.
func (s *Store) forAttempt(ctx context.Context, work *task.Work, row db.WorkRow) error {
	demand := openDemand(row.Task.Result)
	work.Rounds, work.Round = row.Task.ValidationRounds, roundsSoFar(row.Task.Result)+1
	if work.Validates = row.AttemptKind == task.KindValidation; work.Validates {
		work.Feedback = demand
		judged, _, err := maybe(s.q.LastWorkAttempt(ctx, work.TaskID))
		work.WorkSandbox, work.WorkHead = judged.SandboxID, task.Deref(judged.HeadCommit)
		return err
	}
	for _, open := range []string{row.RetryFeedback, demand} {
		if !strings.Contains(work.Feedback, open) {
			work.Feedback = strings.TrimSpace(open + "\n\n" + work.Feedback)
		}
	}
	var err error
	work.Answers, err = s.answers(ctx, work.TaskID, work.Attempt)
	return err
}

// attemptOf returns the sandbox of a verdict if it belongs to an attempt of the task; empty otherwise. Such a verdict
// counts only while that attempt is the current one.
func attemptOf(ctx context.Context, q *db.Queries, taskID, sandboxID string) (string, error) {
	if sandboxID == "" {
		return "", nil
	}
	if ok, err := q.IsAttempt(ctx, taskID, sandboxID); err != nil || !ok {
		return "", err
	}
	return sandboxID, nil
}

// addAccepted adds the verdict whose work is being published. The verdict is stored with the others after publishing.
func (s *Store) addAccepted(ctx context.Context, t *task.Task) error {
	row, found, err := maybe(s.q.AcceptedPass(ctx, t.ID))
	if !found {
		return translate("read the verdict on task "+t.ID, err)
	}
	args := readObject(row.Args)
	r := task.Validation{
		Round: len(t.Reviews) + 1, Passed: true, SandboxID: args.text("sandbox_id"), By: row.Sender,
		Feedback: args.text("feedback"), Recommendations: []string{}, Evidence: objectOf(args["evidence"]), CreatedAt: row.CreatedAt,
	}
	for _, a := range t.Attempts {
		if a.Kind != task.KindValidation || a.SandboxID == r.SandboxID {
			r.Attempt = a.Number
		}
	}
	t.Reviews = append(t.Reviews, r)
	return nil
}

// sameObject reports whether two JSON texts have equal values.
func sameObject(one, other json.RawMessage) bool {
	var a, b any
	return json.Unmarshal(one, &a) == nil && json.Unmarshal(other, &b) == nil && reflect.DeepEqual(a, b)
}
