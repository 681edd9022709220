package openhands

import (
	"context"
	"encoding/json"
	"net/http"
	"os"
	"os/exec"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/omoi-dev/omoi/internal/openhands"
	"github.com/omoi-dev/omoi/internal/wait"
)

type fields = map[string]any

// talk is a conversation of a [Fake].
type talk struct {
	fake    *Fake
	id, dir string

	mu      sync.Mutex
	status  openhands.Status
	former  openhands.Status // read one more time after a run begins; empty: no more
	events  []fields
	used    int // requests to the model
	running context.CancelFunc
	over    chan struct{} // closed when the run has ended
}

// Turn is a run of a conversation, for a script.
type Turn struct {
	// Said is the newest text of the user.
	Said string
	// Count is the number of texts of the user.
	Count int
	// Dir is the folder of the conversation.
	Dir string

	ctx context.Context //nolint:containedctx // that of the run
	of  *talk
	end openhands.Status
}

// Text is a plain answer of the model, after which the run ends.
func (t *Turn) Text(text string) {
	t.of.add(fields{"kind": "MessageEvent", "source": "agent", "llm_response_id": newID(), "llm_message": message("assistant", text)})
}

// Finish is a call of the tool that ends the run.
func (t *Turn) Finish(text string) {
	t.call("finish", fields{"kind": "FinishAction", "message": text}, fields{"message": text})
}

// Shell runs a command as a tool does.
func (t *Turn) Shell(command string) {
	id := t.call("terminal", fields{"kind": "TerminalAction", "command": command}, fields{"command": command, "summary": "Run it"})
	cmd := exec.CommandContext(t.ctx, "sh", "-c", command) //nolint:gosec // the test's own
	cmd.Dir, cmd.Env, cmd.WaitDelay = t.Dir, append(os.Environ(), openhands.Mark(t.of.id)), time.Second
	cmd.Cancel = func() error {
		openhands.EndProcesses(t.of.id)
		return nil
	}
	out, _ := cmd.CombinedOutput()
	if t.ctx.Err() != nil {
		t.of.add(fields{"kind": "AgentErrorEvent", "source": "agent", "tool_name": "terminal", "tool_call_id": id, "error": "interrupted"})
		return
	}
	t.of.add(fields{"kind": "ObservationEvent", "source": "environment", "tool_name": "terminal", "tool_call_id": id, "action_id": id, "observation": fields{
		"kind": "TerminalObservation", "command": command, "content": []fields{{"type": "text", "text": string(out)}}, "exit_code": cmd.ProcessState.ExitCode(), "is_error": false,
	}})
}

// Fail ends the run with an error.
func (t *Turn) Fail(code, kind, text string) {
	t.of.add(fields{"kind": "ConversationErrorEvent", "source": "environment", "code": code, "detail": text, "classification": fields{"kind": kind, "retryable": false}})
	t.end = openhands.StatusError
}

// End ends the run with a status, without an event that says why.
func (t *Turn) End(status openhands.Status) { t.end = status }

// Wait waits for the end of the run.
func (t *Turn) Wait() { <-t.ctx.Done() }

// Hear waits for a further text of the user.
func (t *Turn) Hear() string {
	for t.ctx.Err() == nil {
		if said := t.of.said(); len(said) > t.Count {
			t.Count = len(said)
			return said[t.Count-1]
		}
		_ = wait.For(t.ctx, 10*time.Millisecond)
	}
	return ""
}

func (t *Turn) call(tool string, action, input fields) (id string) {
	id = newID()
	text, _ := json.Marshal(input) //nolint:errchkjson // strings
	t.of.add(fields{
		"kind": "ActionEvent", "source": "agent", "llm_response_id": newID(), "tool_name": tool, "tool_call_id": id, "action": action, "thought": []fields{},
		"tool_call": fields{"id": id, "name": tool, "arguments": string(text), "origin": "completion"},
	})
	return id
}

func message(role, text string) fields {
	return fields{"role": role, "content": []fields{{"type": "text", "text": text}}}
}

// add stores an event. An event of a call or a text is one request to the model.
func (one *talk) add(event fields) {
	one.mu.Lock()
	defer one.mu.Unlock()
	event["id"] = newID()
	if event["llm_response_id"] != nil {
		one.used++
	}
	one.events = append(one.events, event)
}

func (one *talk) set(status openhands.Status) {
	one.add(fields{"kind": "ConversationStateUpdateEvent", "source": "environment", "key": "execution_status", "value": status})
	one.mu.Lock()
	defer one.mu.Unlock()
	one.former, one.status = "", status
}

