package activities

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"maps"
	"strings"
	"time"

	"go.temporal.io/sdk/activity"

	"github.com/omoi-dev/omoi/internal/agent/agentconfig"
	"github.com/omoi-dev/omoi/internal/contract"
	"github.com/omoi-dev/omoi/internal/redact"
	"github.com/omoi-dev/omoi/internal/sandbox"
	"github.com/omoi-dev/omoi/internal/task"
)

// TestRepeats stores the repeats of test commands.
type TestRepeats interface {
	// BeginTestRepeat writes the intent of another sandbox for the repeat, and returns it and the one before it.
	BeginTestRepeat(ctx context.Context, of contract.SandboxRef) (sandboxID, former string, err error)
	SaveTestRepeat(ctx context.Context, of contract.SandboxRef, r task.TestRepeat) error
	// TestRepeat returns the result for a commit of the task and a test command; nil if there is none. A failure of the sandbox is not a
	// result.
	TestRepeat(ctx context.Context, taskID, commit, command string) (*task.TestRepeat, error)
}

const (
	// testTimeout is the default time limit of one run of a test command.
	testTimeout = 10 * time.Minute
	// setupTimeout is the default time limit of the setup command before each run, as of omoi-agent.
	setupTimeout = 15 * time.Minute
	// maxRepeatTries is the number of tries after which a repeat is not comparable.
	maxRepeatTries = 3
	// maxTestOutput is how much of the end of a failed run the next attempt gets, in bytes.
	maxTestOutput = 5000
	// maxChangedTests is the number of changed files that a result names.
	maxChangedTests = 20
)

// repeats reports whether the test command of a task is repeated: omoi puts the repository into the sandboxes of the task.
func repeats(p place, work task.Work) bool {
	return work.RepeatTests && work.Execution.TestCommand != "" && strict(work) && p.exec() && p.machine()
}

// testable reports whether the tests of the work are repeated, and ends the agent first: an agent that runs on could change what is
// tested. If the agent cannot be ended, also not by another try, the work is published without a repeat.
func (a *Activities) testable(ctx context.Context, p place, work task.Work, at *progress[collectPoint]) (bool, error) {
	if !repeats(p, work) {
		return false, nil
	}
	err := a.quiet(ctx, p, at)
	if err != nil && !final(codeOf(err)) && activity.GetInfo(ctx).Attempt < maxRepeatTries {
		return false, err
	}
	if err != nil {
		a.log.WarnContext(ctx, "stop agent failed, its tests are not repeated", slog.String("task_id", work.TaskID), slog.String("error", a.brief(err.Error())))
	}
	return err == nil, nil
}

// RepeatTests runs the test command of the task in a new sandbox, with the test side of the base commit and with that of the work, and
// records the result, once for a commit. The exit codes come from the provider, so nothing that the agent left can forge them. If an
// accepted task contract says that tests must not change, work that passes only with changed tests fails.
func (a *Activities) RepeatTests(ctx context.Context, in contract.RepeatTestsInput) (contract.RepeatedTests, error) {
	_, stop := beating[struct{}](ctx)
	defer stop()
	work, err := a.deps.Tasks.Work(ctx, in.TaskID)
	if err != nil {
		return contract.RepeatedTests{}, fmt.Errorf("read task %s: %w", in.TaskID, err)
	}
	known, err := a.deps.Tests.TestRepeat(ctx, in.TaskID, in.Commit, a.scrub(work.Execution.TestCommand))
	if err != nil {
		return contract.RepeatedTests{}, err
	}
	var output string
	if known == nil {
		if known, output, err = a.repeat(ctx, in, work); err != nil {
			return contract.RepeatedTests{}, ofSandbox(err)
		}
	}
	if err := a.deps.Tests.SaveTestRepeat(ctx, in.SandboxRef, *known); err != nil {
		return contract.RepeatedTests{}, err
	}
	a.cleanUp(ctx, in, known.SandboxID)
	if work.TestsFixed && known.Outcome == task.TestsChangedOnly {
		return contract.RepeatedTests{}, testsChanged(*known, output)
	}
	return contract.RepeatedTests{Outcome: known.Outcome}, nil
}

// testsChanged returns the failure of work that passes only with changed tests. The next attempt's prompt names it.
func testsChanged(r task.TestRepeat, output string) error {
	err := task.Errorf(task.CodeInvalid, "The test command passes only with changed tests, and the task contract says that tests must not change. "+
		"Next: put back %s as of commit %s, and change the code", strings.Join(r.Changed, ", "), r.Base)
	if output != "" {
		err = err.WithCause(errors.New("with the tests of that commit the command fails:\n" + output))
	}
	return classed(task.ClassAgentError, err.WithReason(task.Reason{Code: task.ReasonTestsChanged}))
}

