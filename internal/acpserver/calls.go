package acpserver

import (
	"cmp"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"github.com/omoi-dev/omoi/api/client"
	"github.com/omoi-dev/omoi/internal/cli/render"
	"github.com/omoi-dev/omoi/internal/event"
)

// callID returns the ID of a tool call, which is unique in its attempt only, for a session.
func callID(e client.Event, d data) string {
	return e.SandboxID + ":" + cmp.Or(d.Call, strconv.FormatInt(e.Sequence, 10))
}

// call reports that a tool runs. The list of to-dos of Claude Code is a plan.
func (r *reader) call(e client.Event, d data) {
	todos := event.Read[struct {
		Todos []struct {
			Content string `json:"content"`
			Status  string `json:"status"`
		} `json:"todos"`
	}](d.Input).Todos
	if d.Tool == "TodoWrite" && len(todos) > 0 {
		entries := make([]any, len(todos))
		for i, todo := range todos {
			entries[i] = map[string]any{"content": todo.Content, "priority": "medium", "status": todo.Status}
		}
		r.update("plan", map[string]any{"entries": entries})
		return
	}
	id := callID(e, d)
	r.calls[id] = true
	fields := map[string]any{
		"toolCallId": id, "title": cmp.Or(render.Brief(e.Type, e.Data), "Tool"), "kind": kindOf(d.Tool), "status": "in_progress",
	}
	if len(d.Input) > 0 {
		fields["rawInput"] = d.Input
	}
	r.update("tool_call", fields)
}

// result reports the end of a tool call. Some results have two events.
func (r *reader) result(e client.Event, d data) {
	id := callID(e, d)
	if !r.calls[id] {
		return
	}
	status := "completed"
	if d.Failed {
		status = "failed"
	}
	r.ended(id, status, d.Result)
}

func (r *reader) ended(id, status, output string) {
	delete(r.calls, id)
	fields := map[string]any{"toolCallId": id, "status": status}
	if output != "" {
		fields["content"] = content(fenced("", strings.TrimRight(output, "\n")))
	}
	r.update("tool_call_update", fields)
}

// closeCalls reports tool calls whose result will not come, since the agent has ended or stopped.
func (r *reader) closeCalls() {
	for id := range r.calls {
		r.ended(id, "failed", "")
	}
}

// edited reports a change of a file in the sandbox.
func (r *reader) edited(e client.Event, d data) {
	fields := map[string]any{
		"toolCallId": e.ID, "title": "Changed " + render.OneLine(d.Path, 200),
		"kind": "edit", "status": "completed",
	}
	if d.Diff != "" {
		fields["content"] = content(fenced("diff", strings.TrimRight(d.Diff, "\n")))
	}
	r.update("tool_call", fields)
}

// nameWords matches the words of the name of a tool, such as WebFetch or read_file.
var nameWords = regexp.MustCompile(`[A-Z]?[a-z]+|[A-Z]+`)

// kindOf returns the kind of a tool, by which editors choose its icon.
func kindOf(tool string) string {
	words := nameWords.FindAllString(tool, -1)
	for _, kind := range []struct{ kind, words string }{
		{"execute", "bash shell exec execute command terminal"},
		{"edit", "edit editor multiedit write todowrite patch"},
		{"read", "read view cat"},
		{"search", "grep glob search websearch find ls"},
		{"fetch", "fetch webfetch web"},
		{"think", "task think agent"},
	} {
		for word := range strings.FieldsSeq(kind.words) {
			if slices.ContainsFunc(words, func(w string) bool { return strings.EqualFold(w, word) }) {
				return kind.kind
			}
		}
	}
	return "other"
}
