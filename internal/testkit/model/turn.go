package model

import (
	"net/http"
	"time"
)

// Turn is one answer of the endpoint. What it says and what it asks for make a message; a
// status, a cut or a hang-up make a fault instead.
type Turn struct {
	Thinking string
	// Text may name {{last_tool_result}}, so that a test can prove that the tool ran.
	Text  string
	Tools []Tool
	Stop  string // the stop reason; by default tool_use or end_turn
	Usage Usage  // by default 1,000 tokens in and 10 out

	Delay time.Duration // before the answer
	// Hold keeps the answer back until it is closed; Begun is closed when the request is there.
	Hold  <-chan struct{}
	Begun chan<- struct{}
	// Middle keeps the rest of a stream back, after its first text, until it is closed.
	Middle <-chan struct{}

	Status int // of an error; the type follows from it
	Error  string
	Header http.Header // of an error, or of any answer
	// Now makes more of it when the request is there: for what hangs on the time.
	Now func() http.Header
	Cut Cut

	// Expect looks at the request; an error fails the test.
	Expect func(Request) error
}

// Tool is a call that the model makes.
type Tool struct {
	Name  string
	Input map[string]any
}

// anyShell is the name of a call that [Request.shell] resolves.
const anyShell = "any shell"

// Shell runs a command by the tool for that which the agent offers, whatever its name.
func Shell(command string) Tool {
	return Tool{Name: anyShell, Input: map[string]any{"command": command}}
}

// Usage is what a turn costs, in tokens.
type Usage struct {
	Input      int64 `json:"input_tokens"`
	Output     int64 `json:"output_tokens"`
	CacheRead  int64 `json:"cache_read_input_tokens"`
	CacheWrite int64 `json:"cache_creation_input_tokens"`
}

// Cut says where a connection ends early.
type Cut int

// The cuts.
const (
	CutNone   Cut = iota
	CutBefore     // before a byte of the answer
	CutReset      // in mid-stream, by a reset
	CutEvent      // in mid-stream, with an error event
)

// Times repeats a turn.
func Times(n int, t Turn) []Turn {
	turns := make([]Turn, n)
	for i := range turns {
		turns[i] = t
	}
	return turns
}

func (t Turn) message(id string, req Request) message {
	m := message{ID: id, Type: "message", Role: "assistant", Model: req.Model, Usage: t.Usage, StopReason: t.Stop}
	if m.Usage == (Usage{}) {
		m.Usage = Usage{Input: 1000, Output: 10}
	}
	if t.Thinking != "" {
		m.Content = append(m.Content, block{"type": "thinking", "thinking": t.Thinking, "signature": "c2lnbmVk"})
	}
	if t.Text != "" {
		m.Content = append(m.Content, block{"type": "text", "text": fill(t.Text, req.LastToolResult())})
	}
	for i, tool := range t.Tools {
		if tool.Name == anyShell {
			tool = req.shell(tool.Input)
		}
		m.Content = append(m.Content, block{"type": "tool_use", "id": toolID(id, i), "name": tool.Name, "input": tool.Input})
	}
	if m.StopReason == "" {
		m.StopReason = "end_turn"
		if len(t.Tools) > 0 {
			m.StopReason = "tool_use"
		}
	}
	return m
}