// cleanUp starts the cleanup of a sandbox of a repeat. If it fails, the reaper starts it after the attempt.
func (a *Activities) cleanUp(ctx context.Context, in contract.RepeatTestsInput, sandboxID string) {
	if sandboxID == "" {
		return
	}
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), keepTimeout)
	defer cancel()
	row, err := a.deps.Ledger.LedgerSandbox(ctx, sandboxID)
	if err == nil && row.VerifiedAt == nil {
		err = a.deps.Runs.StartCleanup(ctx, contract.CleanupInput{SandboxID: sandboxID, TaskID: in.TaskID, Attempt: in.Attempt, Reason: "tests repeated"})
	}
	if err != nil {
		a.log.WarnContext(ctx, "start cleanup of the sandbox of repeated tests failed, the reaper starts it", slog.String("sandbox_id", sandboxID), slog.String("error", a.brief(err.Error())))
	}
}

// repeat runs the tests in a sandbox of this try: one in which the tests ran before is not new. A sandbox that fails again and again
// makes the work not comparable, which blocks nothing.
func (a *Activities) repeat(ctx context.Context, in contract.RepeatTestsInput, work task.Work) (*task.TestRepeat, string, error) {
	id, former, err := a.deps.Tests.BeginTestRepeat(ctx, in.SandboxRef)
	if err != nil {
		return nil, "", err
	}
	a.cleanUp(ctx, in, former)
	run := &repeating{
		a: a, work: work,
		out: task.TestRepeat{Changed: []string{}, Command: a.scrub(work.Execution.TestCommand), Commit: in.Commit, Base: work.Base, SandboxID: id},
	}
	limited, cancel := context.WithTimeout(ctx, contract.TestRepeatLimit)
	defer cancel()
	err = run.all(limited)
	switch {
	case err != nil && ctx.Err() == nil && limited.Err() != nil:
		run.out.Why = task.TestsTimedOut
	case err != nil && ctx.Err() == nil && activity.GetInfo(ctx).Attempt >= maxRepeatTries:
		a.log.WarnContext(ctx, "repeat tests failed", slog.String("task_id", in.TaskID), slog.String("error", a.brief(err.Error())))
		run.out.Why = task.TestsUnavailable
	case err != nil:
		a.cleanUp(ctx, in, id)
		return nil, "", err
	}
	run.out.At = time.Now().UTC()
	run.out = run.out.Judged()
	return &run.out, run.output, nil
}

// repeating is one repeat.
type repeating struct {
	a      *Activities
	work   task.Work
	p      place
	out    task.TestRepeat
	output string // end of the failed run with the tests of the base commit
}

// all creates the sandbox and runs the tests. The tests of the base commit go first: those of the work are programs of the agent. The
// base commit is run to say whether a failure is older than the work, and of a task of a comparison always, before any of its work.
func (r *repeating) all(ctx context.Context) error {
	sides, err := r.prepare(ctx)
	if err != nil {
		return err
	}
	r.name(sides)
	if r.work.Compared && sides.Tests > 0 {
		if err := r.atBase(ctx, sides.Base, r.twice); err != nil {
			return err
		}
	}
	same := sides.WithBase == sides.Own
	if !same && sides.Tests > 0 {
		if r.out.WithBase, r.output, err = r.twice(ctx, sides.WithBase); err != nil || r.out.Why != "" {
			return err
		}
	}
	if r.out.Own, _, err = r.twice(ctx, sides.Own); err != nil || r.out.Why != "" {
		return err
	}
	switch {
	case sides.Tests == 0:
		r.out.Why = task.TestsNone
	case same:
		r.out.WithBase = r.out.Own
	}
	if failed := r.out.WithBase == task.TestFailed || r.out.Own == task.TestFailed || r.out.Own == task.TestNotBuilt; !failed || r.out.AtBase != "" {
		return nil
	}
	return r.atBase(ctx, sides.Base, r.once)
}

// atBase runs the tests of the base commit. A setup command that fails there does not count: the work may have changed it.
func (r *repeating) atBase(ctx context.Context, tree string, run func(context.Context, string) (task.TestResult, string, error)) (err error) {
	why := r.out.Why
	r.out.AtBase, _, err = run(ctx, tree)
	r.out.Why = why
	return err
}

// name records how the test sides differ.
func (r *repeating) name(sides agentconfig.TestSides) {
	r.out.Added = sides.Added
	for _, path := range sides.Changed[:min(len(sides.Changed), maxChangedTests)] {
		r.out.Changed = append(r.out.Changed, r.a.brief(path))
	}
}

