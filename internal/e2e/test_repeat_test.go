package e2e_test

import (
	"context"
	"encoding/json"
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"

	apiclient "github.com/omoi-dev/omoi/api/client"
	"github.com/omoi-dev/omoi/internal/contract"
	"github.com/omoi-dev/omoi/internal/task"
)

// The test of the repository fails until code.txt says "new". It passes every second time if code.txt says "flaky", and does not
// build without code.txt.
const oldTest = `test -e code.txt || { echo "SyntaxError: no code.txt"; exit 1; }
grep -q flaky code.txt && { test -e ~/once && exit 0; touch ~/once; exit 1; }
grep -q new code.txt
`

// testedRepo returns a repository with one file of code and one test, in a project with settings.
func (r *rig) testedRepo(settings string) string {
	r.t.Helper()
	bare := r.repo()
	work := filepath.Join(filepath.Dir(bare), "work")
	require.NoError(r.t, os.MkdirAll(filepath.Join(work, "tests"), 0o755))
	require.NoError(r.t, os.WriteFile(filepath.Join(work, "code.txt"), []byte("old\n"), 0o644))
	require.NoError(r.t, os.WriteFile(filepath.Join(work, "tests", "check.sh"), []byte(oldTest), 0o644))
	for _, args := range [][]string{
		{"add", "-A"}, {"-c", "user.name=t", "-c", "user.email=t@example.com", "commit", "-q", "-m", "code and its test"}, {"push", "-q", bare, "main"},
	} {
		res := r.run("git", append([]string{"-C", work}, args...)...)
		require.Zero(r.t, res.code, res.stderr)
	}
	_, err := r.api.CreateProject(context.Background(), apiclient.CreateProjectRequest{Repo: bare, Settings: json.RawMessage(settings)})
	require.NoError(r.t, err)
	return bare
}

// tested is an execution_config with a test command, whose agent runs a shell command and commits.
func tested(command, shell string, more ...string) json.RawMessage {
	config := map[string]any{"script": map[string]any{"steps": []any{
		map[string]any{"write": map[string]any{"path": "feedback.txt", "content": "{{feedback}}"}},
		map[string]any{"bash": shell},
		map[string]any{"commit": "work"},
		map[string]any{"complete": map[string]any{}},
	}}}
	if command != "" {
		config["test_command"] = command
	}
	for _, key := range more {
		config[key] = false
	}
	raw, err := json.Marshal(config)
	if err != nil {
		panic(err) // cannot happen: texts and lists
	}
	return raw
}

const (
	check  = "sh tests/check.sh"
	honest = "echo new > code.txt"
	cheats = "echo true > tests/check.sh"
)

