package e2e_test

import (
	"path/filepath"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/omoi-dev/omoi/internal/task"
	claudetest "github.com/omoi-dev/omoi/internal/testkit/claude"
	modeltest "github.com/omoi-dev/omoi/internal/testkit/model"
)

// TestClaudeIsTaken takes a session of Claude Code from its sandbox, continues it in another folder, and gives it back: at each place an
// edit of a file that the session wrote elsewhere works at once.
func TestClaudeIsTaken(t *testing.T) {
	t.Parallel()
	for _, version := range claudetest.Versions() {
		t.Run(version, func(t *testing.T) {
			t.Parallel()
			claude := putClaude(t, version)
			r := newRig(t, map[string]string{"OMOI_CLAUDE_BIN": claude, "OMOI_CHECKPOINT_INTERVAL": "200ms"}).up()
			repo := r.repo()
			clone := r.clone(repo)
			mine := filepath.Join(filepath.Dir(repo), "mine")
			edit := func(folder, before, after string) modeltest.Tool {
				return modeltest.Tool{Name: "Edit", Input: map[string]any{"file_path": filepath.Join(folder, "n.txt"), "old_string": before, "new_string": after}}
			}
			thinks, over := make(chan struct{}), make(chan struct{})
			defer close(over)
			model := modeltest.New(t,
				modeltest.Turn{Text: "I write one.", Tools: []modeltest.Tool{{Name: "Write", Input: map[string]any{"file_path": "/workspace/n.txt", "content": "one\n"}}}},
				modeltest.Turn{Begun: thinks, Hold: over},
				modeltest.Turn{Text: "I go on here.", Tools: []modeltest.Tool{edit(mine, "one", "two")}, Expect: modeltest.Saying("I write one.", mine+"/n.txt")},
				modeltest.Turn{Text: "Here it is two.", Expect: modeltest.Saying("has been updated")},
				modeltest.Turn{Tools: []modeltest.Tool{edit("/workspace", "two", "three")}, Expect: modeltest.Saying("Here it is two.", "/workspace/n.txt")},
				modeltest.Turn{Tools: []modeltest.Tool{claudeBash("git add -A && git commit -qm three && cat n.txt")}, Expect: modeltest.Saying("has been updated")},
				modeltest.Turn{Text: "Now it is {{last_tool_result}}."},
			)
			made := r.byClaude(repo, model, nil)
			<-thinks
			r.eventually("a checkpoint has the file", func() bool {
				return r.count(`SELECT count(*) FROM checkpoints WHERE task_id = $1 AND sealed_at IS NOT NULL AND files = 1`, made.ID) > 0
			})
			took := r.take(clone, made.ID, mine)
			require.Equal(t, "cd "+mine+" && claude --resume "+took.Session, took.Command)

			got := r.within(5*time.Minute, "env", "-C", mine, "ANTHROPIC_BASE_URL="+model.URL, "ANTHROPIC_API_KEY="+plantedModelKey, "DISABLE_AUTOUPDATER=1",
				claude, "--resume", took.Session, "--permission-mode", "acceptEdits", "--print", "Make it two.")
			require.Zero(t, got.code, got.stdout+got.stderr)
			require.Contains(t, got.stdout, "Here it is two.")

			gave := r.inside(mine, "give")
			require.Zero(t, gave.code, gave.stderr)
			again := r.until(made.ID, "begins again", func(t task.Task) bool { return t.AttemptCount == 2 && t.Attempts[1].SandboxID != "" })
			r.eventually("the next agent calls a tool", func() bool { return r.stored(again.Attempts[1].SandboxID, "agent.tool_use") > 0 })
			done := r.ends(made.ID, task.StatusCompleted)
			require.Equal(t, 2, done.AttemptCount)
			require.Equal(t, "three", r.gitIn(repo, "show", text(done.Branch)+":n.txt"))
			require.Contains(t, r.omoi("transcript", made.ID).stdout, "Make it two.")
			r.noLeaks()
		})
	}
}
