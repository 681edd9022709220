package postgres

import (
	"cmp"
	"context"
	"encoding/json"
	"maps"
	"time"

	"github.com/omoi-dev/omoi/internal/contract"
	"github.com/omoi-dev/omoi/internal/event"
	"github.com/omoi-dev/omoi/internal/postgres/db"
	"github.com/omoi-dev/omoi/internal/task"
)

// object is a JSON object with undecoded values.
type object map[string]json.RawMessage

func readObject(raw json.RawMessage) object {
	var o object
	if json.Unmarshal(raw, &o) != nil {
		return nil
	}
	return o
}

// jsonOf returns the JSON form of a value of strings, numbers and decoded JSON, which always has one.
func jsonOf(value any) json.RawMessage {
	raw, _ := json.Marshal(value) //nolint:errchkjson // see above
	return raw
}

func (o object) set(key string, value any) { o[key] = jsonOf(value) }

// take copies a value under another name, unless it is null or an empty string.
func (o object) take(from object, key, as string) {
	if raw := from[key]; len(raw) > 0 && string(raw) != "null" && string(raw) != `""` {
		o[as] = raw
	}
}

func (o object) text(key string) string {
	var s string
	_ = json.Unmarshal(o[key], &s) // empty if the value is not a string
	return s
}

func (o object) yes(key string) bool {
	var b bool
	_ = json.Unmarshal(o[key], &b) // false if the value is not a boolean
	return b
}

// readCompletions reads the newest agent.completed and continuous.completed of an attempt that ends, or of the last
// attempt of a task that completes.
func (w *projecting) readCompletions(ctx context.Context) error {
	if w.last == nil || (w.p.Ended == nil && w.p.Status != task.StatusCompleted) {
		return nil
	}
	return w.completionsOf(ctx, w.last.Sandbox.ID)
}

func (w *projecting) completionsOf(ctx context.Context, sandboxID string) error {
	rows, err := w.q.Decisive(ctx, sandboxID, event.Types(event.Completion))
	for _, r := range rows {
		if r.EventType == event.ContinuousCompleted {
			w.continuous = readObject(r.EventData)
		} else {
			w.agent = readObject(r.EventData)
		}
	}
	return err
}

// stopReason returns the stop reason that the agent reported.
func (w *projecting) stopReason() string {
	const most = 200
	reason := cmp.Or(w.continuous.text("stop_reason"), w.agent.text("stop_reason"))
	return storable(firstRunes(reason, most))
}

// result returns the task's result after this projection, nil if it does not change. The result combines executed
// commands and, at completion, the report of the agent.
func (w *projecting) result(ctx context.Context) (json.RawMessage, error) {
	before := readObject(w.row.Result)
	after := maps.Clone(before)
	if after == nil {
		after = object{}
	}
	judged, err := w.applyCommands(ctx, after)
	if err != nil {
		return nil, err
	}
	if !judged && w.judgedByEvent() {
		said := object{"feedback": w.agent["validation_feedback"], "sandbox_id": jsonOf(w.last.Sandbox.ID)}
		said.set("evidence", reportedEvidence(w.agent))
		if err := w.judge(ctx, after, review{by: w.last.Sandbox.ID, args: said, ok: w.agent.yes("validation_passed")}); err != nil {
			return nil, err
		}
	}
	if w.p.Status == task.StatusCompleted {
		if err := w.applyCompletion(ctx, after); err != nil {
			return nil, err
		}
	}
	if len(after) == 0 {
		return nil, nil
	}
	return jsonOf(after), nil
}

// applyCommands adds the executed completions and verdicts to the result, and reports whether a verdict was among them.
func (w *projecting) applyCommands(ctx context.Context, result object) (judged bool, err error) {
	var ids []string
	for _, c := range w.p.Settle {
		if c.Receipt == task.ReceiptCarriedOut {
			ids = append(ids, c.CommandID)
		}
	}
	if len(ids) == 0 {
		return false, nil
	}
	commands, err := w.q.TaskCommands(ctx, w.row.ID, ids)
	for _, c := range commands {
		args := readObject(c.Args)
		switch c.Kind {
		case contract.CommandComplete:
			maps.Copy(result, readObject(args["result"]))
		case contract.CommandVerdict:
			judged = true
			if err := w.judge(ctx, result, review{by: c.Sender, args: args, ok: saysOK(c)}); err != nil {
				return judged, err
			}
		}
	}
	return judged, err
}

