package acpserver

import (
	"cmp"
	"encoding/json"
	"fmt"
	"strings"

	"github.com/omoi-dev/omoi/api/client"
	"github.com/omoi-dev/omoi/internal/cli/render"
	"github.com/omoi-dev/omoi/internal/event"
)

// Kinds of updates with text.
const (
	userChunk    = "user_message_chunk"
	agentChunk   = "agent_message_chunk"
	thoughtChunk = "agent_thought_chunk"
)

// reader is how far the newest task of a session is reported.
type reader struct {
	of     *session
	cursor string
	seen   map[int]int64   // last reported event by attempt
	calls  map[string]bool // open tool calls
	own    map[string]bool // messages whose text the editor shows already
	waits  bool            // the agent waits for a message
	last   string          // last text of the agent since the prompt
	why    string          // last reason for waiting
}

// restart begins with another task.
func (r *reader) restart() {
	*r = reader{of: r.of, seen: map[int]int64{}, calls: map[string]bool{}, own: map[string]bool{}}
}

// data holds the fields of events that editors see.
type data struct {
	Content  string          `json:"content"`
	Tool     string          `json:"tool"`
	Call     string          `json:"tool_use_id"`
	Input    json.RawMessage `json:"input"`
	Result   string          `json:"result"`
	Failed   bool            `json:"is_error"`
	Path     string          `json:"file_path"`
	Diff     string          `json:"diff_preview"`
	Subtype  string          `json:"subtype"`
	Metadata json.RawMessage `json:"metadata"`
	Message  string          `json:"message_id"`
	Kind     string          `json:"message_type"`
	Sender   string          `json:"sender_kind"`
	Output   string          `json:"final_output"`
	Reason   string          `json:"reason"`
	Can      bool            `json:"can_be_allowed"`
	Question string          `json:"question"`
	Options  []string        `json:"options"`
}

// report reports an event to the editor, and returns 1, or 0 for a heartbeat. live: the task is running.
func (r *reader) report(e client.Event, live bool) int {
	heartbeat := event.ClassOf(e.Type) == event.ClassHeartbeat
	switch {
	case render.Waits(e):
		r.waits = true
	case !heartbeat && !event.Is(e.Type, event.Background):
		r.waits = false
	}
	if heartbeat {
		return 0
	}
	d := event.Read[data](e.Data)
	switch e.Type {
	case event.AgentMessage:
		r.last = cmp.Or(d.Content, r.last)
		r.chunk(agentChunk, d.Content)
	case event.AgentThinking:
		r.chunk(thoughtChunk, d.Content)
	case event.AgentToolUse, event.AgentSubagentInvoked, event.AgentSkillInvoked:
		r.call(e, d)
	case event.AgentToolResult, event.AgentUserToolResult:
		r.result(e, d)
	case event.AgentFileEdited:
		r.edited(e, d)
	case event.AgentSystemMessage:
		r.plan(d)
	case event.AgentMessageInjected:
		r.injected(d)
	case event.AgentWaiting:
		r.asked(d)
	case event.AgentCompleted:
		r.completed(d)
	case event.AgentStarted, event.AgentShutdown:
		r.closeCalls()
	case event.AgentToolRefused:
		r.refused(e, d, live)
	case event.AgentToolAllowed, event.AgentToolUnchecked, event.AgentError, event.AgentFailed, event.IterationFailed, event.AgentInterrupted,
		event.AgentCommitted, event.AgentRestored, event.AgentRestoreFailed, event.AgentMessageDropped, event.IterationValidation:
		r.thought("%s: %s", e.Type, render.Brief(e.Type, e.Data))
	}
	return 1
}

func (r *reader) update(kind string, fields map[string]any) {
	r.of.server.update(r.of.id, kind, fields)
}

// chunk reports a text. Editors join chunks, so a text ends with an empty line.
func (r *reader) chunk(kind, text string) {
	if strings.TrimSpace(text) != "" {
		r.update(kind, map[string]any{"content": textBlock(strings.TrimRight(text, "\n") + "\n\n")})
	}
}

// said and thought report a text of omoi itself: the outcome of a turn, and what happens meanwhile.
func (r *reader) said(format string, args ...any) { r.chunk(agentChunk, fmt.Sprintf(format, args...)) }

func (r *reader) thought(format string, args ...any) {
	r.chunk(thoughtChunk, fmt.Sprintf(format, args...))
}

func textBlock(text string) map[string]any { return map[string]any{"type": "text", "text": text} }

// content is the content of a tool call with one text.
func content(text string) []any {
	return []any{map[string]any{"type": "content", "content": textBlock(text)}}
}

func (r *reader) completed(d data) {
	if out := strings.TrimSpace(d.Output); out != "" && out != strings.TrimSpace(r.last) {
		r.last = out
		r.chunk(agentChunk, out)
	}
}

// injected reports a message to the agent, unless it is a prompt of this editor.
func (r *reader) injected(d data) {
	switch {
	case r.own[d.Message]:
	case d.Sender == "" && d.Kind == "user_message":
		r.chunk(userChunk, d.Content)
	default:
		r.thought("Message to the agent from %s: %s", cmp.Or(d.Sender, "a user"), d.Content)
	}
	r.last = ""
}

// asked reports a question of the agent, which the next prompt answers.
func (r *reader) asked(d data) {
	if d.Question == "" {
		return
	}
	r.last = render.Question(d.Question, d.Options)
	r.chunk(agentChunk, r.last)
}

// refused reports a call that omoi refused, and how to allow it while its task is running.
func (r *reader) refused(e client.Event, d data, live bool) {
	next := ""
	if live && d.Can {
		next = fmt.Sprintf("\nNext: omoi allow %s %d", render.Short(r.of.task()), e.Sequence)
	}
	r.thought("%s: %s\n%s%s", e.Type, render.Brief(e.Type, e.Data), d.Reason, next)
}

// plan reports the plan of an agent that speaks the same protocol.
func (r *reader) plan(d data) {
	entries := event.Read[struct {
		Params struct {
			Update struct {
				Entries []any `json:"entries"`
			} `json:"update"`
		} `json:"params"`
	}](d.Metadata).Params.Update.Entries
	if d.Subtype == "plan" && len(entries) > 0 {
		r.update("plan", map[string]any{"entries": entries})
	}
}
