package claude

import (
	"cmp"
	"encoding/json"
	"maps"
	"os"
	"path/filepath"

	"github.com/omoi-dev/omoi/internal/agent/diff"
	"github.com/omoi-dev/omoi/internal/agent/textcut"
	"github.com/omoi-dev/omoi/internal/event"
)

// Maximum bytes of a tool's result and response in events.
const (
	resultBytes   = 5000
	responseBytes = 256 << 10
)

// call is a running tool call.
type call struct {
	name   string
	parent string // ID of the call that started the sub-agent; empty: the main agent
	input  json.RawMessage
	in     input
}

// input has the fields of tool inputs that events name.
type input struct {
	SubagentType string `json:"subagent_type"`
	Description  string `json:"description"`
	Prompt       string `json:"prompt"`
	Skill        string `json:"skill"`
	Command      string `json:"command"`
	FilePath     string `json:"file_path"`
}

// answer is the program's structured tool result, next to the text for the model.
//
//nolint:tagliatelle // the program's names
type answer struct {
	Size     int             `json:"persistedOutputSize"` // full length of an output that the program keeps in a file
	Path     string          `json:"filePath"`
	Original *string         `json:"originalFile"`
	Async    bool            `json:"isAsync"`
	Status   string          `json:"status"`
	Content  json.RawMessage `json:"content"`
	Usage    json.RawMessage `json:"usage"`
	MS       int64           `json:"totalDurationMs"`
}

func isSubagent(name string) bool { return name == "Task" || name == "Agent" }

// called reports a tool call.
func (r *recorder) called(l *line, b block) {
	c := &call{name: b.Name, parent: l.Parent, input: b.Input}
	_ = json.Unmarshal(b.Input, &c.in) // fields of an unexpected type stay empty
	r.tools[b.ID] = c
	r.idle()
	r.busy = r.env.Doing.Tool(b.Name)
	kind, data := event.AgentToolUse, map[string]any{
		"tool": b.Name, "tool_use_id": b.ID, "input": anything(b.Input), "event_subtype": "tool_use",
	}
	switch {
	case isSubagent(b.Name):
		kind = event.AgentSubagentInvoked
		data["subagent_type"], data["subagent_description"], data["subagent_prompt"] = c.in.SubagentType, c.in.Description, c.in.Prompt
	case b.Name == "Skill":
		kind, data["skill_name"] = event.AgentSkillInvoked, cmp.Or(c.in.Skill, c.in.Command)
	}
	r.emit(kind, l, data)
}

// idle clears the tool in heartbeats.
func (r *recorder) idle() {
	if r.busy != nil {
		r.busy()
		r.busy = nil
	}
}

// forget drops calls that will not end, so that heartbeats do not name them. Only calls of a background sub-agent
// continue after a turn.
func (r *recorder) forget() {
	r.idle()
	maps.DeleteFunc(r.tools, func(_ string, c *call) bool { return c.parent == "" || len(r.behind) == 0 })
}

// result reports a tool's result: the response, the changed files, and the text with its full length.
func (r *recorder) result(l *line, b block) {
	c := r.tools[b.ToolUseID]
	delete(r.tools, b.ToolUseID)
	if c == nil {
		c = &call{}
	}
	r.idle()
	if c.parent == "" { // the transcript has the calls of the main agent only
		r.env.Doing.Complete(b.ToolUseID)
	}
	for _, other := range r.tools {
		r.busy = r.env.Doing.Tool(other.name)
	}
	text := plain(b.Content)
	if b.IsError {
		r.place.Errors++
	}
	var own answer
	_ = json.Unmarshal(l.Tool, &own) // a text instead of an object has no fields
	r.completed(l, b.ToolUseID, c, own)
	if changes(c.name) {
		r.look(l, b.ToolUseID)
		r.ignored(l, b, c, own)
	}
	cut, full := textcut.First(text, resultBytes), max(len(text), l.Bytes, own.Size)
	r.emit(event.AgentToolResult, l, map[string]any{
		"tool": c.name, "tool_use_id": b.ToolUseID, "result": cut, "result_truncated": len(cut) < full,
		"result_full_length": full, "is_error": b.IsError,
	})
	if l.Type == "user" { // the legacy contract requires a second event for user messages
		r.emit(event.AgentUserToolResult, l, map[string]any{"tool_use_id": b.ToolUseID, "result": cut, "result_truncated": len(cut) < len(text)})
	}
}

