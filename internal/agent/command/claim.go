package command

import (
	"maps"
	"slices"

	"github.com/omoi-dev/omoi/internal/event"
)

// ends records the end in a line, and reports whether the line becomes an event now. The outcome of the whole task
// becomes an event after the validation. If there are several, the first one counts.
func (r *recorder) ends(e *eventLine) bool {
	final := event.Ends(e.Type, r.env.Config.Continuous)
	if final && r.outcome != nil {
		return false
	}
	if event.Is(e.Type, event.Completion) {
		e.Data = said(e.Data)
		r.now = r.now.over(tokensOf(e.Data))
		r.now.Cost = max(r.now.Cost, number(e.Data["cost_usd"]))
		if text, ok := e.Data["final_output"].(string); ok {
			r.said = text
		}
	}
	switch {
	case final:
		r.outcome = e
		r.told <- struct{}{}
	case e.Type == event.AgentCompleted:
		e.Data = r.whole(e.Data)
		r.ended = e
		return !fails(e) // as an event, a failure would end the attempt
	}
	return !final
}

// said returns a program's data of its end without fields that omoi determines: the result of tests that omoi did not
// run becomes tests_said, and the pull request is omoi's own.
func said(data map[string]any) map[string]any {
	own := maps.Clone(data)
	maps.DeleteFunc(own, func(name string, _ any) bool {
		return slices.Contains([]string{"tests_passed", "tests_run", "changed_nothing", "committed_by_omoi", "pr_created", "pr_url", "pr_number"}, name)
	})
	if data["tests_passed"] == true {
		own["tests_said"] = true
	}
	return own
}

// gaveUp returns the program's text at the end of a failed iteration; ok is false if the program reported no such end.
func (r *recorder) gaveUp() (text string, ok bool) {
	r.mu.Lock()
	defer r.mu.Unlock()
	return "The program said that its work is not done. " + r.said, r.outcome == nil && r.ended != nil && fails(r.ended)
}

// fails reports whether an outcome says that the work is not done.
func fails(e *eventLine) bool {
	switch e.Type {
	case event.AgentCompleted:
		success, said := e.Data["success"]
		return said && success != true
	case event.ContinuousCompleted:
		return e.Data["validation_passed"] != true
	}
	return true
}

// whole returns the data of agent.completed, with values for fields that the program does not set. agent_type is always
// omoi's: the end of a validator counts as a verdict.
func (r *recorder) whole(said map[string]any) map[string]any {
	data := map[string]any{
		"success": true, "turns": r.place.Turn, "session_id": r.env.SessionID, "stop_reason": "end_turn", "final_output": r.said,
		"branch_name": r.env.Branch(), "files_changed": r.place.Files,
	}
	maps.Copy(data, r.place.Spent.plus(r.now).data())
	maps.Copy(data, said)
	data["agent_type"] = r.env.AgentType()
	return data
}

// claim returns the outcome that the program reported by a line; nil: none.
func (r *recorder) claim() *eventLine {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.outcome
}

// saidSo reports whether the program reported the end of its iteration or of the task.
func (r *recorder) saidSo() bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.ended != nil || r.outcome != nil
}

// completion returns the data of a successful end: the program's own data and known.
func (r *recorder) completion(known map[string]any) map[string]any {
	r.mu.Lock()
	defer r.mu.Unlock()
	data := r.whole(known)
	maps.Copy(data, r.place.Spent.plus(r.now).data())
	return data
}