func (one *talk) said() (all []string) {
	one.mu.Lock()
	defer one.mu.Unlock()
	for _, e := range one.events {
		if e["kind"] == "MessageEvent" && e["source"] == "user" {
			all = append(all, e["llm_message"].(fields)["content"].([]fields)[0]["text"].(string)) //nolint:errcheck,forcetypeassert // its own
		}
	}
	return all
}

func (one *talk) info(*http.Request) (int, any) {
	one.mu.Lock()
	defer one.mu.Unlock()
	status := one.status
	if one.former != "" {
		status, one.former = one.former, ""
	}
	return http.StatusOK, fields{"id": one.id, "execution_status": status, "stats": fields{"usage_to_metrics": fields{"omoi": fields{
		"accumulated_cost": 0, "accumulated_token_usage": fields{"prompt_tokens": 1000 * one.used, "completion_tokens": 10 * one.used},
	}}}}
}

func (one *talk) search(r *http.Request) (int, any) {
	one.mu.Lock()
	defer one.mu.Unlock()
	items := one.events
	if body := r.URL.Query().Get("body"); body != "" {
		items = slices.DeleteFunc(slices.Clone(items), func(e fields) bool {
			text, _ := json.Marshal(e["llm_message"])
			return e["source"] != "user" || !strings.Contains(string(text), body)
		})
	}
	from := slices.IndexFunc(items, func(e fields) bool { return e["id"] == r.URL.Query().Get("page_id") })
	page := fields{"items": slices.Clone(items[max(0, from):])}
	return http.StatusOK, page
}

func (one *talk) hear(r *http.Request) (int, any) {
	var said struct {
		Content []openhands.Text `json:"content"`
	}
	_ = json.NewDecoder(r.Body).Decode(&said)
	one.add(fields{"kind": "MessageEvent", "source": "user", "llm_message": message("user", openhands.Joined(said.Content))})
	if r.Header.Get("X-Fake-Save") != "" {
		return http.StatusTooManyRequests, fields{"detail": "Message saved, but the conversation run limit was reached."}
	}
	one.begin()
	return http.StatusOK, fields{"success": true}
}

// run does nothing to a conversation that has finished and was not told anything since.
func (one *talk) run(*http.Request) (int, any) {
	if one.done() {
		return http.StatusOK, fields{"success": true}
	}
	if !one.begin() {
		return http.StatusConflict, fields{"detail": "running"}
	}
	return http.StatusOK, fields{"success": true}
}

func (one *talk) done() bool {
	one.mu.Lock()
	defer one.mu.Unlock()
	for _, e := range slices.Backward(one.events) {
		if e["value"] == openhands.StatusFinished || e["source"] == "user" {
			return e["source"] != "user" && one.status == openhands.StatusFinished
		}
	}
	return false
}

// begin plays the script, unless it is playing.
func (one *talk) begin() bool {
	one.mu.Lock()
	if one.running != nil {
		one.mu.Unlock()
		return false
	}
	ctx, stop := context.WithCancel(context.Background())
	one.running, one.over, one.former = stop, make(chan struct{}), one.status
	one.mu.Unlock()
	one.fake.works.Go(func() { one.play(ctx) })
	return true
}

func (one *talk) play(ctx context.Context) {
	said := one.said()
	t := &Turn{ctx: ctx, of: one, Dir: one.dir, Count: len(said), end: openhands.StatusFinished}
	if len(said) > 0 {
		t.Said = said[len(said)-1]
	}
	one.set(openhands.StatusRunning)
	one.fake.script(t)
	if ctx.Err() != nil {
		t.end = openhands.StatusPaused
	}
	one.set(t.end)
	one.mu.Lock()
	defer one.mu.Unlock()
	one.running = nil
	close(one.over)
}

// stop ends the run with all its processes.
func (one *talk) stop(*http.Request) (int, any) {
	<-one.interrupt()
	return http.StatusOK, fields{"success": true}
}

// interrupt ends the run, and returns a channel that is closed when it has ended.
func (one *talk) interrupt() <-chan struct{} {
	one.mu.Lock()
	defer one.mu.Unlock()
	if one.running == nil {
		ended := make(chan struct{})
		close(ended)
		return ended
	}
	one.running()
	return one.over
}

func (one *talk) remove(r *http.Request) (int, any) {
	one.stop(r)
	one.fake.forget(one.id)
	return http.StatusOK, fields{"success": true}
}
