package activities_test

import (
	"context"
	"encoding/json"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"go.temporal.io/sdk/activity"
	"go.temporal.io/sdk/interceptor"
	"go.temporal.io/sdk/temporal"
	"go.temporal.io/sdk/testsuite"
	"go.temporal.io/sdk/worker"
	"go.temporal.io/sdk/workflow"

	"github.com/omoi-dev/omoi/internal/agent/agentconfig"
	"github.com/omoi-dev/omoi/internal/contract"
	"github.com/omoi-dev/omoi/internal/receipt"
	"github.com/omoi-dev/omoi/internal/sandbox"
	"github.com/omoi-dev/omoi/internal/task"
)

func (s *fakeStore) BeginTestRepeat(_ context.Context, of contract.SandboxRef) (id, former string, err error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	former, s.testsBox = s.testsBox, task.NewSandboxID()
	row := s.rows[of.SandboxID]
	row.ID, row.State, row.Salvage, row.Labels = s.testsBox, task.SandboxIntended, nil, nil
	s.rows[row.ID] = row
	return row.ID, former, nil
}

func (s *fakeStore) SaveTestRepeat(_ context.Context, _ contract.SandboxRef, r task.TestRepeat) error {
	s.repeats = append(s.repeats, r)
	return s.call("save_test_repeat")
}

func (s *fakeStore) TestRepeat(_ context.Context, _, commit, command string) (*task.TestRepeat, error) {
	for _, r := range s.repeats {
		if r.Commit == commit && r.Command == command && r.Why != task.TestsUnavailable {
			return &r, nil
		}
	}
	return nil, nil //nolint:nilnil // none
}

// repeats arranges work whose test command ends with the exit codes and outputs of results, by tree.
func (b *bench) repeats(results map[string]sandbox.ExecResult) contract.RepeatTestsInput {
	b.running()
	b.store.work.Execution.TestCommand, b.store.work.RepeatTests = "make test", true
	tree := ""
	b.provider.onExec = func(_ *box, args []string) (sandbox.ExecResult, error) {
		switch {
		case args[1] == "tests":
			out, err := json.Marshal(agentconfig.TestSides{Own: "own", WithBase: "mixed", Base: "base", Changed: []string{"a_test.go"}, Tests: 1})
			return sandbox.ExecResult{Stdout: out}, err
		case args[0] == "git":
			tree = args[len(args)-1]
			return sandbox.ExecResult{}, nil
		}
		require.Equal(b, []string{"sh", "make test"}, []string{args[0], args[len(args)-1]})
		return results[tree], nil
	}
	return contract.RepeatTestsInput{SandboxRef: b.ref(), Commit: "c2"}
}

func TestRepeatTests_OnceForACommit(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	in := b.repeats(nil)
	for range 2 {
		out, err := do[contract.RepeatedTests](b, b.activities().RepeatTests, in)
		require.NoError(t, err)
		require.Equal(t, task.TestsGreen, out.Outcome)
	}
	require.Equal(t, 4, b.provider.count("exec -c"), "two checkouts and two runs of the tests, once")
	require.Equal(t, 1, b.provider.count("exec tests"))
	got := b.store.repeats[0]
	require.Equal(t, []any{"c2", "base0", "make test", b.store.testsBox}, []any{got.Commit, got.Base, got.Command, got.SandboxID})
	require.NotEqual(t, boxID, got.SandboxID, "a sandbox of its own")
	require.Positive(t, b.runs.count("cleanup "+got.SandboxID))
	require.NotContains(t, string(b.provider.boxes[got.SandboxID].files[agentconfig.ConfigPath]), "v1.key", "the sandbox gets no token")
}

