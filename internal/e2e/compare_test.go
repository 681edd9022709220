package e2e_test

import (
	"encoding/json"
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"

	apiclient "github.com/omoi-dev/omoi/api/client"
	"github.com/omoi-dev/omoi/internal/candidate"
	"github.com/omoi-dev/omoi/internal/task"
)

// compared writes a script that does what the model of its candidate says, and a test command, and returns their files.
func (r *rig) compared(testCommand, shell string, more ...any) (config, script string) {
	r.t.Helper()
	steps := append([]any{map[string]any{"bash": shell}, map[string]any{"commit": "work"}}, more...)
	files := map[string]any{"script.json": map[string]any{"steps": steps}, "config.json": map[string]any{"test_command": testCommand}}
	for name, content := range files {
		raw, err := json.Marshal(content)
		require.NoError(r.t, err)
		require.NoError(r.t, os.WriteFile(filepath.Join(r.dir, name), raw, 0o644))
	}
	return filepath.Join(r.dir, "config.json"), filepath.Join(r.dir, "script.json")
}

// comparison reads the comparison that a command printed.
func (r *rig) comparison(args ...string) (c apiclient.Comparison) {
	r.t.Helper()
	got := r.omoi(append(args, "--json")...)
	require.Zero(r.t, got.code, got.stdout+got.stderr)
	require.NoError(r.t, json.Unmarshal([]byte(got.stdout), &c), got.stdout)
	return c
}

const byModel = `case "$MODEL" in good) echo new > code.txt;; wide) echo new > code.txt; seq 50 > more.txt;; *) echo bad > code.txt;; esac`

// TestCompare_TestsThenTheChangeDecide compares three agents. CLI and worker are killed while they work, and a second CLI with the same key
// finds the same tasks.
func TestCompare_TestsThenTheChangeDecide(t *testing.T) {
	t.Parallel()
	r := newRig(t, nil).up()
	repo := r.testedRepo(`{}`)
	config, script := r.compared(check, byModel)
	args := []string{
		"run", "make it new", "--repo", repo, "--provider", "local", "--script", script, "--execution-config", config, "--max-retries", "0",
		"--budget-tokens", "1000", "--budget-wall-clock", "1h", "--idempotency-key", "k",
	}
	args = append(args, "--compare", "scripted:bad,scripted:wide,scripted:good")
	r.start("compare", nil, append(args, "--wait")...)
	r.eventually("the tasks are accepted", func() bool { return r.count(`SELECT count(*) FROM tasks`) == 3 })
	r.kill("compare")
	begun := r.comparison(args...)
	require.Equal(t, task.Budget{Tokens: 999, WallClockS: 3600}, begun.Budget)
	require.Equal(t, 3, r.count(`SELECT count(*) FROM tasks WHERE budget = '{"tokens": 333, "wall_clock_s": 3600}' AND ticket_id = $1`, begun.TicketID))
	r.kill("worker")
	r.startWorker()
	again := r.omoi(append(args, "--wait")...)
	require.Zero(t, again.code, again.stdout+again.stderr)
	require.Contains(t, again.stdout, "the comparison exists already")
	require.Contains(t, again.stdout, "scripted:wide")
	require.Equal(t, 3, r.count(`SELECT count(*) FROM tasks`))
	require.Equal(t, 1, r.count(`SELECT count(*) FROM tickets`))

	got := r.comparison("compare", begun.TicketKey)
	require.True(t, got.Ended)
	bad, wide, good := got.Candidates[0], got.Candidates[1], got.Candidates[2]
	require.Equal(t, []task.TestOutcome{task.TestsRed, task.TestsGreen, task.TestsGreen}, []task.TestOutcome{bad.Tests.Outcome, wide.Tests.Outcome, good.Tests.Outcome})
	for _, c := range got.Candidates {
		require.Equal(t, task.TestFailed, c.Tests.AtBase, "the tests fail before the work")
	}
	require.Equal(t, []string{good.TaskID, "change", ""}, []string{got.Recommendation.TaskID, got.Recommendation.By, got.Recommendation.Why})
	require.Equal(t, []int{2, 1, 52, 2}, []int{*good.Lines, *good.Files, *wide.Lines, *wide.Files})
	for _, c := range got.Candidates {
		require.NotEmpty(t, r.git("-C", repo, "rev-parse", "--verify", *c.Branch), "all branches stay")
	}
	require.Contains(t, again.stdout, "Recommendation: "+good.TaskKey+" (scripted:good): of 2 tasks that passed the tests, the smallest change: 2 lines.")
	other := r.omoi(append(args[:len(args)-1], "scripted:bad,scripted:wide")...)
	require.NotZero(t, other.code, "the same key with other agents")
	r.noLeaks()
}

