package model

import (
	"encoding/json"
	"fmt"
	"net/http"
	"strings"
)

// dialect is an API of a model provider.
type dialect struct {
	// read returns a request in the form of the Messages API.
	read func(r *http.Request) (Request, error)
	// whole returns the document of an answer that is not streamed.
	whole func(m message) any
	// stream sends an answer, and calls between in the middle of each block.
	stream func(out stream, m message, between func())
}

// dialectOf returns the API to which a request belongs; the zero value: none.
func dialectOf(r *http.Request) dialect {
	path := r.URL.Path
	switch {
	case r.Method != http.MethodPost:
	case strings.HasSuffix(path, "/v1/messages"):
		return messages()
	case strings.HasSuffix(path, "/v1/responses"):
		return responses()
	case strings.HasSuffix(path, "/v1/chat/completions"):
		return chat()
	case strings.Contains(path, "/v1beta/models/") && strings.HasSuffix(strings.ToLower(path), "generatecontent"):
		return gemini()
	}
	return dialect{}
}

// shell returns the call of a command by the tool that the agent offers.
func (r Request) shell(input map[string]any) Tool {
	command, described := input["command"], map[string]any{"command": input["command"], "description": "Run it"}
	switch {
	case r.Offers("exec_command"): // Codex
		return Tool{Name: "exec_command", Input: map[string]any{"cmd": command, "yield_time_ms": 30_000}}
	case r.Offers("run_shell_command"): // Gemini CLI, Qwen Code
		described["is_background"] = false
		return Tool{Name: "run_shell_command", Input: described}
	case r.Offers("terminal"): // OpenHands
		return Tool{Name: "terminal", Input: map[string]any{"command": command, "summary": "Run it", "security_risk": "LOW", "timeout": 600}}
	case r.Offers("bash"): // opencode, GitHub Copilot CLI
		described["mode"], described["initial_wait"] = "sync", 60
		return Tool{Name: "bash", Input: described}
	}
	return Tool{Name: "Bash", Input: described} // Claude Code
}

// content returns the JSON of a text.
func content(text string) json.RawMessage {
	raw, _ := json.Marshal(text) //nolint:errchkjson // a string
	return raw
}

// resultOf is a message with the result of a tool.
func resultOf(output json.RawMessage) entry {
	raw, _ := json.Marshal([]part{{Type: "tool_result", Content: output}}) //nolint:errchkjson // the JSON of a request
	return entry{Role: "user", Content: raw}
}

// said returns the text of a block, or the JSON of the input of a call.
func (b block) said() string {
	switch b["type"] {
	case "tool_use":
		raw, err := json.Marshal(b["input"])
		if err != nil {
			panic(err)
		}
		return string(raw)
	case "thinking":
		return fmt.Sprint(b["thinking"])
	}
	return fmt.Sprint(b["text"])
}