// Of a task of a comparison, the tests of the base commit are run too, before any work is: tests that pass there show nothing.
func TestRepeatTests_OfAComparisonTestTheBase(t *testing.T) {
	t.Parallel()
	fails := sandbox.ExecResult{ExitCode: 1}
	for name, c := range map[string]struct {
		results map[string]sandbox.ExecResult
		edit    func(*bench)
		trees   []string
		atBase  task.TestResult
		outcome task.TestOutcome
	}{
		"fails before":      {map[string]sandbox.ExecResult{"base": fails}, func(*bench) {}, []string{"base", "base", "mixed", "own"}, task.TestFailed, task.TestsGreen},
		"passes before":     {nil, func(*bench) {}, []string{"base", "mixed", "own"}, task.TestPassed, task.TestsGreen},
		"fails always":      {map[string]sandbox.ExecResult{"base": fails, "mixed": fails, "own": fails}, func(*bench) {}, []string{"base", "base", "mixed", "mixed", "own", "own"}, task.TestFailed, task.TestsRed},
		"setup fails":       {map[string]sandbox.ExecResult{"base": {ExitCode: 125}}, func(b *bench) { b.store.work.Setup = "make deps" }, []string{"base", "mixed", "own"}, "", task.TestsGreen},
		"not of comparison": {map[string]sandbox.ExecResult{"base": fails}, func(b *bench) { b.store.work.Compared = false }, []string{"mixed", "own"}, "", task.TestsGreen},
	} {
		b := newBench(t)
		in := b.repeats(c.results)
		b.store.work.Compared = true
		c.edit(b)
		var trees []string
		answer := b.provider.onExec
		b.provider.onExec = func(at *box, args []string) (sandbox.ExecResult, error) {
			if args[0] == "git" {
				trees = append(trees, args[len(args)-1])
			}
			return answer(at, args)
		}
		require.NoError(t, act(b, b.activities().RepeatTests, in), name)
		require.Equal(t, c.trees, trees, name)
		require.Equal(t, []any{c.atBase, c.outcome}, []any{b.store.repeats[0].AtBase, b.store.repeats[0].Outcome}, name)
	}
}

// A try that fails leaves its sandbox to the cleanup, and the next try has another one.
func TestRepeatTests_EachTryHasItsOwnSandbox(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	in := b.repeats(nil)
	b.provider.loseAnswerOf("exec tests")
	app, _ := refused(t, act(b, b.activities().RepeatTests, in))
	require.False(t, app.NonRetryable())
	first := b.store.testsBox
	require.Positive(t, b.runs.count("cleanup "+first))
	require.NoError(t, act(b, b.activities().RepeatTests, in))
	require.NotEqual(t, first, b.store.testsBox)
	require.Len(t, b.store.repeats, 1)
}

// A sandbox that fails again and again blocks nothing, and a later attempt with the same commit repeats the tests.
func TestRepeatTests_SandboxFails(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	in := b.repeats(nil)
	answer := b.provider.onExec
	b.provider.onExec = func(*box, []string) (sandbox.ExecResult, error) { return sandbox.ExecResult{}, errDown }
	out, err := retried[contract.RepeatedTests](b, 3, contract.RepeatTests, b.activities().RepeatTests, in)
	require.NoError(t, err)
	require.Equal(t, task.TestsNotComparable, out.Outcome)
	require.Equal(t, task.TestsUnavailable, b.store.repeats[0].Why)
	require.Equal(t, 3, b.provider.count("exec tests"))

	b.provider.onExec = answer
	out, err = do[contract.RepeatedTests](b, b.activities().RepeatTests, in)
	require.NoError(t, err)
	require.Equal(t, task.TestsGreen, out.Outcome)
}

func TestRepeatTests_RunReachesItsLimit(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	in := b.repeats(nil)
	b.store.work.TestTimeout = time.Nanosecond
	answer := b.provider.onExec
	b.provider.onExec = func(at *box, args []string) (sandbox.ExecResult, error) {
		if args[0] == "sh" {
			return sandbox.ExecResult{}, errDown
		}
		return answer(at, args)
	}
	out, err := do[contract.RepeatedTests](b, b.activities().RepeatTests, in)
	require.NoError(t, err)
	require.Equal(t, task.TestsNotComparable, out.Outcome)
	require.Equal(t, task.TestsTimedOut, b.store.repeats[0].Why)
}