// TestCompare_TestsThatPassBeforeDecideNothing has a test command that passes without any work.
func TestCompare_TestsThatPassBeforeDecideNothing(t *testing.T) {
	t.Parallel()
	r := newRig(t, nil).up()
	config, script := r.compared("sh tests/check.sh || true", byModel)
	got := r.omoi("run", "make it new", "--repo", r.testedRepo(`{}`), "--provider", "local", "--script", script, "--execution-config", config, "--max-retries", "0",
		"--compare", "scripted:wide,scripted:good", "--wait")
	require.Zero(t, got.code, got.stdout+got.stderr)
	found := r.comparison("compare", "-")
	for _, c := range found.Candidates {
		require.Equal(t, []any{task.TestsGreen, task.TestPassed}, []any{c.Tests.Outcome, c.Tests.AtBase})
	}
	require.Equal(t, []string{"", candidate.WhyPassedBefore}, []string{found.Recommendation.TaskID, found.Recommendation.Why})
	r.noLeaks()
}

// TestCompare_OneBaseCommit moves the default branch before the candidates start.
func TestCompare_OneBaseCommit(t *testing.T) {
	t.Parallel()
	r := newRig(t, nil).up()
	repo := r.testedRepo(`{}`)
	base := r.gitIn(repo, "rev-parse", "main")
	r.kill("worker")
	config, script := r.compared(check, byModel)
	r.comparison("run", "make it new", "--repo", repo, "--script", script, "--execution-config", config, "--max-retries", "0", "--compare", "scripted:bad,scripted:good")
	r.gitIn(repo, "update-ref", "refs/heads/main", r.gitIn(repo, "commit-tree", "-p", base, "-m", "meanwhile", "main^{tree}"))
	r.startWorker()
	for _, c := range r.comparison("compare", "-").Candidates {
		got := r.ends(c.TaskID, task.StatusCompleted)
		require.Equal(t, base, *got.Base)
		require.Equal(t, base, r.gitIn(repo, "rev-parse", *got.Branch+"~1"))
	}
	require.Empty(t, r.comparison("compare", "-").Recommendation.Why)
	r.noLeaks()
}

// TestCompare_OneBudget has one agent that uses up its part. The others keep theirs, and the comparison waits for the user.
func TestCompare_OneBudget(t *testing.T) {
	t.Parallel()
	r := newRig(t, nil).up()
	repo := r.testedRepo(`{}`)
	_, script := r.compared(check, `echo "$MODEL" > code.txt`,
		map[string]any{"usage": map[string]any{"input_tokens": 100, "output_tokens": 100, "cost_usd": 0.01}}, map[string]any{"wait_message": map[string]any{"timeout_s": 600}})
	got := r.omoi("run", "spend", "--repo", repo, "--provider", "local", "--script", script, "--compare", "scripted:a,scripted:b", "--budget-tokens", "300", "--wait")
	require.Equal(t, 5, got.code, got.stdout+got.stderr)
	found := r.comparison("compare", "-")
	require.Equal(t, int64(300), found.Budget.Tokens)
	require.Equal(t, candidate.WhyOpen, found.Recommendation.Why)
	used := 0.0
	for _, c := range found.Candidates {
		require.Equal(t, task.BlockedBudget, c.Blocked)
		used += c.Tokens
	}
	require.InDelta(t, 400, used, 0, "each used its part of 150 and one answer more")
	for _, c := range found.Candidates {
		require.Zero(t, r.omoi("cancel", c.TaskKey).code)
	}
	found = r.comparison("compare", found.TicketKey)
	require.Equal(t, candidate.WhyNotCompleted, found.Recommendation.Why)
	r.noLeaks()
}
