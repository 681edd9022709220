package supervise_test

import (
	"context"
	"fmt"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/omoi-dev/omoi/internal/event"
	"github.com/omoi-dev/omoi/internal/supervise"
)

func TestChanges_TestsFirst(t *testing.T) {
	t.Parallel()
	s := newTape().edit("old.go", "+a").edit("retry.go", "-const maxRetries = 3", "+const maxRetries = 30").edit("Makefile", "+build:").
		edit("p_test.go", "-\trequire.Equal(t, 1, n)").edit("back.go", "+a").edit("back.go", "-a").edit("go.sum", "+x").edit("new.go", "+b").subject()
	var files []string
	for _, c := range supervise.Changes(&s) {
		files = append(files, c.File)
		require.Contains(t, c.Diff, "@@")
	}
	require.Equal(t, []string{"p_test.go", "Makefile", "retry.go", "new.go", "old.go"}, files)
}

func TestChanges_Without(t *testing.T) {
	t.Parallel()
	s := newTape().add(event.AgentFileEdited, map[string]any{"file_path": "a_test.go", "change_type": "modified", "diff_preview": "The file is not text.", "full_diff": nil}).subject()
	require.Empty(t, supervise.Changes(&s))
}

func TestChanges_AtMost40kB(t *testing.T) {
	t.Parallel()
	s := newTape().times(20, func(tp *tape, i int) { tp.edit(fmt.Sprintf("f%d.go", i), "+"+strings.Repeat("x", 9000)) }).edit("p_test.go", "+y").subject()
	list, sum := supervise.Changes(&s), 0
	for _, c := range list {
		sum += len(c.Diff)
	}
	require.Equal(t, 40_000, sum)
	require.Equal(t, "p_test.go", list[0].File)
}

func TestFailures(t *testing.T) {
	t.Parallel()
	s := newTape().fails("go test ./...", strings.Repeat("noise\n", 200)+"--- FAIL: TestOne (0.00s)\nWant 1").fails("go test ./...", "--- FAIL: TestTwo (0.00s)").
		fails("go test ./...", "--- FAIL: TestTwo (0.00s)").bash("go test ./...", "ok").subject()
	list := supervise.Failures(&s)
	require.Len(t, list, 2, "equal failures are shown once")
	require.Contains(t, list[0].Text, "TestTwo")
	require.Contains(t, list[1].Text, "Want 1", "the end of the output")
}

func TestOutput_StopReasons(t *testing.T) {
	t.Parallel()
	cost := func(stop string) map[string]any { return map[string]any{"total_cost_usd": 1, "stop_reason": stop} }
	s := newTape().add("agent.assistant_message", cost("tool_use")).add("agent.assistant_message", cost("max_tokens")).
		add(event.AgentCompleted, map[string]any{"success": true, "stop_reason": "exit_0", "final_output": "Done."}).subject()
	var texts []string
	for _, l := range supervise.Output(s, 10) {
		texts = append(texts, l.Kind+" "+l.Text)
	}
	require.Equal(t, []string{"stop max_tokens.", "end exit_0. Done."}, texts)
}

// counting is a model that counts its calls.
type counting struct{ calls int }

func (m *counting) Judge(_ context.Context, _ supervise.Subject, a supervise.Analysis) (supervise.Analysis, error) {
	m.calls++
	return a, nil
}

// A model is asked unless a rule is sure and no change touches tests, configuration or limits.
func TestAnalyze_AsksUnlessSettled(t *testing.T) {
	t.Parallel()
	loops := func(tp *tape) *tape {
		return tp.times(6, func(tp *tape, _ int) { tp.bash("cat a", "same") })
	}
	for name, c := range map[string]struct {
		tape *tape
		want int
	}{
		"no rule is sure":              {newTape().edit("p.go", "+a"), 1},
		"a rule is sure":               {loops(newTape()), 0},
		"a rule is sure, code changed": {loops(newTape().edit("p.go", "+a")), 0},
		"a test changed":               {loops(newTape().edit("p_test.go", "+a")), 1},
		"configuration changed":        {loops(newTape().edit("ci.yaml", "+a")), 1},
		"a limit changed":              {loops(newTape().edit("p.go", "-timeout = 1", "+timeout = 100")), 1},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			m := &counting{}
			supervise.Analyze(t.Context(), c.tape.subject(), supervise.DefaultSettings(), m)
			require.Equal(t, c.want, m.calls)
		})
	}
	m, settings := &counting{}, supervise.DefaultSettings()
	settings.Ignored = []string{"ci.yaml"}
	supervise.Analyze(t.Context(), loops(newTape().edit("ci.yaml", "+a")).subject(), settings, m)
	require.Zero(t, m.calls, "the settings ignore the file")
}
