package acp

import (
	"cmp"
	"context"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/omoi-dev/omoi/internal/agent"
	"github.com/omoi-dev/omoi/internal/agent/continuous"
	"github.com/omoi-dev/omoi/internal/agent/hook"
	"github.com/omoi-dev/omoi/internal/agent/inbox"
	"github.com/omoi-dev/omoi/internal/agent/textcut"
	"github.com/omoi-dev/omoi/internal/agent/transcript"
	"github.com/omoi-dev/omoi/internal/event"
	"github.com/omoi-dev/omoi/internal/jsonrpc"
	"github.com/omoi-dev/omoi/internal/uptime"
)

const (
	mostUnread  = 10        // unreadable lines of one process that are reported
	maxMetadata = 16 << 10  // bytes of a message that an event holds
	resultBytes = 5000      // bytes of a tool's result in an event
	pieceBytes  = 256 << 10 // a longer text is reported in pieces
	mostIdle    = 30        // messages in a row without a tool call, after which the agent counts as stuck in a loop
)

// recorder converts what the agent sends to events. mu guards its fields, and is released during a comparison of the
// work tree.
type recorder struct {
	env     agent.Env
	dialect Dialect
	limits  continuous.Limits
	full    chan string // limit at which the turn ends
	log     transcript.Log
	changes changes
	refuses func(hook.Call) bool // whether the task contract forbids a call; nil: calls are not checked

	mu       sync.Mutex
	place    *place
	last     time.Duration // time of the last message that shows work, of [uptime.Now]
	loading  bool          // the agent replays its session
	mode     string        // mode that the agent reported last
	unread   int
	calls    map[string]*call
	over     map[string]bool // IDs of calls that have ended
	files    map[string]bool
	asked    []string // IDs of messages that the model's next message answers
	answers  []string // IDs of messages that the model's current message answers
	given    []given  // messages that the agent has taken, until the model's next message
	stopping bool     // open permissions are refused

	text  strings.Builder // unfinished text of the model
	kind  string          // kind of that text
	id    string          // message that it belongs to
	said  string          // last text of the model
	begun bool            // a message of the model has begun since the last tool call
	turn  turnFacts
	used  usage // tokens of the turn by requests
	sum   usage // tokens of the process, if the agent reports sums
}

// turnFacts is what a turn has shown so far.
type turnFacts struct {
	texts, calls int
	idle         int             // messages since the last tool call
	notice       string          // last text of the program itself, if nothing of the model followed
	broken       bool            // the agent reports an error of its thread
	failure      *sessionFailure // typed failure
}

func newRecorder(ctx context.Context, env agent.Env, d Dialect, p *place, limits continuous.Limits) *recorder {
	r := &recorder{
		env: env, dialect: d, limits: limits, place: p, full: make(chan string, 1), calls: map[string]*call{}, over: map[string]bool{}, files: map[string]bool{},
		changes: newChanges(ctx, env), last: uptime.Now(),
	}
	r.log.Path = ownLog(env)
	return r
}

func (r *recorder) emit(eventType string, data map[string]any) {
	data["turn"] = r.place.Turn
	r.env.Report.Emit(eventType, data)
}

// begin resets the fields of one process.
func (r *recorder) begin() {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.mode, r.unread, r.loading, r.stopping, r.calls, r.over, r.sum = "", 0, false, false, map[string]*call{}, map[string]bool{}, usage{}
	r.changes.calm()
	r.last = uptime.Now()
}

// prompted resets the fields of one turn.
func (r *recorder) prompted(text string, of []inbox.Message) {
	r.injected(of)
	r.accepted(of, r.turns(), asPrompt)
	r.mu.Lock()
	defer r.mu.Unlock()
	r.turn, r.used, r.stopping, r.loading, r.begun, r.last = turnFacts{}, usage{}, false, false, false, uptime.Now()
	r.full = make(chan string, 1)
	r.log.Note(entry{Role: "user", Text: text})
	r.emit(event.AgentUserMessage, map[string]any{"content": text, "content_length": len(text)})
}

// load sets whether the agent replays its session, of which no event is reported again.
func (r *recorder) load(on bool) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.loading = on
}

// works are the kinds of messages which show that the agent works. An agent may send others for ever.
//
//nolint:gochecknoglobals // constant
var works = []string{"agent_message_chunk", "agent_thought_chunk", "tool_call", "tool_call_update", "usage_update"}

