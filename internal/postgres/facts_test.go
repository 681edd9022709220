package postgres_test

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/omoi-dev/omoi/internal/contract"
	"github.com/omoi-dev/omoi/internal/postgres"
	"github.com/omoi-dev/omoi/internal/task"
)

func TestLoadEvents(t *testing.T) {
	t.Parallel()
	w := newWorld(t, postgres.Config{})
	a := w.task(w.project(5), "")
	live := w.running(a)
	for _, e := range [][2]string{
		{"agent.started", `{}`}, {"agent.tool_use", `{"big": "text"}`}, {"agent.heartbeat", `{}`}, {"agent.error", `{"error": "story"}`},
	} {
		w.event(live.SandboxID, e[0], e[1])
	}
	read := func(after int64) contract.Digest {
		d, err := w.store.LoadEvents(t.Context(), contract.LoadEventsInput{SandboxID: live.SandboxID, After: after})
		require.NoError(t, err)
		return d
	}
	all := read(0)
	require.Equal(t, int64(1), all.From)
	require.Equal(t, int64(4), all.To)
	require.Len(t, all.Milestones, 2)
	story, err := w.store.Text(t.Context(), all.Milestones[1].ErrorID)
	require.NoError(t, err)
	require.Equal(t, "story", story)
	rest := read(2)
	require.Equal(t, int64(3), rest.From)
	require.Equal(t, all.Counters, rest.Counters, "counters are cumulative, wherever it begins")
	w.exec(`UPDATE sandboxes SET relayed = 2, counters = '{"agent.started": 1, "agent.tool_use": 1}'`)
	require.Equal(t, rest, read(2), "as the relay left them")
	require.Equal(t, int64(4), read(4).To)
	require.Empty(t, read(4).Milestones)
	_, err = w.store.LoadEvents(t.Context(), contract.LoadEventsInput{SandboxID: "nobody"})
	require.Equal(t, task.CodeNotFound, task.CodeOf(err))
}

// An empty run has an account of itself, and no event that shows work.
func TestEmptyRun(t *testing.T) {
	t.Parallel()
	w := newWorld(t, postgres.Config{})
	const account = `{"success": true, "turns": 1, "input_tokens": 10, "final_output": " \n"}`
	for name, c := range map[string]struct {
		kind, data, end string
		empty           bool
	}{
		"nothing":               {"agent.waiting", `{}`, account, true},
		"a thought":             {"agent.thinking", `{"content": "hm"}`, account, true},
		"an empty answer":       {"agent.message", `{"content": "\n"}`, account, true},
		"an answer":             {"agent.message", `{"content": "It is 4."}`, account, false},
		"a long answer":         {"agent.message", `{"content": "` + strings.Repeat("long ", 30_000) + `"}`, account, false},
		"a tool call":           {"agent.tool_use", `{"tool": "Bash"}`, account, false},
		"a changed file":        {"agent.file_edited", `{}`, account, false},
		"an unknown type":       {"spec.progress", `{}`, account, false},
		"a result":              {"agent.waiting", `{}`, `{"turns": 1, "final_output": "It is 4."}`, false},
		"no output, no turns":   {"agent.waiting", `{}`, `{"turns": 0, "final_output": null}`, true},
		"a transcript":          {"agent.waiting", `{}`, `{"turns": 1, "session_id": "s", "transcript_b64": "e30K"}`, true},
		"without an account":    {"agent.waiting", `{}`, `{"success": true}`, false},
		"no end":                {"agent.waiting", `{}`, "", false},
		"an end, then an empty": {"agent.completed", `{"turns": 1, "final_output": "It is 4."}`, account, true},
	} {
		live := w.running(w.task(w.project(5), ""))
		w.event(live.SandboxID, "agent.started", `{}`)
		w.event(live.SandboxID, c.kind, c.data)
		if c.end != "" {
			w.event(live.SandboxID, "agent.completed", c.end)
		}
		empty, err := w.store.EmptyRun(t.Context(), live.SandboxID)
		require.NoError(t, err, name)
		require.Equal(t, c.empty, empty, name)
	}
}
