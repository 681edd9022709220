package supervise

import (
	"cmp"
	"encoding/json"
	"slices"
	"strings"
	"time"

	"github.com/omoi-dev/omoi/internal/event"
	"github.com/omoi-dev/omoi/internal/shellcmd"
)

// Maximum bytes of a text and of a command that are kept of an event.
const (
	maxText    = 400
	maxCommand = 300
)

// Read reads stored events in any order. The argument now is the current time of the clock that dated the events. Read
// keeps only the newest heartbeat, and of each event only what the rules use.
func (s *Subject) Read(rows []event.Event, now time.Time) {
	rows = slices.SortedFunc(slices.Values(rows), func(a, b event.Event) int { return cmp.Compare(a.Sequence, b.Sequence) })
	r := reader{s: s, now: now, tests: map[string]bool{}, parsed: map[string][]shellcmd.Command{}, checks: checksOf(s.TestCommand), said: slices.Clone(s.Said), allows: map[string]bool{}}
	for _, m := range s.Said {
		r.allows[m.Allows] = m.Allows != ""
	}
	s.Events, s.Beat, s.Seen = make([]Event, 0, len(rows)), nil, Seen{Count: len(rows)}
	for i := range rows {
		r.row(&rows[i])
	}
	if len(rows) > 0 {
		s.Seen.First, s.Seen.Last = rows[0].Sequence, rows[len(rows)-1].Sequence
	}
}

type reader struct {
	s      *Subject
	now    time.Time
	checks []string        // commands of the task's test command
	tests  map[string]bool // by call ID: the call runs tests
	parsed map[string][]shellcmd.Command
	said   []Said          // messages that no event has reported yet
	allows map[string]bool // refusals that a stored message allows, and that no event has reported yet
	result string          // tool_use_id of the newest result
}

// fields holds all fields that are read from the data of an event. If a field has an unexpected type, the other fields
// stay.
type fields struct {
	ToolUseID string          `json:"tool_use_id"`
	Refusal   string          `json:"refusal"`
	Tool      string          `json:"tool"`
	Input     json.RawMessage `json:"input"`
	Result    string          `json:"result"`
	IsError   bool            `json:"is_error"`
	Response  json.RawMessage `json:"tool_response"`

	Content string `json:"content"`
	Error   string `json:"error"`
	Type    string `json:"message_type"`
	Message string `json:"message_id"`
	Output  string `json:"final_output"`
	Success *bool  `json:"success"`
	Passed  *bool  `json:"validation_passed"`
	Stop    string `json:"stop_reason"`

	Path    string `json:"file_path"`
	OldPath string `json:"old_path"`
	Change  string `json:"change_type"`
	Added   int    `json:"lines_added"`
	Removed int    `json:"lines_removed"`
	Preview string `json:"diff_preview"`
	Diff    string `json:"full_diff"`

	Cost      float64 `json:"cost_usd"`
	TotalCost float64 `json:"total_cost_usd"`
	Total     usage   `json:"total_usage"`
	Sent      int64   `json:"input_tokens"` // of a completion
	Got       int64   `json:"output_tokens"`

	Status  string  `json:"status"`
	Current string  `json:"current_tool"`
	ToolMS  float64 `json:"tool_age_ms"`
}

// usage counts billed tokens. Tokens from the cache do not count, because they cost little.
type usage struct {
	Input  int64 `json:"input_tokens"`
	Output int64 `json:"output_tokens"`
}

func (r *reader) row(row *event.Event) {
	var f fields
	_ = json.Unmarshal(row.Data, &f)
	e := Event{Sequence: row.Sequence, Type: row.Type, Age: max(r.now.Sub(row.CreatedAt), 0), Stop: cut(f.Stop, maxCommand)}
	if event.ClassOf(row.Type) == event.ClassHeartbeat {
		r.s.Beat = &Beat{
			Sequence: e.Sequence, Age: e.Age, Status: f.Status, Tool: f.Current,
			ToolAge: event.Millis(f.ToolMS),
		}
		return
	}
	if r.fill(&e, &f) {
		r.s.Events = append(r.s.Events, e)
	}
}

// fill reads the fields that the rules use. The result is false for an event to skip.
func (r *reader) fill(e *Event, f *fields) bool {
	switch {
	case event.Is(e.Type, event.Completion):
		ended(e, f)
		r.paid(e, f)
		return true
	case event.Is(e.Type, event.Failure):
		r.paid(e, f)
	}
	switch e.Type {
	case event.AgentToolUse, event.AgentSubagentInvoked, event.AgentSkillInvoked:
		r.used(e, f)
	case event.AgentToolRefused:
		e.Call = f.ToolUseID
	case event.AgentToolAllowed:
		r.allowed(e, f)
	case event.AgentToolCompleted:
		return r.completed(e, f)
	case event.AgentToolResult, event.AgentUserToolResult:
		if e.Type == event.AgentUserToolResult && f.ToolUseID != "" && f.ToolUseID == r.result {
			return false // omoi-agent reports each result as two event types
		}
		r.result = f.ToolUseID
		r.answered(e, f)
	case event.AgentFileEdited:
		edited(e, f)
	case event.AgentAssistantMessage:
		return r.paid(e, f)
	case event.AgentMessageInjected:
		r.told(e, f)
	case event.AgentUserMessage:
		e.Text, e.Sender = cut(f.Content, maxText), senderProgram
	default:
		e.Text, e.Error = cut(cmp.Or(f.Content, f.Error), maxText), cut(errorOf(f.Error), maxText)
	}
	return true
}

