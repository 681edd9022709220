package taskcmd_test

import (
	"encoding/json"
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/omoi-dev/omoi/api/client"
	"github.com/omoi-dev/omoi/internal/cli/exit"
	"github.com/omoi-dev/omoi/internal/event"
	"github.com/omoi-dev/omoi/internal/task"
	modeltest "github.com/omoi-dev/omoi/internal/testkit/model"
)

func TestGuardianScore(t *testing.T) {
	t.Parallel()
	f := newFake(t)
	got := f.omoi("guardian", "score")
	require.Zero(t, got.code, got.err)
	require.Regexp(t, `loop +\d+ +\d+ +\d+ +[01]\.\d\d +[01]\.\d\d`, got.out)
	require.Contains(t, got.out, "judged by rules")
	require.Regexp(t, `agent scripted +\d+ +\d+ +0\.\d\d +0\.\d\d to [01]\.\d\d`, got.out)
	require.Regexp(t, `(?s)Validation corpus: first scores.*mutator loop +\d+ +\d+`, got.out)
	var score struct {
		Trajectories int `json:"trajectories"`
		Whole        struct {
			Precision float64 `json:"precision"`
		} `json:"whole"`
		Validation struct {
			Counts []struct {
				Cases int     `json:"cases"`
				Low   float64 `json:"low"`
				High  float64 `json:"high"`
			} `json:"counts"`
		} `json:"validation"`
	}
	require.NoError(t, json.Unmarshal([]byte(f.omoi("guardian", "score", "--json").out), &score))
	require.GreaterOrEqual(t, score.Trajectories, 20)
	require.Positive(t, score.Whole.Precision)
	require.NotEmpty(t, score.Validation.Counts)
	for _, c := range score.Validation.Counts {
		require.Positive(t, c.Cases)
		require.Less(t, c.Low, c.High)
	}
	empty := f.omoi("guardian", "score", "--dir", t.TempDir())
	require.Equal(t, exit.Usage, empty.code)
	require.Contains(t, empty.err, "omoi guardian corpus add")
	require.Equal(t, exit.NeedsYou, f.omoi("guardian", "score", "--model", "judge-1").code)
}

func TestCorpusMutate(t *testing.T) {
	t.Parallel()
	f := newFake(t)
	dir := t.TempDir()
	run, err := filepath.Abs("../../supervise/testdata/corpus/healthy-small-fix.jsonl")
	require.NoError(t, err)
	mutate := []string{"guardian", "corpus", "mutate", run, "--mutator", "loop", "--seed", "7", "--dir", dir}
	got := f.omoi(mutate...)
	require.Zero(t, got.code, got.err)
	require.FileExists(t, filepath.Join(dir, "loop-7-healthy-small-fix.jsonl"))
	require.Equal(t, exit.Usage, f.omoi(mutate...).code, "a name is used once")
	score := f.omoi("guardian", "score", "--dir", dir)
	require.Zero(t, score.code, score.err)
	require.Regexp(t, `mutator loop +1 +1 +1\.00`, score.out)
	for _, args := range [][]string{{run}, {run, "--mutator", "typo"}, {filepath.Join(dir, "none.jsonl"), "--mutator", "loop"}, {}} {
		require.Equal(t, exit.Usage, f.omoi(append([]string{"guardian", "corpus", "mutate", "--dir", dir}, args...)...).code, args)
	}
}

func TestCorpusAdd(t *testing.T) {
	t.Parallel()
	f := newFake(t)
	f.tasks = []client.Task{{ID: idA, Title: "Loop", Description: "Look at x.", Agent: "scripted", Status: task.StatusRunning}}
	for i := range 12 {
		id := string(rune('a' + i))
		use := `{"tool":"Bash","tool_use_id":"` + id + `","input":{"command":"cat x"},"transcript_path":"/home/me/secret"}`
		result := `{"tool_use_id":"` + id + `","result":"y in /srv/box/workspace/x of ` + idA + `"}`
		f.events = append(f.events,
			client.Event{Sequence: int64(2*i + 1), Attempt: 1, SandboxID: "box", Type: event.AgentToolUse, Data: json.RawMessage(use), CreatedAt: time.Unix(int64(i), 0)},
			client.Event{Sequence: int64(2*i + 2), Attempt: 1, SandboxID: "box", Type: "agent.tool_result", Data: json.RawMessage(result), CreatedAt: time.Unix(int64(i), 0)},
		)
	}
	f.done = true
	dir := t.TempDir()
	add := []string{"guardian", "corpus", "add", idA, "--dir", dir, "--label", "loop", "--name", "loop-cat"}
	require.Equal(t, exit.Usage, f.omoi(add...).code, "a reason is needed")
	add = append(add, "--reason", "It reads the same file again and again.")
	got := f.omoi(add...)
	require.Zero(t, got.code, got.err)
	raw, err := os.ReadFile(filepath.Join(dir, "loop-cat.jsonl"))
	require.NoError(t, err)
	require.NotContains(t, string(raw), idA)
	require.NotContains(t, string(raw), "/srv")
	require.NotContains(t, string(raw), "/home/me")
	require.Equal(t, exit.Usage, f.omoi(add...).code, "a name is used once")

	input := map[string]any{
		"trajectory_aligned": false, "alignment_score": 0.1, "needs_steering": true, "steering_type": "guidance", "label": "loop",
		"steering_recommendation": "Stop.", "trajectory_summary": "It reads x.", "current_focus": "x", "confidence": 0.9, "evidence": []int{1},
	}
	server := modeltest.New(t, modeltest.Turn{Tools: []modeltest.Tool{{Name: "record_analysis", Input: input}}})
	key := call{env: map[string]string{"ANTHROPIC_API_KEY": "key", "ANTHROPIC_BASE_URL": server.URL}}
	model := f.with(key, "guardian", "score", "--dir", dir, "--model", "judge-1")
	require.Zero(t, model.code, model.err)
	require.Contains(t, model.out, "Trajectories: 1, judged by judge-1")
	require.Regexp(t, `loop +1 +1 +1 +1\.00 +1\.00`, model.out)

	score := f.omoi("guardian", "score", "--dir", dir)
	require.Zero(t, score.code, score.err)
	require.Regexp(t, `loop +1 +1 +1 +1\.00 +1\.00`, score.out)
}
