package claude

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"regexp"
	"strings"

	"github.com/omoi-dev/omoi/internal/agent/textcut"
)

// line is one line of the program's standard output, with the keys that omoi uses. Other keys are passed on.
type line struct {
	Type    string          `json:"type"`
	Subtype string          `json:"subtype"`
	Parent  string          `json:"parent_tool_use_id"` // of a sub-agent: the call that began it
	UUID    string          `json:"uuid"`
	Error   json.RawMessage `json:"error"`
	Message *message        `json:"message"`
	Tool    json.RawMessage `json:"tool_use_result"`
	Replay  bool            `json:"isReplay"` //nolint:tagliatelle // the program's name
	Event   *streamed       `json:"event"`
	Limit   *limitInfo      `json:"rate_limit_info"`
	TaskID  string          `json:"task_id"`
	ToolID  string          `json:"tool_use_id"` // of a task in the background: the call that began it
	Status  string          `json:"status"`      // and how it ended
	Summary string          `json:"summary"`
	Usage   json.RawMessage `json:"usage"`
	Bytes   int             `json:"omoi_bytes"` // of a line of which the rest was left out
	Text    string          `json:"omoi_text"`  // of one that cannot be read

	outcome

	raw json.RawMessage
}

// message is a message to the model or from the model.
type message struct {
	ID         string          `json:"id"`
	Model      string          `json:"model"`
	Content    json.RawMessage `json:"content"`
	StopReason *string         `json:"stop_reason"`
	Usage      tokens          `json:"usage"`
}

// block is a part of a message.
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

// streamed is an event of the model's own stream.
type streamed struct {
	Type    string   `json:"type"`
	Message *message `json:"message"`
	Delta   struct {
		Text       string  `json:"text"`
		StopReason *string `json:"stop_reason"`
	} `json:"delta"`
	Usage *tokens `json:"usage"`
}

// limitInfo is what the provider says of its limits.
type limitInfo struct {
	Status   string  `json:"status"`
	ResetsAt float64 `json:"resetsAt"` //nolint:tagliatelle // the program's name
}

// outcome is what a result line says.
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

// parse reads a line; what is no JSON object is nil. Of a field that has another form than expected the others count.
func parse(raw []byte) *line {
	raw = bytes.TrimSpace(raw)
	l := &line{raw: raw}
	if _, broken := errors.AsType[*json.SyntaxError](json.Unmarshal(raw, l)); broken || raw[0] != '{' {
		return nil
	}
	return l
}

// blocks are the parts of a content; a plain text is one.
func blocks(content json.RawMessage) []block {
	var text string
	if json.Unmarshal(content, &text) == nil {
		return []block{{Type: "text", Text: text}}
	}
	var list []block
	_ = json.Unmarshal(content, &list) // a field of another form leaves the rest
	return list
}

// plain is the text of a content.
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

// anything reads a value for an event's data; nil if there is none.
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

// Types of lines of our own, for what the program printed and could not be used.
const (
	lineLeftOut = "omoi_line_left_out"
	lineUnread  = "omoi_line_unread"
)

// lineOf reads a line of which full bytes were printed; nil: it is empty.
func lineOf(raw []byte, full int) *line {
	if full > len(raw) {
		return leftOut(raw, full)
	}
	if l := parse(raw); l != nil || len(bytes.TrimSpace(raw)) == 0 {
		return l
	}
	return made(map[string]any{"type": lineUnread, "omoi_text": textcut.First(strings.ToValidUTF8(string(raw), "?"), resultBytes)})
}

var resultForm = regexp.MustCompile(`"tool_use_id": ?"([^"\\]+)"`)

// leftOut stands for a line that is too long. Of a tool's result it is known whose it is, so that
// the call ends all the same.
func leftOut(head []byte, full int) *line {
	id := resultForm.FindSubmatch(head)
	if id == nil {
		return made(map[string]any{"type": lineLeftOut, "bytes": full})
	}
	text := fmt.Sprintf("[%d bytes, left out: a line of the agent may have %d]", full, maxLine)
	result := map[string]any{"type": "tool_result", "tool_use_id": string(id[1]), "content": text}
	return made(map[string]any{"type": "user", "omoi_bytes": full, "message": map[string]any{"role": "user", "content": []any{result}}})
}

func made(fields map[string]any) *line {
	text, _ := json.Marshal(fields) //nolint:errchkjson // plain
	return parse(text)
}
