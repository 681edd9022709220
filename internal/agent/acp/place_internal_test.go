package acp

import (
	"fmt"
	"log/slog"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/omoi-dev/omoi/internal/agent"
	"github.com/omoi-dev/omoi/internal/agent/continuous"
	"github.com/omoi-dev/omoi/internal/agent/reporter"
)

// TestMoved checks that a session names the folder of the next attempt.
func TestMoved(t *testing.T) {
	t.Parallel()
	for name, first := range map[string]string{
		"qwen":    `{"uuid":"1","cwd":"%s"}`,
		"codex":   `{"type":"session_meta","payload":{"cwd":"%s"}}`,
		"copilot": `{"type":"session.start","data":{"context":{"cwd":"%s"}}}`,
		"gemini":  `{"$set":{"messages":[{"content":[{"text":"- **Workspace Directories:**\n  - %s\n- **Directory"}]}]}}`,
	} {
		d, _ := Of(name)
		move := moved(d, "/b/ws")
		at := func(folder string) string { return fmt.Sprintf(first, folder) }
		require.Equal(t, at("/b/ws"), string(move([]byte(at("/a/ws")))), name)
		require.Equal(t, `{"path":"/b/ws/x\n/b/ws and /a/wsx"}`, string(move([]byte(`{"path":"/a/ws/x\n/a/ws and /a/wsx"}`))), name)
		require.Equal(t, at("/c/ws"), string(move([]byte(at("/c/ws")))), name)
		late := moved(d, "/b/ws")
		for range headLines {
			late([]byte("{}"))
		}
		require.Equal(t, at("/a/ws/below"), string(late([]byte(at("/a/ws/below")))), name)
	}
}

// TestCorrectGemini checks that one answer to each tool call is left, also after a load, which writes all messages again.
func TestCorrectGemini(t *testing.T) {
	t.Parallel()
	const (
		asks    = `{"id":"1","type":"user","content":[{"text":"go"}]}`
		calls   = `{"id":"2","type":"gemini","content":"","toolCalls":[{"id":"a","result":[{"functionResponse":{"id":"a"}}]},{"id":"b"}]}`
		repeat  = `{"id":"3","type":"user","content":[{"functionResponse":{"id":"a"}}]}`
		single  = `{"id":"4","type":"user","content":[{"functionResponse":{"id":"b"}}]}`
		partial = `{"id":"5","type":"user","content":[{"functionResponse":{"id":"a"}},{"text":"and more"}]}`
		other   = `{"$set":{"lastUpdated":"2026-11-28T21:15:24.466Z"}}`
	)
	correct, kept := edited(dialects["gemini"], "/w"), []string{}
	list := func(messages ...string) string { return `{"$set":{"messages":[` + strings.Join(messages, ",") + `]}}` }
	for _, line := range []string{asks, calls, repeat, single, partial, other, list(asks, calls, repeat, repeat, single), list(asks, repeat), "{cut"} {
		kept = append(kept, string(correct([]byte(line+"\n"))))
	}
	require.Equal(t, strings.Join([]string{asks, calls, single, partial, other, list(asks, calls, single), list(asks, repeat), "{cut"}, "\n")+"\n", strings.Join(kept, ""))
}

// TestSessionFile_IsTheOneWithTheConversation checks the agent that begins a further file when it loads a session.
func TestSessionFile_IsTheOneWithTheConversation(t *testing.T) {
	t.Parallel()
	d, _ := Of("gemini")
	where := Place{Home: t.TempDir(), Work: "/w"}
	pattern, first := d.Session(where, "0123456789")
	require.Empty(t, sessionFile(d, where, "0123456789"))
	for _, path := range []string{strings.Replace(pattern, "*", "w", 1), first} {
		path = strings.Replace(path, "*", "2026-11-28T21-15", 1)
		require.NoError(t, os.MkdirAll(filepath.Dir(path), 0o700))
		require.NoError(t, os.WriteFile(path, nil, 0o600))
	}
	require.NoError(t, os.WriteFile(strings.Replace(first, "01-01", "11-29", 1), nil, 0o600))
	require.Equal(t, first, sessionFile(d, where, "0123456789"))
	require.Empty(t, sessionFile(d, where, "1123456789"))
}

// TestSettle_CountsTokensOnce checks an agent whose turns report sums, and whose second process begins at zero.
func TestSettle_CountsTokensOnce(t *testing.T) {
	t.Parallel()
	env := agent.Env{Report: &events{}, Doing: &reporter.Activity{}, Log: slog.New(slog.DiscardHandler)}
	env.Config.Dir = t.TempDir()
	for name, want := range map[string]float64{"copilot": 5500, "codex": 9500} {
		d, ok := Of(name)
		require.True(t, ok)
		r := newRecorder(t.Context(), env, d, &place{}, continuous.Limits{})
		r.settle(&answer{Usage: &usage{Input: 4000}}, false)
		r.settle(&answer{}, false)
		require.InDelta(t, 4000, r.place.Spent.Input, 0, "a turn without usage")
		r.settle(&answer{Usage: &usage{Input: 5000}}, false)
		r.begin()
		r.settle(&answer{Usage: &usage{Input: 500}}, false)
		require.InDelta(t, want, r.place.Spent.Input, 0)
		r.log.Close()
	}
}