// take records a notification.
func (r *recorder) take(f *jsonrpc.Frame) {
	r.mu.Lock()
	defer r.mu.Unlock()
	u := jsonrpc.Into[struct {
		Update update `json:"update"`
	}](f.Params).Update
	r.mode = cmp.Or(r.modeOf(f, u), r.mode)
	if r.loading && f.Method == "session/update" && u.Mode == "" && len(u.Options) == 0 {
		return
	}
	if f.Method == "session/update" && slices.Contains(works, u.Kind) {
		r.last = uptime.Now()
	}
	if u.Kind != "tool_call" && u.Kind != "tool_call_update" {
		r.useAll()
	}
	switch {
	case f.Method != "session/update":
		r.other(f, f.Method)
	case u.Kind == "agent_message_chunk":
		r.chunk(u)
	case u.Kind == "agent_thought_chunk":
		r.piece(u, event.AgentThinking)
	case u.Kind == "tool_call" && u.ID != "", u.Kind == "tool_call_update" && u.ID != "":
		r.tool(u)
	case u.Kind == "usage_update":
		r.bill(u)
	case u.Kind == "session_info_update":
		r.info(u)
	case u.Kind == "current_mode_update", u.Kind == "config_option_update", u.Kind == "available_commands_update", u.Kind == "user_message_chunk":
	default:
		r.other(f, u.Kind)
	}
}

// modeOf returns the mode that a message tells; empty: none.
func (r *recorder) modeOf(f *jsonrpc.Frame, u update) (mode string) {
	if r.dialect.ModeOf != nil {
		mode = r.dialect.ModeOf(f, u)
	}
	return cmp.Or(mode, u.Mode, modeOf(u.Options))
}

// opened notes the mode in which an agent opened a session.
func (r *recorder) opened(in modes) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.mode = in.Now
}

// other reports a message that has no event of its own, and a line that is none of the protocol.
func (r *recorder) other(f *jsonrpc.Frame, kind string) {
	if f.Method == "" {
		if r.unread++; r.unread > mostUnread {
			return
		}
		kind = "omoi_line_unread"
		if f.Bytes > 0 {
			kind = "omoi_line_left_out"
		}
	}
	data := map[string]any{"subtype": kind, "line_type": cmp.Or(f.Method, kind), "metadata": jsonrpc.Into[any](f.Raw)}
	if full := max(f.Bytes, len(f.Raw)); full > maxMetadata || data["metadata"] == nil {
		data["metadata"], data["metadata_full_length"] = strings.ToValidUTF8(textcut.First(string(f.Raw), resultBytes), "?"), full
	}
	r.emit(event.AgentSystemMessage, data)
}

// unreported reports how many unreadable lines have no event of their own.
func (r *recorder) unreported() {
	if more := r.unread - mostUnread; more > 0 {
		r.unread = mostUnread
		r.emit(event.AgentSystemMessage, map[string]any{"subtype": "omoi_lines_unread", "line_type": "omoi_lines_unread", "metadata": map[string]any{"count": more}})
	}
}

// chunk records a piece of text: of the model, or the program's own.
func (r *recorder) chunk(u update) {
	if u.Meta.Usage != nil { // of one request to the model
		more := *u.Meta.Usage
		r.used = usage{r.used.Input + more.Input, r.used.Output + more.Output, r.used.CacheRead + more.CacheRead, r.used.CacheWrite + more.CacheWrite}
	}
	text := u.text()
	switch {
	case text == "":
	case r.dialect.Notice != nil && r.dialect.Notice(u):
		r.flush(false)
		r.turn.notice = text
		r.emit(event.AgentSystemMessage, map[string]any{"subtype": "notice", "line_type": u.Kind, "metadata": text})
	default:
		r.turn.texts, r.turn.notice = r.turn.texts+1, ""
		r.piece(u, event.AgentMessage)
	}
}

// piece adds a piece to the unfinished text. Another message or kind of text ends the text before.
func (r *recorder) piece(u update, kind string) {
	if kind != r.kind || u.MessageID != "" && u.MessageID != r.id {
		r.flush(false)
		r.begun = r.begun && r.id == u.MessageID
	}
	r.kind, r.id = kind, u.MessageID
	r.round()
	r.text.WriteString(u.text())
	if r.text.Len() > pieceBytes {
		r.flush(false)
	}
}

// round counts a message of the model, once.
func (r *recorder) round() {
	if r.begun {
		return
	}
	r.begun = true
	r.answers, r.asked = append(r.answers, r.asked...), nil
	r.place.Turn++
	r.turn.idle++
	r.prove()
	r.env.Doing.SetTurn(r.place.Turn)
	r.watch()
}

