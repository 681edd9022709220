// Package acp plays recorded sessions of real agents that speak the Agent Client Protocol. It is for tests.
//
// The folder frames has a file for each agent: each line is a message of the agent (in), or the method of a message of
// the client (out). Long texts and repeated messages are cut.
package acp

import (
	"bufio"
	"bytes"
	"embed"
	"encoding/json"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

//go:embed frames
var files embed.FS

// Frame is one recorded message.
type Frame struct {
	Session string          `json:"session"` // name of the session, in its first frame
	Out     *string         `json:"out"`     // method of a message of the client; empty: a response
	ID      json.RawMessage `json:"id"`      // ID of the client's request
	In      json.RawMessage `json:"in"`      // message of the agent
}

// Agents returns the agents of which sessions were recorded.
func Agents() []string { return []string{"claude", "codex", "copilot", "gemini", "opencode", "qwen"} }

// Sessions returns the recorded sessions of an agent by name.
func Sessions(agent string) map[string][]Frame {
	text, err := files.ReadFile("frames/" + strings.TrimSuffix(agent, "-acp") + ".jsonl")
	if err != nil {
		panic(err)
	}
	all, name := map[string][]Frame{}, ""
	for lines := bufio.NewScanner(bytes.NewReader(text)); lines.Scan(); {
		var f Frame
		if err := json.Unmarshal(lines.Bytes(), &f); err != nil {
			panic(err)
		}
		if f.Session != "" {
			name = f.Session
		}
		all[name] = append(all[name], f)
	}
	return all
}

// Lines returns the messages of all agents, with the names of their sessions.
func Lines(tb testing.TB) (lines [][]byte) {
	tb.Helper()
	for _, agent := range Agents() {
		for _, session := range Sessions(agent) {
			for _, f := range session {
				if f.In != nil {
					lines = append(lines, f.In)
				}
			}
		}
	}
	require.NotEmpty(tb, lines)
	return lines
}
