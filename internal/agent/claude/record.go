package claude

import (
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"maps"
	"os"
	"strings"
	"sync"

	"github.com/omoi-dev/omoi/internal/agent"
	"github.com/omoi-dev/omoi/internal/agent/diff"
	"github.com/omoi-dev/omoi/internal/agent/textcut"
	"github.com/omoi-dev/omoi/internal/event"
)

// recorder converts lines to events. mu guards its fields, and is released during a comparison of the work tree, which
// may take long.
type recorder struct {
	env   agent.Env
	looks looks

	asked sync.Map // omoi's message IDs by UUID of the program's message

	mu       sync.Mutex
	place    *place
	account  account
	lastText string // last text of the model
	partial  []byte // unfinished text of the model
	limit    limitInfo
	cause    string           // the program's name for its last error
	unread   string           // last line of this process that is not JSON
	inits    int              // number of session starts in this process
	behind   map[string]bool  // running background tasks
	away     map[string]*call // running background sub-agents, by the ID of their call
	answers  []string         // IDs of messages that the program has read and not answered

	files map[string]bool  // changed files
	seen  map[string]bool  // changed files that the comparison of the work tree has found
	open  map[string]*said // unfinished messages by the ID of the sub-agent's call; empty: the main agent
	tools map[string]*call

	skipped []string // paths that were reported last
	busy    func()   // clears the tool in heartbeats
}

// said is an unfinished message of the model.
type said struct {
	id, model string
	blocks    int
	usage     tokens
	stop      *string
}

func newRecorder(ctx context.Context, env agent.Env, p *place) *recorder {
	watch, whole := env.Watch(ctx), context.WithoutCancel(ctx) // changes until a stop count
	prepare := func() (lookFunc, context.CancelFunc) {
		ctx, stop := context.WithCancel(whole)
		return func() ([]diff.Change, int, []string) { return watch(ctx) }, stop
	}
	r := &recorder{
		env: env, place: p, files: map[string]bool{}, seen: map[string]bool{}, open: map[string]*said{}, tools: map[string]*call{},
		looks: looks{prepare: prepare},
	}
	r.looks.calm()
	return r
}

// begin resets the fields of one process of the program.
func (r *recorder) begin() {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.account, r.limit, r.cause, r.unread, r.inits = account{}, limitInfo{}, "", "", 0
	r.behind, r.away = map[string]bool{}, map[string]*call{}
}

func (r *recorder) emit(eventType string, l *line, data map[string]any) {
	data["turn"] = r.place.Turn
	if l != nil && l.Parent != "" {
		data["parent_tool_use_id"] = l.Parent
	}
	r.env.Report.Emit(eventType, data)
}

// take records one line.
func (r *recorder) take(l *line) {
	r.mu.Lock()
	defer r.mu.Unlock()
	switch l.Type {
	case "stream_event":
		r.streamed(l)
	case "assistant":
		r.assistant(l)
	case "user":
		r.user(l)
	case "result":
		r.settle(l)
	case "rate_limit_event":
		if l.Limit != nil {
			r.limit = *l.Limit
		}
		r.system(l)
	case "control_request", "control_cancel_request", "control_response", "command_lifecycle", "keep_alive":
	default:
		r.system(l)
	}
}

const maxMetadata = 16 << 10

// system reports a line of the program about itself, or of an unknown type.
func (r *recorder) system(l *line) {
	if l.Type == "system" && (l.Subtype == "status" || l.Subtype == "thinking_tokens" || l.Subtype == "background_tasks_changed") {
		return // frequent lines without use for users
	}
	switch l.Subtype {
	case "init":
		r.inits++
		r.catchUp()
	case "api_retry":
		r.cause = plainError(l.Error)
	case "task_started":
		r.behind[l.TaskID] = true
	case "task_notification":
		delete(r.behind, l.TaskID)
		r.back(l)
	}
	r.unread = cmp.Or(l.Text, r.unread)
	data := map[string]any{"subtype": l.Subtype, "line_type": l.Type}
	if len(l.raw) <= maxMetadata {
		data["metadata"] = anything(l.raw)
	} else {
		data["metadata"], data["metadata_full_length"] = textcut.First(string(l.raw), resultBytes), len(l.raw)
	}
	r.emit(event.AgentSystemMessage, l, data)
}

func plainError(raw json.RawMessage) string {
	var text string
	if json.Unmarshal(raw, &text) == nil {
		return text
	}
	return string(raw)
}

// current returns the unfinished message of a speaker. A new ID ends the previous message.
func (r *recorder) current(l *line, id, model string) *said {
	m := r.open[l.Parent]
	if m != nil && m.id == id {
		return m
	}
	r.close(l)
	m = &said{id: id, model: model}
	r.open[l.Parent] = m
	if l.Parent == "" {
		r.place.Turn++
		r.env.Doing.SetTurn(r.place.Turn)
	}
	return m
}

func (r *recorder) streamed(l *line) {
	e := l.Event
	switch {
	case e == nil:
	case e.Type == "message_start" && e.Message != nil:
		m := r.current(l, e.Message.ID, e.Message.Model)
		m.usage = m.usage.over(e.Message.Usage)
	case e.Type == "content_block_delta" && l.Parent == "":
		r.partial = append(r.partial, e.Delta.Text...)
	case e.Type == "message_delta" && r.open[l.Parent] != nil:
		m := r.open[l.Parent]
		m.stop = e.Delta.StopReason
		if e.Usage != nil {
			m.usage = m.usage.over(*e.Usage)
		}
	case e.Type == "message_stop":
		r.close(l)
	}
}

