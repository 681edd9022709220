package command

import (
	"maps"
	"slices"

	"github.com/omoi-dev/omoi/internal/event"
)

// ends records the end in a line. It returns false for the outcome of the whole task, which is reported after the work
// was validated. The first one counts.
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
		return !fails(e) // told, it would be the end of the attempt
	}
	return !final
}

// said is what a program tells of its end, without what is not known by its word alone: tests that omoi did not run were not
// passed but said to be, and the pull request is omoi's own.
func said(data map[string]any) map[string]any {
	own := maps.Clone(data)
	maps.DeleteFunc(own, func(name string, _ any) bool {
		return slices.Contains([]string{"tests_passed", "tests_run", "changed_nothing", "pr_created", "pr_url", "pr_number"}, name)
	})
	if data["tests_passed"] == true {
		own["tests_said"] = true
	}
	return own
}

// gaveUp is what the program said at the end of a round that came to nothing; ok is false if it said no such thing.
func (r *recorder) gaveUp() (text string, ok bool) {
	r.mu.Lock()
	defer r.mu.Unlock()
	return "The program said that its work is not done. " + r.said, r.outcome == nil && r.ended != nil && fails(r.ended)
}

// fails reports whether an outcome is that the work is not done.
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

// whole is the data of agent.completed, with what the program does not say. Whose agent it is the program does not decide:
// the end of a validator is a verdict.
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

// claim is the outcome that the program has told by a line; nil: it has told none.
func (r *recorder) claim() *eventLine {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.outcome
}

// saidSo reports whether the program has said itself that its iteration is complete, or all.
func (r *recorder) saidSo() bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.ended != nil || r.outcome != nil
}

// completion is the data of the end of a run that went well: what the program said, and what is known of it.
func (r *recorder) completion(known map[string]any) map[string]any {
	r.mu.Lock()
	defer r.mu.Unlock()
	data := r.whole(known)
	maps.Copy(data, r.place.Spent.plus(r.now).data())
	return data
}