func TestRepeatTests_SetupFails(t *testing.T) {
	t.Parallel()
	for setup, want := range map[string][]any{"make deps": {task.TestsNotComparable, task.TestsSetupFailed}, "": {task.TestsRed, ""}} {
		b := newBench(t)
		of := sandbox.ExecResult{ExitCode: 125}
		in := b.repeats(map[string]sandbox.ExecResult{"mixed": of, "own": of, "base": of})
		b.store.work.Setup = setup
		require.NoError(t, act(b, b.activities().RepeatTests, in))
		require.Equal(t, want, []any{b.store.repeats[0].Outcome, b.store.repeats[0].Why}, setup)
	}
}

func TestRepeatTests_ContractForbidsChangedTests(t *testing.T) {
	t.Parallel()
	weak := map[string]sandbox.ExecResult{"mixed": {ExitCode: 1, Stdout: []byte("want 2, got 3; token hunter22hunter22")}, "base": {ExitCode: 1}}
	b := newBench(t)
	in := b.repeats(weak)
	out, err := do[contract.RepeatedTests](b, b.activities().RepeatTests, in)
	require.NoError(t, err, "without such a contract the result is reported only")
	require.Equal(t, task.TestsChangedOnly, out.Outcome)
	require.Equal(t, task.TestFailed, b.store.repeats[0].AtBase)

	b = newBench(t)
	in = b.repeats(weak)
	b.store.work.TestsFixed, b.store.work.Execution.Env = true, map[string]string{"API_TOKEN": "hunter22hunter22"}
	app, details := refused(t, act(b, b.activities().RepeatTests, in))
	require.True(t, app.NonRetryable())
	require.Equal(t, []any{task.ClassAgentError, task.ReasonTestsChanged}, []any{details.Class, details.EndReason.Code})
	require.NotContains(t, app.Error(), "want 2", "no output in the history")
	text := b.store.texts[details.ErrorID]
	require.Contains(t, text, "put back a_test.go as of commit base0")
	require.Contains(t, text, "want 2, got 3", "the next attempt gets the output")
	require.NotContains(t, text, "hunter22")
}

// The result and the reason of a verbose test command are at its end; a package that does not build may be named at its beginning.
func TestRepeatTests_OutputLongerThanTheLimit(t *testing.T) {
	t.Parallel()
	const built, unbuilt = "--- FAIL: TestSum: want 2, got 3", "FAIL example [build failed]"
	long := strings.Repeat("=== RUN\n", sandbox.MaxExecOutput/4)
	for output, want := range map[string]task.TestResult{long + built: task.TestFailed, long + unbuilt: task.TestNotBuilt, unbuilt + "\n" + long: task.TestNotBuilt} {
		for _, of := range []sandbox.ExecResult{{ExitCode: 1, Stdout: []byte(output)}, {ExitCode: 1, Stderr: []byte(output)}} {
			b := newBench(t)
			in := b.repeats(map[string]sandbox.ExecResult{"mixed": of})
			b.store.work.TestsFixed = true
			err := act(b, b.activities().RepeatTests, in)
			require.Equal(t, want, b.store.repeats[0].WithBase)
			if want == task.TestFailed {
				_, details := refused(t, err)
				require.Contains(t, b.store.texts[details.ErrorID], built, "the next attempt gets the output")
			}
		}
	}
}