func ended(e *Event, f *fields) {
	e.Text = cut(f.Output, maxText)
	e.Success = f.Success == nil || *f.Success
	if e.Type == event.ContinuousCompleted {
		e.Success = f.Passed != nil && *f.Passed
	}
}

// paid reads the cost and tokens so far. The result is false if the event has neither.
func (r *reader) paid(e *Event, f *fields) bool {
	e.CostUSD, e.Tokens = max(f.TotalCost, f.Cost), max(f.Total.Input+f.Total.Output, f.Sent+f.Got)
	r.s.CostUSD, r.s.Tokens = max(r.s.CostUSD, e.CostUSD), max(r.s.Tokens, e.Tokens)
	return e.CostUSD > 0 || e.Tokens > 0
}

// Senders of messages. The store confirms messages of senderUser.
const (
	senderUser    = "user"
	senderProgram = "program"
)

// told reads a message that the agent reports as received. The sender is a user only if the store has that message.
// Each stored message counts once, with its stored text.
func (r *reader) told(e *Event, f *fields) {
	e.Text, e.Sender = cut(f.Content, maxText), senderOf(f)
	i := slices.IndexFunc(r.said, func(m Said) bool {
		return m.ID == f.Message || f.Message == "" && cut(m.Text, maxText) == e.Text // older agents report no ID
	})
	if i >= 0 {
		e.Text, e.Sender = cut(r.said[i].Text, maxText), senderUser
		r.said = slices.Delete(r.said, i, i+1)
	}
}

// allowed reads that a refused call was allowed once. The event counts once for each refusal that a stored message allows,
// because a program can report it too.
func (r *reader) allowed(e *Event, f *fields) {
	if r.allows[f.Refusal] {
		e.Call = f.ToolUseID
		delete(r.allows, f.Refusal)
	}
}

// senderOf returns the sender that the agent reports. Rules ignore these senders.
func senderOf(f *fields) string {
	switch f.Type {
	case "guardian_nudge":
		return "guardian"
	case "system":
		return "system"
	}
	return senderProgram
}

// cut returns at most n bytes of text, without splitting a character.
func cut(text string, n int) string {
	if len(text) <= n {
		return text
	}
	for n > 0 && text[n]&0xC0 == 0x80 {
		n--
	}
	return text[:n]
}

// inputs holds the fields of tool inputs that the rules use.
type inputs struct {
	Command  string `json:"command"`
	Path     string `json:"path"`
	FilePath string `json:"file_path"`
	Notebook string `json:"notebook_path"`
	Pattern  string `json:"pattern"`
	URL      string `json:"url"`
	Query    string `json:"query"`
	Prompt   string `json:"prompt"`
}

func (r *reader) used(e *Event, f *fields) {
	var in inputs
	_ = json.Unmarshal(f.Input, &in) // fields of unexpected types stay empty
	e.Call, e.Tool, e.Command = f.ToolUseID, f.Tool, cut(in.Command, maxCommand)
	e.Path = cmp.Or(in.FilePath, in.Path, in.Notebook)
	e.Input = digest(string(f.Input))
	if in.Command != "" { // a shell's input also has a description that varies between calls
		e.Input = digest(strings.Join(strings.Fields(in.Command), " "))
		if _, known := r.parsed[in.Command]; !known {
			r.parsed[in.Command] = shellcmd.In(in.Command)
		}
		e.commands = r.parsed[in.Command]
		e.check = checkOf(e.commands, r.checks)
		r.tests[e.Call] = e.check != ""
	}
	e.Text = cut(cmp.Or(in.Command, e.Path, in.Pattern, in.URL, in.Query, in.Prompt), maxText)
}

func (r *reader) answered(e *Event, f *fields) {
	e.Call, e.Failed = f.ToolUseID, f.IsError
	result := untagged(f.Result)
	e.Text = cut(result, maxText)
	e.Result, e.numbers = templateOf(result)
	if r.tests[e.Call] {
		e.Tests = testsOf(result, f.IsError)
	}
	if e.Failed {
		e.Error = cut(errorOf(result), maxText)
	}
}

// untagged returns a result without the tags in which Claude Code encloses its own errors. The word error in the last
// tag would make the last line a part of the error.
func untagged(result string) string {
	return strings.TrimSuffix(strings.TrimPrefix(result, "<tool_use_error>"), "</tool_use_error>")
}

// completed reads the test result and the duration of a call, because tool results can be cut too short for them.
func (r *reader) completed(e *Event, f *fields) bool {
	var res struct {
		Output string   `json:"output"`
		Stdout string   `json:"stdout"`
		Stderr string   `json:"stderr"`
		Exit   int      `json:"exit_code"`
		MS     *float64 `json:"duration_ms"`
	}
	if json.Unmarshal(f.Response, &res) != nil {
		return false
	}
	e.Call = f.ToolUseID
	if res.MS != nil {
		e.Took = event.Millis(*res.MS)
	}
	text := cmp.Or(res.Output, strings.TrimSpace(res.Stdout+"\n"+res.Stderr))
	if text != "" && r.tests[e.Call] {
		e.Tests = testsOf(text, res.Exit != 0)
	}
	return e.Tests != nil || e.Took > 0
}
