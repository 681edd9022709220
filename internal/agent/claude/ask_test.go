//nolint:paralleltest // a process has one runner of commands
package claude_test

import (
	"encoding/json"
	"testing"

	"github.com/stretchr/testify/require"

	agenttest "github.com/omoi-dev/omoi/internal/testkit/agent"
)

// asked returns the control request of a call, as both supported versions print it.
func asked(id, tool string, input any) step {
	return printed(map[string]any{"type": "control_request", "request_id": id, "request": map[string]any{
		"subtype": "can_use_tool", "tool_name": tool, "input": input, "tool_use_id": id,
	}})
}

// question is the input of AskUserQuestion.
func question(texts ...string) map[string]any {
	all := []any{}
	for _, text := range texts {
		all = append(all, map[string]any{"question": text, "header": "H", "multiSelect": false, "options": []any{
			map[string]any{"label": "PostgreSQL", "description": "a server"}, map[string]any{"label": "SQLite", "description": "a file"},
		}})
	}
	return map[string]any{"questions": all}
}

// decision returns what the program was answered to a control request.
func (b *bench) decision(id string) (d struct {
	Behavior string         `json:"behavior"`
	Message  string         `json:"message"`
	Input    map[string]any `json:"updatedInput"` //nolint:tagliatelle // the program's name
},
) {
	b.Helper()
	var answer struct {
		ID       string          `json:"request_id"`
		Response json.RawMessage `json:"response"`
	}
	require.NoError(b, json.Unmarshal([]byte(b.reached(id)), &answer))
	require.Equal(b, id, answer.ID)
	require.NoError(b, json.Unmarshal(answer.Response, &d))
	return d
}

func TestAsk_AUserAnswersAQuestion(t *testing.T) {
	b := newBench(t, nil, []step{
		{Hear: true},
		asked("r1", "AskUserQuestion", question("Which database?")),
		{Hear: true},
		{Answered: "r1"},
		answers("t1", "ok"),
		says("m1", "I go on."), says("m2", "With PostgreSQL."), ends("With PostgreSQL.", 0.01),
		{End: true},
	})
	wait := b.start()
	b.has("agent.waiting", 1)
	b.server.Say(agenttest.Message{ID: "g", Type: "guardian_nudge", Content: "go on", SenderKind: "guardian"}) // answers nothing
	b.has("agent.message_injected", 1)
	b.tell("a", "user_message", "PostgreSQL")
	d := b.decision("r1")
	require.Equal(t, "allow", d.Behavior)
	require.Equal(t, map[string]any{"Which database?": "PostgreSQL"}, d.Input["answers"])
	require.Len(t, d.Input["questions"], 1)
	require.Equal(t, 0, wait())
	asked := b.server.Of("agent.waiting")[0].Data
	require.Equal(t, "Which database?\n- PostgreSQL: a server\n- SQLite: a file", asked["question"])
	require.Equal(t, []any{"PostgreSQL", "SQLite"}, asked["options"])
	said := b.server.Of("agent.message")
	require.ElementsMatch(t, []any{"a", "g"}, []any{said[0].Data["in_reply_to"], said[1].Data["in_reply_to"]})
	require.Contains(t, b.server.Acks(), "a")
}

// Questions of one call have one answer; a second call waits for the first.
func TestAsk_SeveralQuestions(t *testing.T) {
	b := newBench(t, nil, []step{
		{Hear: true},
		asked("r1", "AskUserQuestion", question("Which?", "Where?")), asked("r2", "AskUserQuestion", question("When?")),
		answers("other", "work of a subagent"),
		{Print: `{"type":"stream_event","event":{"type":"message_stop"}}`},
		{Answered: "r1"},
		{Answered: "r2"},
		says("m2", "Done."), ends("Done.", 0.01),
		{End: true},
	})
	wait := b.start()
	b.has("agent.waiting", 3) // other work ends the wait, so the question is repeated
	b.tell("a", "user_message", "1. This, 2. Here")
	require.Equal(t, map[string]any{"Which?": "1. This, 2. Here", "Where?": "1. This, 2. Here"}, b.decision("r1").Input["answers"])
	b.has("agent.waiting", 4)
	b.tell("b", "user_message", "Now")
	require.Equal(t, map[string]any{"When?": "Now"}, b.decision("r2").Input["answers"])
	require.Equal(t, 0, wait())
	all := b.server.Of("agent.waiting")
	require.Equal(t, all[0].Data["question"], all[2].Data["question"])
	require.NotContains(t, all[0].Data, "options", "one answer is no option of two questions")
	require.Equal(t, "When?\n- PostgreSQL: a server\n- SQLite: a file", all[3].Data["question"])
}

// A call that needs a permission is refused at once by default, and is a question if the task says so.
func TestAsk_Permissions(t *testing.T) {
	tape := []step{{Hear: true}, asked("r1", "WebFetch", map[string]any{"url": "https://x.example"}), {Answered: "r1"}, says("m2", "Done."), ends("Done.", 0.01), {End: true}}
	b := newBench(t, nil, tape)
	require.Equal(t, 0, b.run())
	require.Equal(t, "deny", b.decision("r1").Behavior)
	require.Empty(t, b.server.Of("agent.waiting"))
	for answer, want := range map[string]string{"allow": "allow", "No, read the docs": "deny"} {
		b := newBench(t, map[string]string{"ASK_USER": "permissions"}, tape)
		wait := b.start()
		b.has("agent.waiting", 1)
		b.tell("a", "user_message", answer)
		d := b.decision("r1")
		require.Equal(t, want, d.Behavior)
		require.Equal(t, 0, wait())
		data := b.server.Of("agent.waiting")[0].Data
		require.Equal(t, []any{"permission", []any{"Allow", "Deny"}}, []any{data["question_kind"], data["options"]})
		if want == "allow" {
			require.Equal(t, map[string]any{"url": "https://x.example"}, d.Input)
		} else {
			require.Equal(t, answer, d.Message)
		}
	}
}

func TestAsk_AnInterruptEndsTheQuestion(t *testing.T) {
	b := newBench(t, nil, []step{
		{Hear: true},
		asked("r1", "AskUserQuestion", question("Which database?")),
		{Interrupted: true},
		{Hear: true},
		says("m2", "Done."), ends("Done.", 0.01),
		{End: true},
	})
	wait := b.start()
	b.has("agent.waiting", 1)
	b.tell("i", "interrupt", "stop")
	b.has("agent.interrupted", 1)
	b.has("agent.waiting", 2)
	b.tell("a", "user_message", "go on without it")
	require.Equal(t, 0, wait())
	require.Equal(t, "Done.", b.one("agent.completed")["final_output"])
}

func TestAsk_InvalidValue(t *testing.T) {
	b := newBench(t, map[string]string{"ASK_USER": "always"})
	require.NotZero(t, b.run())
	require.Equal(t, "invalid_input", b.one("agent.error")["failure_class"])
}