func TestCollectWork_SaysWhetherTestsAreRepeated(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		arrange func(*bench)
		want    bool
	}{
		"a test command": {func(*bench) {}, true},
		"none":           {func(b *bench) { b.store.work.Execution.TestCommand = "" }, false},
		"switched off":   {func(b *bench) { b.store.work.RepeatTests = false }, false},
		"a report":       {func(b *bench) { b.store.work.Mode = task.ModeExploration }, false},
	} {
		b := newBench(t)
		b.running()
		b.store.work.Execution.TestCommand, b.store.work.RepeatTests = "make test", true
		c.arrange(b)
		b.collects(committed())
		out, err := do[contract.Collected](b, b.activities().CollectWork, b.ref())
		require.NoError(t, err, name)
		require.Equal(t, c.want, out.RepeatTests, name)
		require.Equal(t, c.want, b.provider.count("stop") == 1, "an agent whose work is tested is stopped first: %s", name)
	}
}

// retried runs an activity as its workflow does, with tries tries.
func retried[Out any](b *bench, tries int32, name string, fn, in any) (out Out, err error) {
	var suite testsuite.WorkflowTestSuite
	env := suite.NewTestWorkflowEnvironment()
	env.SetWorkerOptions(worker.Options{Interceptors: []interceptor.WorkerInterceptor{b.activities().Errors()}})
	env.RegisterActivityWithOptions(fn, activity.RegisterOptions{Name: name})
	env.ExecuteWorkflow(func(ctx workflow.Context) (out Out, err error) {
		ctx = workflow.WithActivityOptions(ctx, workflow.ActivityOptions{StartToCloseTimeout: time.Minute, RetryPolicy: &temporal.RetryPolicy{MaximumAttempts: tries}})
		return out, workflow.ExecuteActivity(ctx, name, in).Get(ctx, &out)
	})
	if err := env.GetWorkflowError(); err != nil {
		return out, err
	}
	return out, env.GetWorkflowResult(&out)
}

// The repeat is optional: finished work is published also if its agent cannot be stopped.
func TestCollectWork_AgentThatCannotBeStopped(t *testing.T) {
	t.Parallel()
	for _, unended := range []error{errDown, task.Errorf(task.CodeConflict, "another sandbox has the name")} {
		b := newBench(t)
		b.running()
		b.store.work.Execution.TestCommand, b.store.work.RepeatTests = "make test", true
		b.collects(committed())
		b.provider.unended = unended
		out, err := retried[contract.Collected](b, 3, contract.CollectWork, b.activities().CollectWork, b.ref())
		require.NoError(t, err, unended)
		require.NotEmpty(t, out.Head, unended)
		require.False(t, out.RepeatTests, "its agent may still change what is tested: %s", unended)
	}
}

// A provider that cannot stop the agent at first does not switch the repeat off.
func TestCollectWork_StopsTheAgentInAnotherTry(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	b.running()
	b.store.work.Execution.TestCommand, b.store.work.RepeatTests = "make test", true
	b.collects(committed())
	b.provider.loseAnswerOf("stop")
	out, err := retried[contract.Collected](b, 3, contract.CollectWork, b.activities().CollectWork, b.ref())
	require.NoError(t, err)
	require.True(t, out.RepeatTests)
	require.Equal(t, 2, b.provider.count("stop"))
}

// The repeat replaces what omoi-agent reports, which a program in its sandbox could forge.
func TestPullRequest_SaysWhatTheRepeatShows(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	yes := true
	r := task.TestRepeat{Own: task.TestPassed, WithBase: task.TestFailed, AtBase: task.TestPassed, Changed: []string{"a_test.go"}, Added: 2, Command: "make test", Commit: "c2"}.Judged()
	b.store.story = receipt.PullRequestData{TestsPassed: &yes, Task: task.Task{ID: taskID, Attempts: []task.Attempt{{Number: 1, TestRepeat: &r}}}}
	body := strings.ReplaceAll(published(t, b), gap, "")
	require.Contains(t, body, "`make test`: Passed only with the changed tests (`a_test.go`). With the tests of the base commit the work fails; the base commit passes them. "+
		"Run by omoi at commit `c2`, after the agent had ended, in a sandbox of its own in which no agent ran. Tests that the agent added: 2 files.")
	require.NotContains(t, body, "omoi-agent reports")
}
