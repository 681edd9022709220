package acp

import (
	"cmp"
	"encoding/json"
	"regexp"
	"strconv"
	"strings"

	"github.com/omoi-dev/omoi/internal/jsonrpc"
)

// update is one session/update, with the keys that omoi uses. Agents use the same keys for the same things, so that one
// form serves all.
type update struct {
	Kind      string          `json:"sessionUpdate"` //nolint:tagliatelle // the protocol's name
	Content   json.RawMessage `json:"content"`
	MessageID string          `json:"messageId"`  //nolint:tagliatelle // the protocol's name
	ID        string          `json:"toolCallId"` //nolint:tagliatelle // the protocol's name
	Name      string          `json:"name"`
	Title     string          `json:"title"`
	ToolKind  string          `json:"kind"`
	Status    string          `json:"status"`
	Input     json.RawMessage `json:"rawInput"`  //nolint:tagliatelle // the protocol's name
	Output    json.RawMessage `json:"rawOutput"` //nolint:tagliatelle // the protocol's name
	Locations []at            `json:"locations"`
	Mode      string          `json:"currentModeId"` //nolint:tagliatelle // the protocol's name
	Options   []option        `json:"configOptions"` //nolint:tagliatelle // the protocol's name
	Cost      struct {
		Amount   float64 `json:"amount"`
		Currency string  `json:"currency"`
	} `json:"cost"`
	Meta meta `json:"_meta"` //nolint:tagliatelle // the protocol's name
}

// at is a file of a call.
type at struct {
	Path string `json:"path"`
}

// meta has what agents send outside of the protocol.
//
//nolint:tagliatelle // names of the agents
type meta struct {
	Tool   string `json:"toolName"`
	Usage  *usage `json:"usage"`
	Claude struct {
		Tool string `json:"toolName"`
		Kind string `json:"kind"`
	} `json:"claudeCode"`
	Piece struct {
		Data string `json:"data"`
	} `json:"terminal_output_delta"`
	Exit struct {
		Code *int `json:"exit_code"`
	} `json:"terminal_exit"`
	Codex struct {
		Thread struct {
			Type string `json:"type"`
		} `json:"threadStatus"`
		Error *struct {
			Message string `json:"message"`
			More    string `json:"additionalDetails"`
		} `json:"error"`
	} `json:"codex"`
	JetBrains struct {
		Air struct {
			Failure *sessionFailure `json:"sessionFailure"`
		} `json:"air"`
	} `json:"jetbrains"`
	Quota struct {
		Tokens map[string]json.RawMessage `json:"token_count"`
		Models []struct {
			Model string `json:"model"`
		} `json:"model_usage"`
	} `json:"quota"`
}

// sessionFailure is a typed failure, for which omoi asks in initialize.
type sessionFailure struct {
	Category string `json:"category"`
	Severity string `json:"severity"`
	Title    string `json:"title"`
}

// usage are the tokens of a turn or of a request.
//
//nolint:tagliatelle // the protocol's names
type usage struct {
	Input      float64 `json:"inputTokens"`
	Output     float64 `json:"outputTokens"`
	CacheRead  float64 `json:"cachedReadTokens"`
	CacheWrite float64 `json:"cachedWriteTokens"`
}

// used returns the tokens that an answer reports: in the form of the protocol, else in Gemini's.
func (a answer) used() *usage {
	if a.Usage != nil {
		return a.Usage
	}
	count := a.Meta.Quota.Tokens
	if count == nil {
		return nil
	}
	return &usage{Input: jsonrpc.Into[float64](count["input_tokens"]), Output: jsonrpc.Into[float64](count["output_tokens"])}
}

// model returns the model that an answer names; empty: none.
func (a answer) model() string {
	for _, m := range a.Meta.Quota.Models {
		return m.Model
	}
	return ""
}

// text returns the text of a chunk.
func (u update) text() string {
	return jsonrpc.Into[struct {
		Text string `json:"text"`
	}](u.Content).Text
}

// tool returns the name of the tool of a call; empty: this update does not name it.
func (u update) tool() string {
	id, _, named := strings.Cut(u.ID, "__")
	if !named {
		id = ""
	}
	title := u.Title
	if strings.ContainsAny(title, " /:\n…") {
		title = ""
	}
	return cmp.Or(u.Name, u.Meta.Claude.Tool, u.Meta.Tool, id, title)
}

// result returns the text of a tool's result; empty: this update has none.
func (u update) result() string {
	var parts []string
	for _, block := range jsonrpc.Into[[]struct {
		Content struct {
			Text string `json:"text"`
		} `json:"content"`
	}](u.Content) {
		if block.Content.Text != "" {
			parts = append(parts, block.Content.Text)
		}
	}
	if len(parts) > 0 {
		return strings.Join(parts, "\n")
	}
	return cmp.Or(jsonrpc.Into[string](u.Output), jsonrpc.Into[struct {
		Output string `json:"output"`
	}](u.Output).Output)
}

var exitForm = regexp.MustCompile(`(?i)^\s*exit code:? (\d{1,3})\b`)

// exit returns the exit code of a command, if the update has one.
func (u update) exit() (code int, known bool) {
	out := jsonrpc.Into[struct {
		Code     *int `json:"exitCode"` //nolint:tagliatelle // the protocol's name
		Metadata struct {
			Exit *int `json:"exit"`
		} `json:"metadata"`
		Contents []struct {
			Code *int `json:"exitCode"` //nolint:tagliatelle // the protocol's name
		} `json:"contents"`
	}](u.Output)
	found := []*int{u.Meta.Exit.Code, out.Code, out.Metadata.Exit}
	for _, c := range out.Contents {
		found = append(found, c.Code)
	}
	for _, code := range found {
		if code != nil {
			return *code, true
		}
	}
	if m := exitForm.FindStringSubmatch(jsonrpc.Into[string](u.Output)); m != nil {
		code, err := strconv.Atoi(m[1])
		return code, err == nil
	}
	return 0, false
}
