package supervise_test

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/omoi-dev/omoi/internal/event"
	"github.com/omoi-dev/omoi/internal/supervise"
)

// tape builds the stored events of an agent.
type tape struct {
	rows  []event.Event
	at    time.Time
	calls int
	said  []supervise.Said
}

func start() time.Time { return time.Date(2026, 11, 22, 9, 0, 0, 0, time.UTC) }

func newTape() *tape {
	t := &tape{at: start()}
	return t.add(event.AgentStarted, map[string]any{"model": "scripted"})
}

func (t *tape) add(kind string, data map[string]any) *tape {
	raw, err := json.Marshal(data)
	if err != nil {
		panic(err)
	}
	t.rows = append(t.rows, event.Event{Sequence: int64(len(t.rows) + 1), Type: kind, Data: raw, CreatedAt: t.at})
	return t
}

func (t *tape) wait(d time.Duration) *tape { t.at = t.at.Add(d); return t }

// call adds a tool call with its answer, 2 seconds in total.
func (t *tape) call(tool string, input map[string]any, answer string, failed bool) *tape {
	return t.use(tool, input).result(answer, failed)
}

// use adds a tool call without its answer; result adds the answer.
func (t *tape) use(tool string, input map[string]any) *tape {
	t.calls++
	return t.add(event.AgentToolUse, map[string]any{"tool": tool, "tool_use_id": t.id(), "input": input}).wait(time.Second)
}

func (t *tape) result(answer string, failed bool) *tape {
	return t.add(event.AgentToolResult, map[string]any{"tool_use_id": t.id(), "result": answer, "is_error": failed}).wait(time.Second)
}

// id returns the ID of the newest call.
func (t *tape) id() string { return fmt.Sprintf("toolu_%04d", t.calls) }

// decided reports what the hook decided about the newest call.
func (t *tape) decided(kind string) *tape {
	return t.add(kind, map[string]any{"tool_use_id": t.id(), "refusal": refusal})
}

// refusal is the ID of each refusal on a tape.
const refusal = "0123456789abcdef-01234567"

// allows adds the stored message of a user that allows the refused call once.
func (t *tape) allows() *tape {
	t.told("You may run it once.")
	t.said[len(t.said)-1].Allows = refusal
	return t
}

func (t *tape) bash(command, answer string) *tape {
	return t.call("Bash", map[string]any{"command": command}, answer, false)
}

func (t *tape) fails(command, answer string) *tape {
	return t.call("Bash", map[string]any{"command": command}, answer+"\n[exit code 1]", true)
}

func (t *tape) read(path string) *tape {
	return t.call("Read", map[string]any{"file_path": path}, "text of "+path, false)
}

// edit changes a file by lines that begin with + or -.
func (t *tape) edit(path string, lines ...string) *tape {
	kind, added, removed := "modified", 0, 0
	for _, line := range lines {
		if line[0] == '+' {
			added++
		} else {
			removed++
		}
	}
	switch {
	case len(lines) > 0 && lines[0] == "-*":
		kind, lines = "deleted", lines[1:]
	case len(lines) > 0 && lines[0] == "+*":
		kind, lines = "created", lines[1:]
	}
	diff := "--- a/" + path + "\n+++ b/" + path + "\n@@ -1,9 +1,9 @@\n" + strings.Join(lines, "\n") + "\n"
	return t.add(event.AgentFileEdited, map[string]any{
		"tool_use_id": t.id(), "file_path": path, "change_type": kind,
		"lines_added": added, "lines_removed": removed, "diff_preview": diff, "full_diff": diff,
	}).wait(time.Second)
}

func (t *tape) say(text string) *tape { return t.add("agent.message", map[string]any{"content": text}) }

// system adds a line of Claude Code about itself.
func (t *tape) system(subtype string) *tape {
	line := map[string]any{"type": "system", "subtype": subtype, "task_id": "b", "tool_use_id": "toolu_0001", "status": "completed", "summary": "Done."}
	return t.add(event.AgentSystemMessage, map[string]any{"line_type": "system", "subtype": subtype, "turn": 1, "metadata": line})
}

func (t *tape) told(text string) *tape {
	t.said = append(t.said, supervise.Said{ID: fmt.Sprint("m", len(t.said)), Text: text})
	return t.claims(text)
}

// claims adds a message that only the agent reports.
func (t *tape) claims(text string) *tape {
	return t.add(event.AgentMessageInjected, map[string]any{"message_type": "user_message", "content": text})
}

func (t *tape) spend(usd float64) *tape {
	return t.add("agent.assistant_message", map[string]any{"total_cost_usd": usd, "total_usage": map[string]any{"input_tokens": int64(usd * 300_000)}})
}

func (t *tape) beat(status, tool string, age time.Duration) *tape {
	data := map[string]any{"status": status, "current_tool": nil, "tool_age_ms": nil}
	if tool != "" {
		data["current_tool"], data["tool_age_ms"] = tool, age.Milliseconds()
	}
	return t.add(event.AgentHeartbeat, data)
}

func (t *tape) done() *tape { return t.add(event.AgentCompleted, map[string]any{"success": true}) }

func (t *tape) times(n int, do func(*tape, int)) *tape {
	for i := range n {
		do(t, i)
	}
	return t
}

func (t *tape) subject() supervise.Subject {
	s := supervise.Subject{TaskID: "t", SandboxID: "s", Attempt: 1, Title: "Speed up the parser", Description: "Make the parser faster.", Mode: "implementation"}
	s.Age, s.Said = t.at.Sub(start()), t.said
	s.Read(t.rows, t.at)
	return s
}

// found returns the names of the rules that steer.
func found(s supervise.Subject) []string {
	settings := supervise.DefaultSettings()
	names := []string{}
	for _, f := range supervise.Rules(s, settings).Findings {
		if f.Confidence >= settings.Confidence {
			names = append(names, f.Rule)
		}
	}
	return names
}

// judged compares the findings of a tape with the expected ones.
type judged struct {
	name string
	tape *tape
	with func(*supervise.Subject)
	want []string // empty: no finding
}

func hold(t *testing.T, cases []judged) {
	t.Helper()
	for _, c := range cases {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			s := c.tape.subject()
			if c.with != nil {
				c.with(&s)
			}
			want := c.want
			if want == nil {
				want = []string{}
			}
			require.Equal(t, want, found(s))
		})
	}
}
