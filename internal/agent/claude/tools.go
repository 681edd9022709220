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

// Bounds of what is reported of a tool.
const (
	resultBytes   = 5000
	responseBytes = 256 << 10
)

// call is a tool that was called and has not answered.
type call struct {
	name   string
	parent string // of a sub-agent: the call that began it
	input  json.RawMessage
	in     input
}

// input are the fields of inputs that events name.
type input struct {
	SubagentType string `json:"subagent_type"`
	Description  string `json:"description"`
	Prompt       string `json:"prompt"`
	Skill        string `json:"skill"`
	Command      string `json:"command"`
	FilePath     string `json:"file_path"`
}

// answer is what the program says itself of what a tool came to, beside the text for the model.
//
//nolint:tagliatelle // the program's names
type answer struct {
	Size     int             `json:"persistedOutputSize"` // of an output that the program keeps in a file, showing only its beginning
	Path     string          `json:"filePath"`
	Original *string         `json:"originalFile"`
	Async    bool            `json:"isAsync"`
	Status   string          `json:"status"`
	Content  json.RawMessage `json:"content"`
	Usage    json.RawMessage `json:"usage"`
	MS       int64           `json:"totalDurationMs"`
}

func isSubagent(name string) bool { return name == "Task" || name == "Agent" }

// called reports a call of a tool.
func (r *recorder) called(l *line, b block) {
	c := &call{name: b.Name, parent: l.Parent, input: b.Input}
	_ = json.Unmarshal(b.Input, &c.in) // a field of another form says nothing
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

// idle clears the tool in heartbeats, unless another tool is still running.
func (r *recorder) idle() {
	if r.busy != nil {
		r.busy()
		r.busy = nil
	}
}

// forget drops the calls that nothing will answer any more: heartbeats must not name them. Only
// a sub-agent in the background outlives a turn.
func (r *recorder) forget() {
	r.idle()
	maps.DeleteFunc(r.tools, func(_ string, c *call) bool { return c.parent == "" || len(r.behind) == 0 })
}

// result reports what a tool answered: what it did, the files that it changed, and its text,
// which is cut, with its full length.
func (r *recorder) result(l *line, b block) {
	c := r.tools[b.ToolUseID]
	delete(r.tools, b.ToolUseID)
	if c == nil {
		c = &call{}
	}
	r.idle()
	for _, other := range r.tools {
		r.busy = r.env.Doing.Tool(other.name)
	}
	text := plain(b.Content)
	if b.IsError {
		r.place.Errors++
	}
	var own answer
	_ = json.Unmarshal(l.Tool, &own) // a text instead of an object says no more
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
	if l.Type == "user" { // again, as the legacy contract names the content of a user message
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
	case isSubagent(c.name) && (own.Async || own.Status == "async_launched"): // it works in the background
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

// back reports that a sub-agent in the background has ended.
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

// changes reports whether a tool may have changed files. One that is not known may.
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

// ignored reports an edit that the look at the work tree cannot see, such as of a file that git
// ignores, by what the tool itself says of it.
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

// readText reads a regular file of the work; what is anything else has no text.
func readText(path string) (string, bool) {
	info, err := os.Lstat(path)
	if err != nil || !info.Mode().IsRegular() || info.Size() > maxFileBytes {
		return "", false
	}
	text, err := os.ReadFile(path)
	return string(text), err == nil
}