func applyVerdict(result object, passed bool, feedback, recommendations json.RawMessage) {
	var iteration int
	_ = json.Unmarshal(result["validation_iteration"], &iteration) // zero before the first
	result.set("validation_iteration", iteration+1)
	result.set("validation_passed", passed)
	if passed {
		result.set("validated_at", time.Now().UTC().Truncate(time.Second))
		return
	}
	said := object{"feedback": feedback, "recommendations": recommendations}
	result.take(said, "feedback", "revision_feedback")
	result.take(said, "recommendations", "revision_recommendations")
}

// judgedByEvent reports whether the ending attempt reported a verdict. A validator that is retried reported none.
func (w *projecting) judgedByEvent() bool {
	if w.p.Ended == nil || w.agent.text("agent_type") != "validator" {
		return false
	}
	own := validates(w.last.Attempt)
	if w.row.ValidationRounds > 0 && !own {
		return false
	}
	return !own || w.p.Ended.Outcome == "rejected" || w.p.Ended.Outcome == "completed"
}

// applyCompletion adds what the working agent reported at its end. Unreported fields are absent.
func (w *projecting) applyCompletion(ctx context.Context, result object) error {
	if w.last != nil && validates(w.last.Attempt) {
		if err := w.readWorkers(ctx); err != nil {
			return err
		}
	}
	pushed, err := w.q.Pushed(ctx, w.row.ID)
	if err != nil {
		return err
	}
	told := object{}
	for _, from := range []object{w.agent, w.continuous} {
		for _, key := range []string{"turns", "cost_usd", "session_id", "stop_reason", "branch_name"} {
			told.take(from, key, key)
		}
		told.take(from, "final_output", "output")
		if from.yes("changed_nothing") && !pushed {
			told.set("changed_nothing", true)
		}
	}
	if _, known := told["cost_usd"]; !known {
		told.take(w.continuous, "total_cost_usd", "cost_usd")
	}
	told.take(object{"b": jsonOf(cmp.Or(w.p.Branch, task.Deref(w.row.BranchName)))}, "b", "branch_name")
	told.set("success", true)
	if w.continuous.yes("validation_passed") {
		told.set("validation_passed", true)
		told.set("validation_type", "in_sandbox")
	}
	if made := w.artifacts(); len(made) > 0 {
		told.set("artifacts", made)
	}
	maps.Copy(result, told)
	return nil
}

// readWorkers reads the completion of the newest attempt that is not a validator.
func (w *projecting) readWorkers(ctx context.Context) error {
	w.agent, w.continuous = nil, nil
	at, found, err := maybe(w.q.LastWorkAttempt(ctx, w.row.ID))
	if !found {
		return err
	}
	return w.completionsOf(ctx, at.SandboxID)
}

// artifacts returns the published changes and the passed tests. Coverage is not included, because omoi does not measure
// coverage.
func (w *projecting) artifacts() []object {
	said := object{}
	for _, from := range []object{w.agent, w.continuous} {
		for _, key := range []string{
			"code_pushed", "pr_created", "pr_url", "pr_number", "files_changed", "tests_passed", "branch_name", "ci_status",
		} {
			said.take(from, key, key)
		}
	}
	if w.p.PullURL != "" {
		said.set("pr_created", true)
		said.set("pr_url", w.p.PullURL)
		said.set("pr_number", w.p.PullNumber)
	}
	var made []object
	if said.yes("code_pushed") || said.yes("pr_created") {
		made = append(made, changes(said))
	}
	if said.yes("tests_passed") {
		tests := object{"type": jsonOf("test_coverage"), "all_passed": jsonOf(true), "has_tests": jsonOf(true)}
		tests.take(said, "ci_status", "checks")
		made = append(made, tests)
	}
	return made
}

func changes(said object) object {
	made := object{"type": jsonOf("code_changes")}
	made.take(said, "pr_url", "path")
	made.set("has_tests", said.yes("tests_passed"))
	for _, key := range []string{"branch_name", "pr_created", "pr_url", "pr_number", "files_changed"} {
		made.take(said, key, key)
	}
	return made
}

// saysOK returns whether a completion succeeded (default true) or a verdict passed (default false).
func saysOK(c db.Command) bool {
	args := readObject(c.Args)
	for _, key := range []string{"passed", "success", "ok"} {
		if _, said := args[key]; said {
			return args.yes(key)
		}
	}
	return c.Kind == contract.CommandComplete
}
