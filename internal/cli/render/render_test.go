package render_test

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/omoi-dev/omoi/internal/cli/render"
	"github.com/omoi-dev/omoi/internal/event"
)

func TestClean(t *testing.T) {
	t.Parallel()
	require.Equal(t, "a [31mb c  d", render.Clean("a\x1b[31mb\nc\td\u202e\xff"))
	rapid.Check(t, func(t *rapid.T) {
		got := render.Clean(rapid.String().Draw(t, "text"))
		if strings.ContainsAny(got, "\x1b\r\n\b\x07\u202e\u009b") {
			t.Fatalf("%q", got)
		}
	})
}

func TestElapsed(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]string{
		"-1s": "0.0s", "450ms": "0.4s", "59990ms": "59.9s", "184s": "3m04s", "125m": "2h05m", "76h": "3d04h",
	} {
		d, err := time.ParseDuration(text)
		require.NoError(t, err)
		require.Equal(t, want, render.Elapsed(d))
	}
}

func TestEventLines(t *testing.T) {
	t.Parallel()
	long := strings.Repeat("line\n", 9)
	for _, c := range []struct{ kind, data, want string }{
		{"agent.started", `{"sdk":"scripted","model":"none"}`, "started    scripted, none"},
		{
			"agent.started", `{"sdk":"omoi-agent","credential_takeover":{"kind":"openai","scope":"user","number":2,"limited_number":1,"resets_at":"2026-03-04T05:06:07Z"}}`,
			"started    omoi-agent, openai credential 2 of the user, since credential 1 was rate limited until 2026-03-04 05:06:07 UTC",
		},
		{"agent.heartbeat", `{"status":"running"}`, ""},
		{"agent.message", `{"content":"one\ntwo"}`, "message    one\n                     two"},
		{"agent.tool_use", `{"tool":"Bash","input":{"command":"python3 x.py"}}`, "tool       Bash  python3 x.py"},
		{"agent.tool_use", `{"tool":"Odd","input":{"n":1}}`, `tool       Odd  {"n":1}`},
		{"agent.tool_result", `{"result":"126\n"}`, "output     126"},
		{"agent.tool_result", `{"result":"no","is_error":true}`, "error      no"},
		{"agent.tool_result", `{"result":` + quote(long) + `}`, "… 5 lines more"},
		{"agent.tool_result", `{"result":""}`, ""},
		{
			"agent.file_edited", `{"file_path":"a.py","change_type":"modified","lines_added":1,"lines_removed":2,"diff_preview":"--- a\n+++ b\n@@ -1 +1 @@\n-x\n+y\n"}`,
			"edit       a.py  +1 -2\n                     -x\n                     +y",
		},
		{
			"agent.file_edited", `{"file_path":"b.py","old_path":"a.py","change_type":"renamed","lines_added":0,"lines_removed":0}`,
			"rename     a.py → b.py  +0 -0",
		},
		{"agent.file_edited", `{"file_path":"a.py","change_type":"deleted","lines_added":0,"lines_removed":2}`, "delete     a.py  +0 -2"},
		{"agent.committed", `{"commit":"abc","files":2,"bytes":9,"left_out":[]}`, "committed  by omoi: 2 files that the agent left uncommitted"},
		{"agent.committed", `{"files":1,"left_out":["\"big\" was left out: it is large"]}`, `by omoi: 1 file that the agent left uncommitted. "big" was left out: it is large`},
		{"agent.completed", `{"success":true,"turns":3,"cost_usd":0.25,"final_output":"ok"}`, "completed  3 turns, $0.25, ok"},
		{"agent.completed", `{"success":true,"turns":1,"final_output":"a\nb"}`, "completed  1 turn, a\n                     b"},
		{"agent.completed", `{"final_output":` + quote(long) + `}`, "… 5 lines more. Next: omoi logs 456789ab --json"},
		{"iteration.completed", `{"iteration_num":2,"total_cost_usd":0.020999999999999998}`, "iteration  2 done, $0.021 so far"},
		{"agent.checkpoint", `{"checkpoint":2,"files":3,"torn":true}`, "checkpoint files changed while they were read"},
		{
			"agent.system_message", `{"subtype":"api_retry","metadata":{"attempt":4,"max_retries":10,"error_status":401,"error":"authentication_failed"}}`,
			"model      the endpoint answered 401 (authentication_failed), retry 4 of 10",
		},
		{"agent.restored", `{"checkpoint":"1.14","files":3}`, "restored   files of checkpoint 1.14"},
		{"agent.checkpoint_failed", `{"reason":"disk_full","error":"write object: no space left on device"}`, "checkpoint failed: write object: no space left on device"},
		{"agent.restore_failed", `{"checkpoint":"1.14","error":"its pack is damaged"}`, "not restored its pack is damaged"},
		{
			"agent.tool_refused", `{"command":"npm publish","reason":"The contract forbids it.","can_be_allowed":true}`,
			"refused    npm publish\n                     The contract forbids it.\n                     Next: omoi allow 456789ab 57",
		},
		{"agent.tool_allowed", `{"file_path":"go.mod"}`, "allowed    go.mod"},
		{"agent.tool_unchecked", `{"command":"make","error":"read the limits: EOF"}`, "unchecked  read the limits: EOF"},
		{"agent.waiting", `{}`, `waiting    for a message: omoi send 456789ab "<text>"`},
		{
			"agent.waiting", `{"question":"Which database?\n- PostgreSQL"}`,
			"asks       Which database?\n                     - PostgreSQL\n                     Next: omoi answer 456789ab \"<answer>\"",
		},
		{"agent.completed", `{"success":false}`, "failed"},
		{"agent.error", `{"error":"it broke"}`, "error      it broke"},
		{"something.new", `{"task_id":"x","n":1,"a":"b\u001b","in":{"x":2}}`, `something.new a: b , in: {"x":2}, n: 1`},
		{"agent.setup_started", `{"command":"make\ndeps"}`, "setup      make deps"},
		{"agent.setup_completed", `{"success":true,"exit_code":0,"duration_ms":2300}`, "setup      took 2.3s"},
		{
			"agent.setup_completed", `{"success":false,"exit_code":3,"outcome":"exited","output":"no\nluck","duration_ms":100}`,
			"setup      ended with exit code 3, took 0.1s\n                     no\n                     luck",
		},
		{"agent.setup_completed", `{"success":false,"exit_code":-1,"outcome":"out_of_memory","duration_ms":100}`, "setup      ended by out of memory, took 0.1s"},
		{
			"continuous.started", `{"goal":"x","limits":{"max_iterations":10,"max_cost_usd":5,"max_duration_seconds":3600}}`,
			"iteration  until its work passes, for at most 10 iterations, $5.00, 1h00m",
		},
		{"continuous.started", `{"limits":{}}`, "iteration  until its work passes"},
		{"iteration.completion_signal", `{"iteration_num":2}`, "iteration  2 signals completion"},
		{"agent.message", `not json`, "message"},
		{"agent.file_edited", `{"file_path":{"odd":1},"lines_added":"x"}`, `edit       {"odd":1}  +0 -0`},
	} {
		start := time.Now()
		lines := &render.Lines{Start: start, Task: "456789ab", Live: true}
		e := event.Event{Attempt: 1, Sequence: 57, Type: c.kind, Data: json.RawMessage(c.data), CreatedAt: start.Add(1500 * time.Millisecond)}
		got := strings.Join(lines.Event(e), "\n")
		if c.want == "" {
			require.Empty(t, got, c.kind)
			continue
		}
		require.True(t, strings.HasPrefix(got, "    1.5s  "), got)
		require.Contains(t, got, c.want)
	}
}