// watch reports a reached limit once a turn.
func (r *recorder) watch() {
	switch {
	case r.limits.Turns > 0 && r.place.Turn-r.place.Before > r.limits.Turns:
		r.stop(continuous.StopTurns)
	case r.limits.Cost > 0 && r.place.Spent.usd() >= r.limits.Cost:
		r.stop(continuous.StopCost)
	case r.turn.idle > mostIdle:
		r.stop(stopLoop)
	}
}

// stop ends the turn, once.
func (r *recorder) stop(why string) {
	select {
	case r.full <- why:
	default:
	}
}

// enough ends the turn.
func (r *recorder) enough(why string) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.stop(why)
}

// flush reports the unfinished text. partial reports that the program ended before the text was complete.
func (r *recorder) flush(partial bool) {
	text := r.text.String()
	r.text.Reset()
	if text == "" {
		return
	}
	if r.kind == event.AgentThinking {
		r.emit(event.AgentThinking, map[string]any{"content": text, "thinking_type": "extended_thinking"})
		return
	}
	r.said = text
	r.log.Note(entry{Role: "agent", Text: text})
	data := map[string]any{"content": text, "content_length": len(text)}
	if partial {
		data["partial"] = true
	}
	if len(r.answers) > 0 {
		data["in_reply_to"], r.answers = r.answers[0], r.answers[1:]
	}
	r.emit(event.AgentMessage, data)
}

// bill records the cost of the session, which the agent reports as a sum.
func (r *recorder) bill(u update) {
	if u.Cost.Amount > 0 && strings.EqualFold(cmp.Or(u.Cost.Currency, "USD"), "USD") {
		r.place.Spent.Priced, r.place.Spent.Session = true, max(r.place.Spent.Session, u.Cost.Amount)
		r.watch()
	}
}

// info records a failure of the agent's connection to the model.
func (r *recorder) info(u update) {
	text, kind := "", "retry"
	if e := u.Meta.Codex.Error; e != nil {
		text = strings.TrimSpace(e.Message + " " + e.More)
	}
	if f := u.Meta.JetBrains.Air.Failure; f != nil && f.Category != "unknown" {
		r.turn.failure, text, kind = f, f.Title, f.Category
	}
	if status := u.Meta.Codex.Thread.Type; status != "" {
		r.turn.broken = status == "systemError"
	}
	if text != "" {
		r.emit(event.AgentStreamError, map[string]any{"error": text, "error_type": kind, "final_output_length": len(r.said)})
	}
}

// settle closes what is unfinished at the end of a turn, and takes its tokens.
func (r *recorder) settle(a *answer, partial bool) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.flush(partial)
	if r.dialect.Guesses && r.turn.calls > 0 {
		r.said = cmp.Or(r.turn.notice, r.said)
	}
	r.closeCalls()
	r.unreported()
	used := r.used
	if a != nil {
		r.place.Model = cmp.Or(a.model(), r.place.Model)
		if u := a.used(); u != nil && r.dialect.SumsTokens {
			used, r.sum = u.since(r.sum), *u
		} else if u != nil {
			used = *u
		}
		if f := a.Meta.JetBrains.Air.Failure; f != nil {
			r.turn.failure = f
		}
	}
	r.place.Spent.use(used)
	r.used = usage{}
	r.report(a, used)
	r.changes.calm()
	r.look("")
}

// report reports the tokens and the cost of a turn.
func (r *recorder) report(a *answer, used usage) {
	s, stop := &r.place.Spent, any(nil)
	if a != nil && a.Stop != "" {
		stop = a.Stop
	}
	data := map[string]any{"stop_reason": stop, "block_count": r.turn.texts, "usage": used.data(), "total_usage": s.tokens()}
	bill := s.data()
	data["total_cost_usd"], data["cost_unknown"] = bill["cost_usd"], !s.Priced
	if r.place.Model != "" {
		data["model"] = r.place.Model
	}
	r.emit(event.AgentAssistantMessage, data)
}

// standing is a copy of the state of a run.
type standing struct {
	place
	turnFacts

	bill map[string]any
	said string
	mode string
	busy bool          // a tool call runs
	last time.Duration // time of the last message
}

func (r *recorder) now() standing {
	r.mu.Lock()
	defer r.mu.Unlock()
	return standing{
		place: *r.place, turnFacts: r.turn, bill: r.place.Spent.data(), said: r.said, mode: r.mode, busy: len(r.calls) > 0, last: r.last,
	}
}

// summary returns the summary of a session that this one replaces, once.
func (r *recorder) summary() (text string) {
	r.mu.Lock()
	defer r.mu.Unlock()
	text, r.place.Summary = r.place.Summary, ""
	return text
}

// save writes the state to disk.
func (r *recorder) save() error {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.place.Count()
	return r.place.save()
}