// prepare creates the sandbox and checks out the work in it. The sandbox gets no token and no credential.
func (r *repeating) prepare(ctx context.Context) (sides agentconfig.TestSides, err error) {
	a := r.a
	if r.p, err = a.here(ctx, r.out.SandboxID); err != nil {
		return sides, err
	}
	if err := a.deps.Ledger.SandboxCreating(ctx, r.p.row.ID, task.TransportPush); err != nil {
		return sides, err
	}
	made, err := a.ensure(ctx, r.p)
	if err != nil {
		return sides, fmt.Errorf("create sandbox: %w", err)
	}
	if err := a.deps.Ledger.SandboxRunning(ctx, r.p.row.ID, made); err != nil {
		return sides, err
	}
	for _, put := range []func(context.Context, place, task.Work) error{a.putAgent, a.putRepo} {
		if err := put(ctx, r.p, r.work); err != nil {
			return sides, err
		}
	}
	paths := r.p.provider.Paths(r.p.labels)
	if err := r.p.writeConfig(ctx, agentconfig.Config{
		Protocol: agentconfig.Protocol, SandboxID: r.p.row.ID, TaskID: r.work.TaskID, Attempt: r.p.row.Attempt,
		Workspace: paths.Workspace, Dir: paths.Dir, Repo: a.agentRepo(r.work, paths), TestsOf: r.out.Commit,
	}); err != nil {
		return sides, err
	}
	res, err := r.exec(ctx, collectTimeout, sandbox.AgentPath, "tests", "--config", agentconfig.ConfigPath)
	if err == nil && res.ExitCode != 0 {
		err = task.Errorf(task.CodeUnavailable, "cannot check out the work: %s", a.brief(string(res.Stderr)))
	}
	if err == nil {
		err = json.Unmarshal(res.Stdout, &sides)
	}
	return sides, err
}

// exec runs a program of omoi in the sandbox.
func (r *repeating) exec(ctx context.Context, limit time.Duration, args ...string) (sandbox.ExecResult, error) {
	return sandbox.Exec(ctx, r.p.provider, r.p.labels, sandbox.Command{Args: args, Timeout: limit, Env: map[string]string{"GIT_LFS_SKIP_SMUDGE": "1"}})
}

// twice runs the tests of a tree, and a second time if they fail: tests that pass then are flaky.
func (r *repeating) twice(ctx context.Context, tree string) (task.TestResult, string, error) {
	first, output, err := r.once(ctx, tree)
	if err != nil || first != task.TestFailed {
		return first, output, err
	}
	if again, _, err := r.once(ctx, tree); err != nil || again == task.TestPassed {
		return task.TestFlaky, output, err
	}
	return first, output, nil
}

// once checks out a tree and runs the setup command and the test command.
func (r *repeating) once(ctx context.Context, tree string) (task.TestResult, string, error) {
	res, err := r.exec(ctx, collectTimeout, "git", "-c", "core.hooksPath=/dev/null", "read-tree", "-u", "--reset", tree)
	if err == nil && res.ExitCode != 0 {
		err = task.Errorf(task.CodeUnavailable, "cannot check out tree %s: %s", tree, r.a.brief(string(res.Stderr)))
	}
	if err != nil {
		return "", "", err
	}
	args, limit := []string{"sh", "-c", r.work.Execution.TestCommand}, cmp.Or(r.work.TestTimeout, testTimeout)
	if setup := setupOf(r.work); setup != "" {
		args = []string{"sh", "-c", afterSetup, "omoi", setup, r.work.Execution.TestCommand}
		limit += cmp.Or(r.work.SetupTimeout, setupTimeout)
	}
	return r.shell(ctx, limit, args...)
}

// afterSetup runs the setup command, and the test command while the services run that the setup command started. It exits with
// exitSetup if the setup command fails, and else as the test command.
const afterSetup = `sh -c "$1" >/dev/null 2>&1 || exit 125; sh -c "$2"; code=$?; test $code != 125 || code=1; exit $code`

// shell runs shell commands of the user with the variables of the task, within a limit.
func (r *repeating) shell(ctx context.Context, limit time.Duration, args ...string) (task.TestResult, string, error) {
	env := map[string]string{"IS_SANDBOX": "1", "BRANCH_NAME": r.work.Branch, "WORKSPACE_PATH": r.p.provider.Paths(r.p.labels).Workspace}
	maps.Copy(env, r.work.Execution.Env)
	begun := time.Now()
	out, errs := newTestOutput(), newTestOutput()
	code, err := r.p.provider.Attach(ctx, r.p.labels, sandbox.Command{Args: args, Env: env, Timeout: limit}, sandbox.Streams{Stdout: out, Stderr: errs})
	switch {
	case err != nil && ctx.Err() == nil && time.Since(begun) >= limit:
		return task.TestTimedOut, "", nil
	case err != nil:
		return "", "", fmt.Errorf("run the test command: %w", err)
	case code == 0:
		return task.TestPassed, "", nil
	case code == exitSetup && setupOf(r.work) != "":
		r.out.Why = task.TestsSetupFailed
		return "", "", nil
	}
	if code == exitNotExecutable || code == exitNotFound || out.unbuilt() || errs.unbuilt() {
		return task.TestNotBuilt, "", nil
	}
	output := redact.New("", r.work.Execution.Env).Text(r.a.scrub(string(out.end.Bytes()) + string(errs.end.Bytes())))
	return task.TestFailed, strings.ToValidUTF8(output[max(0, len(output)-maxTestOutput):], "?"), nil
}

// Exit codes of a shell, and of afterSetup.
const (
	exitSetup         = 125
	exitNotExecutable = 126
	exitNotFound      = 127
)
