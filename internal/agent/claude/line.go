package claude

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"strings"

	"github.com/omoi-dev/omoi/internal/agent/textcut"
	"github.com/omoi-dev/omoi/internal/agent/transcript"
)

// line is one line of the program's standard output, with the keys that omoi uses. raw keeps the others.
type line struct {
	Type    string `json:"type"`
	Subtype string `json:"subtype"`
	// ID of the call that started the sub-agent; empty: the main agent.
	Parent  string          `json:"parent_tool_use_id"`
	UUID    string          `json:"uuid"`
	Error   json.RawMessage `json:"error"`
	Message *message        `json:"message"`
	Tool    json.RawMessage `json:"tool_use_result"`
	Replay  bool            `json:"isReplay"` //nolint:tagliatelle // the program's name
	Event   *streamed       `json:"event"`
	Limit   *limitInfo      `json:"rate_limit_info"`
	Request *request        `json:"request"` // of a control request, with its ID
	TaskID  string          `json:"task_id"`
	// RequestID is the ID of a control request.
	RequestID string          `json:"request_id"`
	ToolID    string          `json:"tool_use_id"` // ID of the call that started the background task
	Status    string          `json:"status"`      // final status of the background task
	Summary   string          `json:"summary"`
	Usage     json.RawMessage `json:"usage"`
	Bytes     int             `json:"omoi_bytes"` // full length of a line that was left out
	Text      string          `json:"omoi_text"`  // text of a line that is not JSON

	outcome

	raw json.RawMessage
}

// matters reports whether the conversation depends on a line: the others are only recorded.
func (l *line) matters() bool {
	return l.Type == "result" || l.Type == "user" || l.Request != nil || l.ends()
}

// ends reports whether a line ends a message of the model.
func (l *line) ends() bool { return l.Event != nil && l.Event.Type == "message_stop" }

// message is a message to or from the model.
type message struct {
	ID         string          `json:"id"`
	Model      string          `json:"model"`
	Content    json.RawMessage `json:"content"`
	StopReason *string         `json:"stop_reason"`
	Usage      tokens          `json:"usage"`
}

// block is one content block of a message.
type block struct {
	Type      string          `json:"type"`
	Text      string          `json:"text"`
	Thinking  string          `json:"thinking"`
	ID        string          `json:"id"`
	Name      string          `json:"name"`
	Input     json.RawMessage `json:"input"`
	ToolUseID string          `json:"tool_use_id"`
	Content   json.RawMessage `json:"content"`
	IsError   bool            `json:"is_error"`
}

// streamed is an event of the model API's stream.
type streamed struct {
	Type    string   `json:"type"`
	Message *message `json:"message"`
	Delta   struct {
		Text       string  `json:"text"`
		StopReason *string `json:"stop_reason"`
	} `json:"delta"`
	Usage *tokens `json:"usage"`
}

// limitInfo is the provider's rate limit data.
type limitInfo struct {
	Status   string  `json:"status"`
	ResetsAt float64 `json:"resetsAt"` //nolint:tagliatelle // the program's name
}

// outcome has the fields of a result line.
type outcome struct {
	IsError    bool                `json:"is_error"`
	APIStatus  int                 `json:"api_error_status"`
	Turns      int                 `json:"num_turns"`
	Result     string              `json:"result"`
	StopReason string              `json:"stop_reason"`
	Cost       float64             `json:"total_cost_usd"`
	Errors     []json.RawMessage   `json:"errors"`
	Models     map[string]modelUse `json:"modelUsage"` //nolint:tagliatelle // the program's name
	Since      map[string]modelUse `json:"model_usage_since_last_result"`
}

// parse parses a line; nil if it is not a JSON object. A field of an unexpected type is skipped.
func parse(raw []byte) *line {
	raw = bytes.TrimSpace(raw)
	l := &line{raw: raw}
	if _, broken := errors.AsType[*json.SyntaxError](json.Unmarshal(raw, l)); broken || raw[0] != '{' {
		return nil
	}
	return l
}

// blocks returns the blocks of a content. A string becomes a text block.
func blocks(content json.RawMessage) []block {
	var text string
	if json.Unmarshal(content, &text) == nil {
		return []block{{Type: "text", Text: text}}
	}
	var list []block
	_ = json.Unmarshal(content, &list) // a field of an unexpected type is skipped
	return list
}

// plain returns the text of a content. Other blocks appear as their type in brackets.
func plain(content json.RawMessage) string {
	var texts []string
	for _, b := range blocks(content) {
		switch {
		case b.Text != "":
			texts = append(texts, b.Text)
		case b.Type != "" && b.Type != "text":
			texts = append(texts, "["+b.Type+"]")
		}
	}
	return strings.Join(texts, "\n")
}

// anything decodes a value for the data of an event; nil if there is none.
func anything(raw json.RawMessage) any {
	var v any
	if len(raw) == 0 || json.Unmarshal(raw, &v) != nil {
		return nil
	}
	return v
}

const (
	maxLine    = 8 << 20  // a longer line is dropped and reported
	headBytes  = 64 << 10 // the part of a long line that is parsed
	mostUnread = 10       // maximum number of unreadable lines of one process that are reported
)

// Line types of omoi for output of the program that could not be used.
const (
	lineLeftOut = "omoi_line_left_out"
	lineUnread  = "omoi_line_unread"
)

// lineOf parses a line that had full bytes; nil if it is empty.
func lineOf(raw []byte, full int) *line {
	if full > len(raw) {
		return leftOut(raw, full)
	}
	if l := parse(raw); l != nil || len(bytes.TrimSpace(raw)) == 0 {
		return l
	}
	return made(map[string]any{"type": lineUnread, "omoi_text": textcut.First(strings.ToValidUTF8(string(raw), "?"), resultBytes)})
}

// leftOut returns a replacement for a line that is too long. The result of a tool keeps the ID of its call, so that the
// call ends.
func leftOut(head []byte, full int) *line {
	id := transcript.ResultForm.FindSubmatch(head)
	if id == nil {
		return made(map[string]any{"type": lineLeftOut, "bytes": full})
	}
	text := fmt.Sprintf("[%d bytes, left out: a line of the agent may have %d]", full, maxLine)
	result := map[string]any{"type": "tool_result", "tool_use_id": string(id[1]), "content": text}
	return made(map[string]any{"type": "user", "omoi_bytes": full, "message": map[string]any{"role": "user", "content": []any{result}}})
}

func made(fields map[string]any) *line {
	text, _ := json.Marshal(fields) //nolint:errchkjson // JSON values
	return parse(text)
}