func TestEventLines_HintOfARefusal(t *testing.T) {
	t.Parallel()
	const hint = "Next: omoi allow 456789ab 57"
	for _, c := range []struct{ live, can, hinted bool }{{true, true, true}, {false, true, false}, {true, false, false}} {
		lines := &render.Lines{Task: "456789ab", Live: c.live}
		data := fmt.Sprintf(`{"command":"npm publish","reason":"The contract forbids it.","can_be_allowed":%t}`, c.can)
		got := strings.Join(lines.Event(event.Event{Attempt: 1, Sequence: 57, Type: "agent.tool_refused", Data: json.RawMessage(data)}), "\n")
		require.Contains(t, got, "The contract forbids it.")
		require.Equal(t, c.hinted, strings.Contains(got, hint), "%+v: %s", c, got)
	}
}

func TestBrief(t *testing.T) {
	t.Parallel()
	for kind, c := range map[string]struct{ data, want string }{
		"agent.tool_use":       {`{"tool":"Bash","input":{"command":"make\ttest"}}`, "Bash make test"},
		"agent.heartbeat":      {`{"status":"waiting"}`, "waiting"},
		"agent.tool_completed": {`{"tool":"Bash"}`, ""},
		"agent.waiting":        {`{"question":"Which?"}`, "Which?"},
		"something.new":        {`{"n":1}`, "n: 1"},
	} {
		require.Equal(t, c.want, render.Brief(kind, json.RawMessage(c.data)), kind)
	}
}

func TestEventLines_AttemptsAndLateEvents(t *testing.T) {
	t.Parallel()
	lines := &render.Lines{Start: time.Now()}
	e := event.Event{Attempt: 1, Type: "agent.message", Data: json.RawMessage(`{"content":"x"}`), SandboxID: "abcdefghijklmnopqrstuvwxyz"}
	require.Len(t, lines.Event(e), 1)
	e.Attempt, e.Late = 2, true
	got := lines.Event(e)
	require.Len(t, got, 2)
	require.Contains(t, got[0], "2 starts in sandbox stuvwxyz")
	require.Contains(t, got[1], "after the attempt's end")
}

func TestTable_AlignsColoredCells(t *testing.T) {
	t.Parallel()
	rows := [][]string{{"A", "B"}, {render.Style{Color: true}.Red("xx"), "y"}, {"ü", "z"}}
	require.Equal(t, "A   B\n\x1b[31mxx\x1b[0m  y\nü   z\n", render.Style{}.Table(rows))
}

func TestTable_FitsTheTerminal(t *testing.T) {
	t.Parallel()
	rows := [][]string{{"A", "TITLE"}, {"xxxxxxxx", "a title that is much too long"}, {"y", "short"}}
	require.Equal(t, "A         TITLE\nxxxxxxxx  a title that i…\ny         short\n", render.Style{Width: 25}.Table(rows))
	require.Contains(t, render.Style{Width: 5}.Table(rows), "a title…\n", "a rest is left of the last column")
	require.Contains(t, render.Style{}.Table(rows), "too long")
	require.Empty(t, render.Style{Width: 5}.Table(nil))
}

func quote(s string) string {
	return `"` + strings.ReplaceAll(s, "\n", `\n`) + `"`
}
