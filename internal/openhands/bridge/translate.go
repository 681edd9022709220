package bridge

import (
	"cmp"
	"encoding/json"
	"strings"

	"github.com/omoi-dev/omoi/internal/jsonrpc"
	"github.com/omoi-dev/omoi/internal/openhands"
)

// take translates an event.
func (t *turn) take(e openhands.Event) {
	switch e.Kind {
	case openhands.KindState:
		t.state(e)
	case openhands.KindMessage:
		t.message(e)
	case openhands.KindAction:
		t.action(e)
	case openhands.KindObservation:
		t.observation(e)
	case openhands.KindToolError, openhands.KindRejection:
		t.callEnded(e, cmp.Or(e.Error, e.Rejection), nil, true)
	case openhands.KindError:
		t.fail(category(e.Class.Kind), strings.TrimSpace(e.Code+": "+e.Detail))
	case openhands.KindPrompt, openhands.KindPause, openhands.KindInterrupt:
	default:
		t.update("openhands_event", map[string]any{"event": e.Raw})
	}
}

func (t *turn) state(e openhands.Event) {
	if now := e.Status(); now != "" {
		t.reported = now
		t.ran = t.ran || now == openhands.StatusRunning
	}
}

// message translates a text of the agent. Texts of the user are those of omoi.
func (t *turn) message(e openhands.Event) {
	if t.waiting = e.Source != openhands.SourceAgent; !t.waiting {
		t.chunk("agent_message_chunk", e.Response, openhands.Joined(e.Message.Content))
	}
}

// chunk reports a text of a request to the model.
func (t *turn) chunk(kind, request, text string) {
	if text != "" {
		t.update(kind, map[string]any{"messageId": request, "content": map[string]any{"type": "text", "text": text}})
	}
}

// action translates what the model said and called in one request.
func (t *turn) action(e openhands.Event) {
	t.waiting = false
	t.chunk("agent_thought_chunk", e.Response, e.Reasoning)
	t.chunk("agent_message_chunk", e.Response, openhands.Joined(e.Thought))
	input := jsonrpc.Into[map[string]any](json.RawMessage(e.Call.Arguments))
	said, _ := input["message"].(string)
	thought, _ := input["thought"].(string)
	switch e.Tool {
	case openhands.ToolFinish:
		t.chunk("agent_message_chunk", e.ID, said)
	case openhands.ToolThink:
		t.chunk("agent_thought_chunk", e.ID, thought)
	default:
		delete(input, "summary")
		delete(input, "security_risk")
		t.calls[e.CallID] = e
		t.update("tool_call", map[string]any{
			"toolCallId": e.CallID, "name": e.Tool, "title": cmp.Or(e.Summary, e.Tool), "status": "in_progress", "rawInput": input,
		})
	}
}

// observation translates the result of a call. A command that runs on after 30 s without output has no exit code.
func (t *turn) observation(e openhands.Event) {
	o, out := e.Observation, jsonrpc.Into[map[string]any](e.Observation.Raw)
	delete(out, "content")
	if o.ExitCode != nil && *o.ExitCode >= 0 {
		out["exitCode"] = *o.ExitCode
	}
	t.callEnded(e, openhands.Joined(o.Content), out, o.IsError)
}

// callEnded reports the end of a call, once.
func (t *turn) callEnded(e openhands.Event, text string, out map[string]any, failed bool) {
	if _, open := t.calls[e.CallID]; !open {
		return
	}
	delete(t.calls, e.CallID)
	status := "completed"
	if failed {
		status = "failed"
	}
	update := map[string]any{
		"toolCallId": e.CallID, "status": status,
		"content": []any{map[string]any{"type": "content", "content": map[string]any{"type": "text", "text": text}}},
	}
	if out != nil {
		update["rawOutput"] = out
	}
	t.update("tool_call_update", update)
}

// fail reports why the turn fails.
func (t *turn) fail(category, text string) {
	t.failed = true
	t.update("session_info_update", map[string]any{"_meta": map[string]any{"jetbrains": map[string]any{"air": map[string]any{
		"sessionFailure": map[string]any{"category": category, "severity": "error", "title": text},
	}}}})
}

// category returns the category of a failure by its kind.
func category(kind string) string {
	switch kind {
	case "auth":
		return "auth"
	case "rate_limit", "quota":
		return "limit"
	case "transient":
		return "service"
	case "agent_action", "config": // the text may name a status that is none, for example a limit of 500 steps
		return "agent"
	}
	return cmp.Or(kind, "error") // the runtime decides by the text
}
