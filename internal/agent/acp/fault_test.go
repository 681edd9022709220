//nolint:paralleltest // a process has one runner of commands
package acp_test

import (
	"maps"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/omoi-dev/omoi/internal/agent/acp"
	acptest "github.com/omoi-dev/omoi/internal/testkit/acp"
)

// end is how a turn with a fault ends: its failure class, error type, and a part of its error.
type end struct{ class, kind, says string }

// unseen is the end of a turn whose messages show no fault, since the agent repaired it or tells nothing of it. The work
// alone decides: a commit is a success, and without one nothing was done.
var unseen = end{"", "nothing_done", "has no commit of this task"}

var (
	killed = end{"infrastructure", "sigkill", "was killed"}
	none   = end{"agent_error", "empty_turn", "without a text and without a tool call"}
)

// faults are the ends of each fault in the order of [names]: Claude Code, Codex, Copilot CLI, Gemini CLI, opencode and Qwen
// Code.
var faults = map[string][]end{
	"e401": {
		{"credentials", "error", "Authentication required"},
		{"credentials", "error", "Authentication required"},
		{"credentials", "error", "Authentication failed with provider"},
		{"credentials", "error", `"code":401`},
		{"credentials", "APIError", "invalid api key"},
		{"credentials", "error", "401 invalid api key"},
	},
	"nologin": {
		{"credentials", "error", "Authentication required"},
		{"credentials", "credentials", "omoi credentials set openai"},
		{"credentials", "credentials", "omoi credentials set github_copilot"},
		{"credentials", "credentials", "omoi credentials set google"},
		{"credentials", "credentials", "omoi credentials set openrouter"},
		{"credentials", "credentials", "omoi credentials set openai"},
	},
	"e429": {
		{"provider_limit", "rate_limit", "(429)"},
		{"provider_limit", "error", "last status: 429"},
		{"provider_limit", "error", "Last error: 429"},
		{"provider_limit", "error", "Too Many Requests"},
		{"provider_limit", "APIError", "rate limit reached"},
		{"infrastructure", "silent", "it said nothing"}, // repeated without a word, as by an endpoint that does not answer
	},
	"e429ok": {unseen, unseen, unseen, unseen, unseen, unseen},
	"e500": {
		{"infrastructure", "server_error", "500 boom"},
		{"infrastructure", "error", "high demand"},
		{"infrastructure", "error", "Last error: 500 boom"},
		{"infrastructure", "error", `"code":500`},
		{"infrastructure", "APIError", "boom"},
		{"infrastructure", "error", "500 boom"},
	},
	"drop": {
		{"infrastructure", "server_error", "ECONNRESET"},
		{"infrastructure", "error", "stream disconnected"},
		{"infrastructure", "error", "Connection reset"},
		{"infrastructure", "error", "terminated"},
		{"infrastructure", "APIError", "Connection reset"},
		{"infrastructure", "error", "terminated"},
	},
	"killed": {killed, killed, killed, killed, killed, killed},
	"e400": {
		{"agent_error", "invalid_request", "too long"},
		{"agent_error", "error", "too long"},
		{"agent_error", "error", "too long"},
		{"agent_error", "error", "too long"},
		{"agent_error", "loop", "30 messages in a row"},
		{"agent_error", "error", "too long"},
	},
	"maxtok":  {unseen, {"agent_error", "error", "max_output_tokens"}, unseen, unseen, unseen, unseen},
	"refusal": {unseen, unseen, unseen, unseen, {"agent_error", "refusal", "I will not"}, unseen},
	"empty":   {unseen, none, unseen, unseen, none, unseen},
	"flood":   {unseen, unseen, {"agent_error", "cancelled", "ended its turn with cancelled"}, {"agent_error", "max_turn_requests", "ended its turn with max_turn_requests"}, unseen, unseen},
}

// faulty returns a bench that plays a fault of an agent, in a repository.
func faulty(t *testing.T, fault, name string) *bench {
	t.Helper()
	session, does := fault, ""
	if fault == "killed" {
		session, does = "basic", "die"
	}
	b := newBench(t, name, session, does)
	b.inRepository()
	switch {
	case fault == "e429" && name == "qwen":
		b.runtime.Silence = 300 * time.Millisecond
	case fault == "nologin" && name == "opencode": // it would take a free hosted model
		maps.DeleteFunc(b.cfg.Env, func(key, _ string) bool { return strings.HasSuffix(key, "_API_KEY") })
	}
	return b
}

// TestFault_EndsInItsClass plays each fault of each agent, which has committed its work before: only the fault makes the
// turn fail, with the class, the type and the words of that fault.
func TestFault_EndsInItsClass(t *testing.T) {
	for fault, ends := range faults {
		require.Len(t, ends, len(names()), fault)
		for i, name := range names() {
			t.Run(fault+" "+name, func(t *testing.T) {
				b := faulty(t, fault, name)
				b.cfg.Env[fakeCommits] = "1"
				if ends[i] == unseen {
					require.Zero(t, b.run(), b)
					require.Equal(t, true, b.one("agent.completed")["success"])
					return
				}
				b.fails(ends[i])
			})
		}
	}
}

// TestFault_WithoutACommit checks that no agent's word for a success is believed where the work is missing.
func TestFault_WithoutACommit(t *testing.T) {
	for fault, ends := range faults {
		for i, name := range names() {
			if ends[i] != unseen {
				continue
			}
			t.Run(fault+" "+name, func(t *testing.T) {
				faulty(t, fault, name).fails(end{"agent_error", unseen.kind, unseen.says})
			})
		}
	}
}

// fails checks that the attempt fails as it should.
func (b *bench) fails(want end) {
	b.Helper()
	require.Equal(b, 1, b.run(), b)
	require.Empty(b, b.server.Of("agent.completed"))
	failed := b.one("agent.error")
	require.Equal(b, []any{want.class, want.kind}, []any{failed["failure_class"], failed["error_type"]}, failed["error"])
	require.Contains(b, failed["error"], want.says)
}

// TestTypedFailure checks the failures that two agents send on request.
func TestTypedFailure(t *testing.T) {
	for session, want := range map[string]end{
		"e401-air": {"credentials", "error", "Authentication required"}, "e429-air": {"provider_limit", "limit", "429"}, "e500-air": {"infrastructure", "service", "high demand"},
	} {
		for _, name := range []string{"codex", acp.Claude} {
			if acptest.Sessions(name)[session] == nil {
				continue
			}
			t.Run(session+" "+name, func(t *testing.T) {
				b := faulty(t, session, name)
				b.cfg.Env[fakeCommits] = "1"
				b.fails(want)
				require.Contains(t, b.heard("1"), `"capabilities":["sessionFailure"]`, "omoi asks for it")
			})
		}
	}
}
