package e2e_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/omoi-dev/omoi/internal/task"
	claudetest "github.com/omoi-dev/omoi/internal/testkit/claude"
	modeltest "github.com/omoi-dev/omoi/internal/testkit/model"
)

// asksDatabase is a call of Claude Code's tool for questions.
func asksDatabase() modeltest.Tool {
	option := func(label string) map[string]any {
		return map[string]any{"label": label, "description": "It is " + label}
	}
	return modeltest.Tool{Name: "AskUserQuestion", Input: map[string]any{"questions": []any{map[string]any{
		"question": "Which database?", "header": "Database", "multiSelect": false, "options": []any{option("PostgreSQL"), option("SQLite")},
	}}}}
}

// TestClaudeAsks answers a question of the real program while it waits, and a second one after the task was suspended for it. The
// session continues with both answers.
func TestClaudeAsks(t *testing.T) {
	t.Parallel()
	for _, version := range claudetest.Versions() {
		t.Run(version, func(t *testing.T) {
			t.Parallel()
			r := newRig(t, map[string]string{
				"OMOI_CLAUDE_BIN": putClaude(t, version), "OMOI_TASK_QUESTION_WAIT": "20s", "OMOI_CHECKPOINT_INTERVAL": "200ms",
			}).up()
			repo := r.repo()
			model := modeltest.New(t,
				modeltest.Turn{Text: "I ask.", Tools: []modeltest.Tool{asksDatabase()}},
				modeltest.Turn{Tools: []modeltest.Tool{claudeBash("echo one > draft")}, Expect: modeltest.Saying("PostgreSQL, version 17")},
				modeltest.Turn{Text: "I ask again.", Tools: []modeltest.Tool{asksDatabase()}},
				modeltest.Turn{
					Tools:  []modeltest.Tool{claudeBash("cat draft && git add -A && git commit -qm Choose && git push -q origin HEAD")},
					Expect: modeltest.Saying("I ask again.", "SQLite after all"),
				},
				modeltest.Turn{Text: "The draft says {{last_tool_result}}."},
			)
			made := r.byClaude(repo, model, nil)
			first := r.asked(made.ID, false)
			require.Equal(t, []string{"PostgreSQL", "SQLite"}, first.Question.Options)
			answered := r.omoi("answer", made.ID, "PostgreSQL, version 17")
			require.Zero(t, answered.code, answered.stderr)
			second := r.asked(made.ID, true)
			require.NotEqual(t, first.Question.ID, second.Question.ID)
			require.Contains(t, r.omoi("show", made.ID).stdout, "Which database?")
			r.eventually("the sandbox is deleted", func() bool { return r.count(`SELECT count(*) FROM sandboxes WHERE gone_at IS NULL`) == 0 })
			answered = r.omoi("answer", made.ID, "SQLite after all")
			require.Zero(t, answered.code, answered.stderr)
			done := r.ends(made.ID, task.StatusCompleted)
			require.Equal(t, 2, done.AttemptCount)
			require.Equal(t, "one", r.gitIn(repo, "show", text(done.Branch)+":draft"))
			r.noLeaks()
			r.gapless()
		})
	}
}