// close reports a message when it is complete.
func (r *recorder) close(l *line) {
	m := r.open[l.Parent]
	if m == nil {
		return
	}
	delete(r.open, l.Parent)
	if l.Parent == "" {
		r.partial = nil
	}
	s := &r.place.Spent
	s.use(m.model, m.usage)
	_, estimated := s.total()
	cost, unknown := s.known()
	r.emit(event.AgentAssistantMessage, l, map[string]any{
		"model": m.model, "message_id": m.id, "stop_reason": m.stop, "block_count": m.blocks,
		"usage": m.usage.data(), "total_usage": s.all().data(), "total_cost_usd": cost, "cost_estimated": estimated, "cost_unknown": unknown,
	})
}

// synthetic is the model name of messages that the program itself creates.
const synthetic = "<synthetic>"

func (r *recorder) assistant(l *line) {
	if l.Message == nil {
		return
	}
	if l.Message.Model == synthetic {
		r.troubled(l)
		return
	}
	m := r.current(l, l.Message.ID, l.Message.Model)
	m.usage, r.cause = m.usage.over(l.Message.Usage), "" // an earlier error is over
	for _, b := range blocks(l.Message.Content) {
		m.blocks++
		r.block(l, b)
	}
}

// troubled reports an error with the program's own text.
func (r *recorder) troubled(l *line) {
	text := plain(l.Message.Content)
	kind := plainError(l.Error)
	if kind != "" {
		r.cause = kind
	}
	r.emit(event.AgentStreamError, l, map[string]any{
		"error": text, "error_type": cmp.Or(kind, "unknown"), "final_output_length": len(r.lastText),
	})
}

func (r *recorder) block(l *line, b block) {
	switch b.Type {
	case "text":
		r.text(l, b.Text)
	case "thinking":
		r.emit(event.AgentThinking, l, map[string]any{"content": b.Thinking, "thinking_type": "extended_thinking"})
	case "tool_use", "server_tool_use", "mcp_tool_use":
		r.called(l, b)
	default:
		if strings.HasSuffix(b.Type, "_tool_result") || b.Type == "tool_result" {
			r.result(l, b)
		}
	}
}

func (r *recorder) text(l *line, text string) {
	data := map[string]any{"content": text, "content_length": len(text)}
	if l.Parent == "" {
		r.lastText, r.partial = text, nil
		if len(r.answers) > 0 {
			data["in_reply_to"] = r.answers[0]
			r.answers = r.answers[1:]
		}
	}
	r.emit(event.AgentMessage, l, data)
}

func (r *recorder) user(l *line) {
	if l.Message == nil {
		return
	}
	if id, ok := r.asked.LoadAndDelete(l.UUID); ok && l.Replay {
		r.answers = append(r.answers, fmt.Sprint(id)) // the model's next text answers the message
	}
	for _, b := range blocks(l.Message.Content) {
		if b.Type == "tool_result" {
			r.result(l, b)
			continue
		}
		if b.Text != "" {
			r.emit(event.AgentUserMessage, l, map[string]any{"content": b.Text, "content_length": len(b.Text)})
		}
	}
}

// replies notes a message that the model's next text answers.
func (r *recorder) replies(id string) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.answers = append(r.answers, id)
}

// settle takes the bill of a result, and closes what is unfinished.
func (r *recorder) settle(l *line) {
	for parent := range maps.Clone(r.open) {
		r.close(&line{Parent: parent})
	}
	r.forget()
	r.place.Spent.settle(&r.account, l.outcome)
	if l.Subtype == "success" && !l.IsError {
		r.lastText = cmp.Or(l.Result, r.lastText)
	}
	r.look(nil, "")
}

// broken reports what was unfinished when the program ended.
func (r *recorder) broken() {
	r.mu.Lock()
	defer r.mu.Unlock()
	partial := string(r.partial)
	if partial != "" {
		r.emit(event.AgentMessage, nil, map[string]any{"content": partial, "content_length": len(partial), "partial": true})
		r.lastText = partial
	}
	for parent := range maps.Clone(r.open) {
		r.close(&line{Parent: parent})
	}
	r.place.Spent.lose()
	clear(r.behind)
	r.forget()
	r.look(nil, "")
}

// standing is a copy of the state of a run.
type standing struct {
	place

	cost  float64
	bill  map[string]any // cost and tokens as the data of an event
	said  string         // last text of the model
	used  int            // turns that count for the limit
	limit limitInfo      // the provider's rate limit data
	cause string         // name of the last error

	unread  string // last line of the program that is not JSON
	begun   bool   // this process has started the session
	calling bool   // a tool call is running
	behind  bool   // a background task is running
}

// now returns the state of the run.
func (r *recorder) now() standing {
	r.mu.Lock()
	defer r.mu.Unlock()
	usd, _ := r.place.Spent.total()
	return standing{
		place: *r.place, cost: usd, bill: r.place.Spent.data(), said: r.lastText, used: r.place.Turn - r.place.TurnsBefore,
		limit: r.limit, cause: r.cause, unread: r.unread, begun: r.inits > 0, calling: len(r.tools) > 0, behind: len(r.behind) > 0,
	}
}

// beyond reports whether the attempt has used up its budget.
func (r *recorder) beyond(limit float64) bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.place.Spent.beyond(limit)
}

// save writes the state to disk.
func (r *recorder) save() error {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.place.Count()
	return r.place.save()
}

func exists(path string) bool {
	_, err := os.Stat(path)
	return err == nil
}
