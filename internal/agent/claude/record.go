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

// recorder converts lines to events. mu guards it, and is released while the work tree is examined, which may take
// long.
type recorder struct {
	env   agent.Env
	looks looks

	asked sync.Map // ids of messages that the program was told, by our own ids of them

	mu       sync.Mutex
	place    *place
	account  account
	lastText string // what the model said last
	partial  []byte // what it was saying
	limit    limitInfo
	cause    string           // the error that the program names
	unread   string           // what this process printed last that is no line of its own
	inits    int              // of the session, by this process
	behind   map[string]bool  // tasks in the background that have not ended
	away     map[string]*call // those of them that are sub-agents, by the call that began each
	answers  []string         // IDs of messages that the program has read and not answered

	files map[string]bool  // changed ones
	seen  map[string]bool  // those of them that the look at the work tree can see
	open  map[string]*said // the message under way, by the sub-agent that says it
	tools map[string]*call
	busy  func() // ends what heartbeats say is being done
}

// said is a message of the model while its lines come.
type said struct {
	id, model string
	blocks    int
	usage     tokens
	stop      *string
}

func newRecorder(ctx context.Context, env agent.Env, p *place) *recorder {
	watch, whole := env.Watch(ctx), context.WithoutCancel(ctx) // what was done until a stop counts
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

// begin notes that another process of the program speaks.
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
	case "control_response", "command_lifecycle", "keep_alive":
	default:
		r.system(l)
	}
}

const maxMetadata = 16 << 10

// system passes on what the program says of itself, and what is not known.
func (r *recorder) system(l *line) {
	if l.Type == "system" && (l.Subtype == "status" || l.Subtype == "thinking_tokens" || l.Subtype == "background_tasks_changed") {
		return // there are many, which say nothing to people
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

// current is the message of a speaker; another id is another message, and ends the one before.
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

// close reports a message once all of it was said.
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

// synthetic is the model of what the program says by itself.
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
	m.usage, r.cause = m.usage.over(l.Message.Usage), "" // whatever it was is over
	for _, b := range blocks(l.Message.Content) {
		m.blocks++
		r.block(l, b)
	}
}

// troubled reports what the program could not do, in its own words.
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
		r.answers = append(r.answers, fmt.Sprint(id)) // what the model says next answers it
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

// settle takes the bill of a result. What was not finished by then never will be.
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

// broken reports what was under way when the program ended in the middle of it.
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

// standing is the state of a run.
type standing struct {
	place

	cost  float64
	bill  map[string]any // the same, and tokens, as the data of an event
	said  string         // what the model said last
	used  int            // turns that count against the limit
	limit limitInfo      // what the provider said of its limits
	cause string         // the error that was named last

	unread  string // what the program printed last that is no line of its own
	begun   bool   // this process has begun the session
	calling bool   // a tool was called that has not answered
	behind  bool   // tasks in the background have not ended
}

// now returns the state of the run while the program may still report.
func (r *recorder) now() standing {
	r.mu.Lock()
	defer r.mu.Unlock()
	usd, _ := r.place.Spent.total()
	return standing{
		place: *r.place, cost: usd, bill: r.place.Spent.data(), said: r.lastText, used: r.place.Turn - r.place.TurnsBefore,
		limit: r.limit, cause: r.cause, unread: r.unread, begun: r.inits > 0, calling: len(r.tools) > 0, behind: len(r.behind) > 0,
	}
}

// beyond reports whether the attempt may spend no more.
func (r *recorder) beyond(limit float64) bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.place.Spent.beyond(limit)
}

// save notes how far the work is.
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