func (r *recorder) completed(l *line, id string, c *call, own answer) {
	kind, data := event.AgentToolCompleted, map[string]any{
		"tool": c.name, "tool_use_id": id, "tool_input": anything(c.input), "tool_response": anything(l.Tool),
	}
	if len(l.Tool) > responseBytes {
		data["tool_response"] = textcut.First(string(l.Tool), resultBytes)
		data["tool_response_truncated"], data["tool_response_full_length"] = true, len(l.Tool)
	}
	switch {
	case isSubagent(c.name) && (own.Async || own.Status == "async_launched"): // it runs in the background
		r.away[id] = c
		return
	case isSubagent(c.name):
		kind = event.AgentSubagentCompleted
		subagent(data, own, c.in)
	case c.name == "Skill":
		kind, data["skill_name"] = event.AgentSkillCompleted, cmp.Or(c.in.Skill, c.in.Command)
	}
	r.emit(kind, l, data)
}

// back reports the end of a background sub-agent.
func (r *recorder) back(l *line) {
	c := r.away[l.ToolID]
	if c == nil {
		return
	}
	delete(r.away, l.ToolID)
	data := map[string]any{"tool": c.name, "tool_use_id": l.ToolID, "tool_input": anything(c.input), "tool_response": nil}
	subagent(data, answer{}, c.in)
	data["subagent_result"], data["subagent_usage"], data["subagent_status"] = l.Summary, anything(l.Usage), l.Status
	r.emit(event.AgentSubagentCompleted, l, data)
}

func subagent(data map[string]any, own answer, in input) {
	data["subagent_type"], data["description"], data["subagent_prompt"] = in.SubagentType, in.Description, in.Prompt
	data["subagent_result"], data["subagent_usage"] = plain(own.Content), anything(own.Usage)
	data["subagent_cost_usd"], data["subagent_duration_ms"] = nil, own.MS
}

// changes reports whether a tool may change files. An unknown tool may.
func changes(name string) bool {
	switch name {
	case "Read", "Glob", "Grep", "WebFetch", "WebSearch", "TodoWrite", "Skill", "ToolSearch", "TaskList", "TaskGet", "TaskCreate", "TaskUpdate":
		return false
	}
	return true
}

func (r *recorder) edited(l *line, c diff.Change, id string) {
	r.files[c.Path] = true
	r.place.Files = max(r.place.Files, len(r.files))
	r.emit(event.AgentFileEdited, l, c.Data(r.place.Turn, id))
}

// ignored reports an edit that the comparison of the work tree cannot find, for example of a file that git ignores,
// from the tool's own data.
func (r *recorder) ignored(l *line, b block, c *call, own answer) {
	if b.IsError || (c.name != "Write" && c.name != "Edit") || own.Path == "" {
		return
	}
	path, err := filepath.Rel(r.env.Config.Workspace, own.Path)
	if err != nil || !filepath.IsLocal(path) {
		path = own.Path
	}
	if r.seen[filepath.ToSlash(path)] {
		return
	}
	if after, ok := readText(own.Path); ok {
		r.edited(l, diff.Text(filepath.ToSlash(path), own.Original, &after), b.ToolUseID)
	}
}

const maxFileBytes = 16 << 20

// readText reads a regular file of at most maxFileBytes.
func readText(path string) (string, bool) {
	info, err := os.Lstat(path)
	if err != nil || !info.Mode().IsRegular() || info.Size() > maxFileBytes {
		return "", false
	}
	text, err := os.ReadFile(path)
	return string(text), err == nil
}