// TestTestRepeat has agents that earn the green of their tests, and agents that do not.
func TestTestRepeat(t *testing.T) {
	t.Parallel()
	r := newRig(t, nil).up()
	repo, hasty, off := r.testedRepo(`{}`), r.testedRepo(`{"test_timeout_seconds":1}`), r.testedRepo(`{"repeat_tests":false}`)
	type want struct {
		outcome               task.TestOutcome
		why                   string
		own, withBase, atBase task.TestResult
	}
	cases := map[string]struct {
		repo   string
		config json.RawMessage
		want   *want
	}{
		"honest":         {repo, tested(check, honest), &want{task.TestsGreen, "", task.TestPassed, task.TestPassed, ""}},
		"added test":     {repo, tested(check, honest+"; echo true > tests/more.sh"), &want{task.TestsGreen, "", task.TestPassed, task.TestPassed, ""}},
		"names its own":  {repo, tested("sh tests/more.sh", "echo true > tests/more.sh"), &want{task.TestsNotComparable, task.TestsAdded, task.TestPassed, task.TestFailed, task.TestFailed}},
		"cheat":          {repo, tested(check, cheats), &want{task.TestsChangedOnly, "", task.TestPassed, task.TestFailed, task.TestFailed}},
		"red":            {repo, tested(check, "echo more > other.txt"), &want{task.TestsRed, "", task.TestFailed, task.TestFailed, task.TestFailed}},
		"does not build": {repo, tested(check, "git mv code.txt new.txt; "+cheats), &want{task.TestsNotComparable, task.TestsNotBuilt, task.TestPassed, task.TestNotBuilt, ""}},
		"flaky":          {repo, tested(check, "echo flaky > code.txt"), &want{task.TestsNotComparable, task.TestsFlaky, task.TestFlaky, task.TestFlaky, ""}},
		"over its limit": {hasty, tested("sleep 600", honest), &want{task.TestsNotComparable, task.TestsTimedOut, task.TestTimedOut, task.TestTimedOut, ""}},
		"no command":     {repo, tested("", honest), nil},
		"switched off":   {off, tested(check, honest), nil},
	}
	ids := map[string]string{}
	for name, c := range cases {
		ids[name] = r.submit(c.repo, c.config, retries(0)).ID
	}
	repeated := 0
	for name, c := range cases {
		got := r.ends(ids[name], task.StatusCompleted).Attempts[0].TestRepeat
		if c.want == nil {
			require.Nil(t, got, name)
			continue
		}
		repeated++
		require.NotNil(t, got, name)
		require.Equal(t, *c.want, want{got.Outcome, got.Why, got.Own, got.WithBase, got.AtBase}, name)
	}
	require.Equal(t, len(cases)+repeated, r.count(`SELECT count(*) FROM sandboxes`), "one sandbox of the agent, one of the repeat")
	r.noLeaks()
	shown := r.omoi("show", ids["cheat"])
	require.Contains(t, shown.stdout, "Passed only with the changed tests (tests/check.sh).")
	require.Contains(t, r.omoi("sandbox", "show", ids["cheat"]).stdout, r.task(ids["cheat"]).Attempts[0].SandboxID, "not that of the repeat")
}

// TestTestRepeat_ContractForbidsChangedTests expects another attempt, which gets the reason.
func TestTestRepeat_ContractForbidsChangedTests(t *testing.T) {
	t.Parallel()
	r := newRig(t, nil).up()
	repo := r.testedRepo(`{}`)
	learns := `if grep -q "put back tests/check.sh" feedback.txt; then git checkout -q HEAD~1 -- tests; ` + honest + `; else ` + cheats + `; fi`
	got := r.ends(r.submit(repo, tested(check, learns, "tests_may_change")).ID, task.StatusCompleted)
	require.Len(t, got.Attempts, 2)
	first, second := got.Attempts[0], got.Attempts[1]
	require.Equal(t, []any{"failed", task.ClassAgentError, task.ReasonTestsChanged}, []any{first.Outcome, first.FailureClass, first.EndReason.Code})
	require.Equal(t, task.TestsChangedOnly, first.TestRepeat.Outcome)
	require.Equal(t, task.TestsGreen, second.TestRepeat.Outcome)
	r.noLeaks()
}

// TestTestRepeat_WorkerKilled kills the worker before the repeat, and while the tests run.
func TestTestRepeat_WorkerKilled(t *testing.T) {
	t.Parallel()
	r := newRig(t, nil).up()
	repo := r.testedRepo(`{}`)
	made := r.submit(repo, tested(check, honest))
	r.scheduled(made.ID, contract.RepeatTests)
	r.kill("worker")
	r.startWorker()
	got := r.ends(made.ID, task.StatusCompleted)
	require.Equal(t, task.TestsGreen, got.Attempts[0].TestRepeat.Outcome)

	made = r.submit(repo, tested("if test -e ~/.kept; then true; else touch ~/.kept; sleep 600; fi", honest), retries(0))
	r.eventually("the tests run", func() bool {
		return r.count(`SELECT count(*) FROM attempts a JOIN sandboxes s ON s.id = a.tests_sandbox WHERE a.task_id = $1 AND s.state = 'running'`, made.ID) == 1
	})
	r.kill("worker")
	r.startWorker()
	r.eventually("another sandbox runs the tests", func() bool {
		return r.count(`SELECT count(*) FROM sandboxes WHERE task_id = $1 AND state = 'running'`, made.ID) >= 2 &&
			r.count(`SELECT count(*) FROM sandboxes WHERE task_id = $1`, made.ID) == 3
	})
	require.Zero(t, r.omoi("cancel", made.ID, "--reason", "seen enough").code)
	r.ends(made.ID, task.StatusCancelled)
	r.noLeaks()
	r.gapless()
}
