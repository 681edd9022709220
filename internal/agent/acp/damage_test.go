//nolint:paralleltest // a process has one runner of commands
package acp_test

import (
	"encoding/json"
	"slices"
	"strconv"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	acptest "github.com/omoi-dev/omoi/internal/testkit/acp"
)

// damageCopies is the number of damaged copies of each message.
const damageCopies = 4

// TestDamage_OfATurn lets whole turns run with damaged copies of each message of the agent before the intact one: each
// event is still reported, in order, and the turn ends in the same way.
func TestDamage_OfATurn(t *testing.T) {
	inserted := 0
	for i, name := range names() {
		for _, session := range []string{"basic", "drop", "e500"} {
			t.Run(name+" "+session, func(t *testing.T) {
				intact, all := newBench(t, name, session, ""), newBench(t, name, session, "")
				all.cfg.Env[fakeDamage], all.cfg.Env[fakeSeed] = strconv.Itoa(damageCopies), strconv.Itoa(i)
				require.Equal(t, intact.run(), all.run(), all)
				acptest.RequireWithin(t, intact.reported(), all.reported(), name+" "+session)
				require.Len(t, all.server.Of("agent.tool_result"), len(all.server.Of("agent.tool_use")), "each call has an end")
				inserted += damageCopies * messages(name, session)
			})
		}
	}
	require.Greater(t, inserted, 1000)
}

// messages returns the number of messages of the agent in a session.
func messages(name, session string) (n int) {
	for _, f := range acptest.Sessions(name)[session] {
		if f.In != nil {
			n++
		}
	}
	return n
}

// reported returns the events of the agent's messages as texts, and how the turn ended.
func (b *bench) reported() (all []string) {
	b.Helper()
	whole := []string{"agent.message", "agent.thinking", "agent.tool_use", "agent.tool_completed", "agent.tool_result", "agent.stream_error"}
	for _, e := range b.server.Events() {
		switch {
		case slices.Contains(whole, e.Type):
			delete(e.Data, "turn")
			delete(e.Data, "final_output_length")
			text, err := json.Marshal(e.Data)
			require.NoError(b, err)
			all = append(all, e.Type+" "+string(text))
		case e.Type == "agent.error":
			all = append(all, "agent.error "+e.Data["failure_class"].(string)+" "+e.Data["error_type"].(string))
		case e.Type == "agent.completed":
			all = append(all, e.Type)
		}
	}
	return all
}

// TestDamage_OfAnAnswer damages the answers to omoi's own requests: an attempt always ends, once, and says why.
func TestDamage_OfAnAnswer(t *testing.T) {
	all := names()
	for i, method := range slices.Repeat([]string{"initialize", "session/new", "session/set_mode", "session/prompt"}, 6) {
		name := all[i/4]
		t.Run(name+" "+method+" "+strconv.Itoa(i), func(t *testing.T) {
			b := newBench(t, name, "basic", "")
			b.inRepository()
			b.runtime.Patience, b.runtime.Silence = 300*time.Millisecond, 300*time.Millisecond
			b.cfg.Env[fakeCommits], b.cfg.Env[fakeSpoils], b.cfg.Env[fakeSeed] = "1", method, strconv.Itoa(i)
			code, failed := b.run(), b.server.Of("agent.error")
			require.Equal(t, []int{code, 1 - code}, []int{len(failed), len(b.server.Of("agent.completed"))}, b)
			require.Len(t, b.server.Of("agent.tool_result"), len(b.server.Of("agent.tool_use")))
			for _, f := range failed {
				require.NotEmpty(t, f.Data["error"])
			}
		})
	}
}

// TestDamage_OfTheEnd checks that only a readable answer to the prompt ends a turn well.
func TestDamage_OfTheEnd(t *testing.T) {
	for says, kind := range map[string]string{
		// a request of the agent, of which the method is damaged, has the ID of the prompt
		`echo '{"jsonrpc":"2.0","id":'$id',"methxd":"session/request_permission","params":{}}'; text yes; result`: "",
		`text yes; reply '[]'`:                "damaged_answer",
		`text yes; reply '{"stopReason":{}}'`: "damaged_answer",
	} {
		b := newBench(t, "codex", "basic", "")
		b.scripted(says + "; hear")
		if kind == "" {
			require.Zero(t, b.run(), b)
			require.Equal(t, "yes", b.one("agent.completed")["final_output"])
			continue
		}
		b.fails(end{"infrastructure", kind, "an answer that omoi cannot read"})
	}
}
