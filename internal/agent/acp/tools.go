package acp

import (
	"cmp"
	"encoding/json"
	"maps"
	"slices"
	"strings"

	"github.com/omoi-dev/omoi/internal/agent/textcut"
	"github.com/omoi-dev/omoi/internal/event"
	"github.com/omoi-dev/omoi/internal/jsonrpc"
)

const (
	responseBytes = 256 << 10 // bytes of a tool's structured result in an event
)

// call is a running tool call. Agents send it in pieces.
type call struct {
	name, title, kind string
	input, output     json.RawMessage
	text              string // beginning of the result
	full              int    // bytes of the whole result
	exit              *int
	told              bool   // agent.tool_use was reported
	idle              func() // clears the tool in heartbeats
}

// tool folds a message about a tool call into one call, and reports its start and end once each.
func (r *recorder) tool(u update) {
	r.flush(false)
	c := r.calls[u.ID]
	if c == nil {
		if ended(u.Status) && r.over[u.ID] {
			return
		}
		c = &call{}
		r.calls[u.ID] = c
		r.round()
		r.turn.calls, r.turn.idle, r.turn.notice = r.turn.calls+1, 0, ""
		c.idle = r.env.Doing.Tool(cmp.Or(u.tool(), u.ToolKind, "tool"))
	}
	c.fold(u)
	if u.Status != "" && u.Status != "pending" {
		r.use(u.ID, c)
	}
	if ended(u.Status) {
		r.end(u.ID, c, u.Status == "failed")
	}
}

func ended(status string) bool { return status == "completed" || status == "failed" }

// fold takes what a message adds to a call.
func (c *call) fold(u update) {
	c.name, c.title, c.kind = cmp.Or(c.name, u.tool()), cmp.Or(u.Title, c.title), cmp.Or(u.ToolKind, c.kind)
	if input := jsonrpc.Into[map[string]any](u.Input); len(input) > 0 {
		c.input = u.Input
	}
	if len(u.Output) > 0 {
		c.output = u.Output
	}
	if text := u.result(); text != "" {
		c.text, c.full = strings.Clone(textcut.First(text, resultBytes)), len(text)
	}
	if c.full == len(c.text) {
		c.text += textcut.First(u.Meta.Piece.Data, resultBytes-len(c.text))
	}
	c.full += len(u.Meta.Piece.Data)
	if code, known := u.exit(); known {
		c.exit = &code
	}
}

// arguments returns the input of a call. An agent that sends none has a title for it.
func (c *call) arguments() any {
	if len(c.input) > 0 {
		return jsonrpc.Into[any](c.input)
	}
	return map[string]any{"title": c.title}
}

func (c *call) tool() string { return cmp.Or(c.name, c.kind, "tool") }

// use reports the start of a call, once its input is known.
func (r *recorder) use(id string, c *call) {
	if c.told {
		return
	}
	c.told = true
	r.emit(event.AgentToolUse, map[string]any{"tool": c.tool(), "tool_use_id": id, "input": c.arguments(), "event_subtype": "tool_use"})
}

// useAll reports the calls whose input has come: agents that send it in pieces send the pieces in a row.
func (r *recorder) useAll() {
	for _, id := range slices.Sorted(maps.Keys(r.calls)) {
		if c := r.calls[id]; len(c.input) > 0 {
			r.use(id, c)
		}
	}
}

// end reports the end of a call, the files that changed, and its result. A command that fails is an error, whatever the
// agent calls it.
func (r *recorder) end(id string, c *call, failed bool) {
	failed = r.completed(id, c, failed)
	r.look(id)
	r.result(id, c, failed)
}

// completed reports the end of a call, and returns whether the call failed.
func (r *recorder) completed(id string, c *call, failed bool) bool {
	delete(r.calls, id)
	r.over[id] = true
	c.idle()
	for _, other := range r.calls {
		other.idle = r.env.Doing.Tool(other.tool())
	}
	r.begun = false
	r.env.Doing.Complete(id)
	failed = failed || c.exit != nil && *c.exit != 0
	if failed {
		r.place.Errors++
	}
	done := map[string]any{"tool": c.tool(), "tool_use_id": id, "tool_input": c.arguments(), "tool_response": jsonrpc.Into[any](c.output)}
	if len(c.output) > responseBytes {
		done["tool_response"], done["tool_response_truncated"], done["tool_response_full_length"] = textcut.First(string(c.output), resultBytes), true, len(c.output)
	}
	r.emit(event.AgentToolCompleted, done)
	return failed
}

// result reports what a call returned.
func (r *recorder) result(id string, c *call, failed bool) {
	cut := textcut.First(c.text, resultBytes)
	r.emit(event.AgentToolResult, map[string]any{
		"tool": c.tool(), "tool_use_id": id, "result": cut, "result_truncated": len(cut) < c.full, "result_full_length": c.full, "is_error": failed,
	})
	r.log.Note(entry{Role: "tool", Tool: c.tool(), Text: textcut.First(cmp.Or(c.title, c.text), resultBytes)})
}

// closeCalls ends calls that the agent will not report any more.
func (r *recorder) closeCalls() {
	for _, id := range slices.Sorted(maps.Keys(r.calls)) {
		c := r.calls[id]
		r.use(id, c)
		const unknown = "[unknown: the agent stopped before the end of this call] "
		c.text, c.full = unknown+c.text, c.full+len(unknown)
		r.result(id, c, r.completed(id, c, true)) // settle compares the work tree once for all
	}
}
