package scenario

import (
	"bytes"
	"context"
	"errors"
	"os/exec"
	"path/filepath"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/omoi-dev/omoi/api/client"
	"github.com/omoi-dev/omoi/internal/cli/exit"
	"github.com/omoi-dev/omoi/internal/task"
)

// runOf runs steps that use no server.
func runOf(ctx context.Context, limit time.Duration, trials ...trial) Result {
	c := Config{Timeout: limit, Begin: func(Scenario) {}, Report: func(int, int, Step) {}}
	return c.Run(ctx, []Scenario{{Name: "one", trials: func(*kit) []trial { return trials }}})[0]
}

func says(text string, err error) func(context.Context) (string, error) {
	return func(context.Context) (string, error) { return text, err }
}

func verdicts(r Result) (all []Verdict) {
	for _, s := range r.Steps {
		all = append(all, s.Verdict)
	}
	return all
}

func TestRun_SkipsStepsAfterAFailure(t *testing.T) {
	t.Parallel()
	r := runOf(t.Context(), time.Minute,
		trial{name: "a", do: says("fine", nil)},
		trial{name: "b", do: says("", task.Errorf(task.CodeForbidden, "This key may not do that."))},
		trial{name: "c", do: says("never", nil)},
		trial{name: "d", alone: true, do: says("on its own", nil)},
		trial{name: "e", alone: true, do: says("", skip("omoi worker", "There is no %s.", "worker"))},
	)
	require.Equal(t, []Verdict{Pass, Fail, Skip, Pass, Skip, Pass}, verdicts(r), "the last one is the cleaning up")
	require.Equal(t, Fail, r.Verdict)
	require.Equal(t, "This key may not do that.", r.Steps[1].Detail)
	require.Equal(t, "omoi doctor", r.Steps[1].Next)
	require.Contains(t, r.Steps[2].Detail, `"b"`)
	require.Equal(t, "There is no worker.", r.Steps[4].Detail)
	require.Equal(t, "omoi worker", r.Steps[4].Next)
	require.Equal(t, exit.NeedsYou, exit.Code(Err([]Result{r})))
}

func TestRun_SkippedStepsAreNoFailure(t *testing.T) {
	t.Parallel()
	r := runOf(t.Context(), time.Minute, trial{name: "a", do: says("", skip("", "Not here."))})
	require.Equal(t, Skip, r.Verdict)
	require.NoError(t, Err([]Result{r}))
	r = runOf(t.Context(), time.Minute, trial{name: "a", do: says("", skip("", "Not here."))}, trial{name: "b", do: says("fine", nil)})
	require.Equal(t, Pass, r.Verdict)
	r = runOf(t.Context(), time.Minute, trial{name: "a", do: says("", errors.New("broken"))})
	require.Equal(t, exit.Failed, exit.Code(Err([]Result{r})))
}

func waits(ctx context.Context) (string, error) {
	<-ctx.Done()
	return "", ctx.Err()
}

func TestRun_TimeoutAndInterrupt(t *testing.T) {
	t.Parallel()
	r := runOf(t.Context(), time.Millisecond, trial{name: "a", do: waits})
	require.Equal(t, Fail, r.Verdict)
	require.Contains(t, r.Steps[0].Detail, "Not within 1ms.")
	require.Equal(t, exit.Failed, exit.Code(Err([]Result{r})), "the server did answer")

	ctx, stop := context.WithCancel(t.Context())
	r = runOf(ctx, time.Minute, trial{name: "a", do: func(ctx context.Context) (string, error) {
		stop()
		return waits(ctx)
	}}, trial{name: "b", do: waits})
	require.Equal(t, []Verdict{Skip, Skip, Pass}, verdicts(r), "it cleans up all the same")
	require.Equal(t, "Interrupted.", r.Steps[0].Detail)
	require.Empty(t, Config{}.Run(ctx, Checks()), "nothing more is begun")
}

func TestRepository_Forget(t *testing.T) {
	t.Parallel()
	if _, err := exec.LookPath("git"); err != nil {
		t.Skip("SKIPPED: git is not installed")
	}
	path := filepath.Join(t.TempDir(), "checks", "remote.git")
	require.NoError(t, makeRepository(t.Context(), path))
	require.NoError(t, makeRepository(t.Context(), path), "it is there")
	commit, err := git(t.Context(), "-C", path, "rev-parse", "main")
	require.NoError(t, err)
	_, err = git(t.Context(), "-C", path, "update-ref", "refs/heads/omoi/x", commit)
	require.NoError(t, err)
	branch := "omoi/x"
	r := &repository{name: path, own: true}
	require.NoError(t, r.forget(t.Context(), client.Task{Branch: &branch, PullNumber: new(7)}))
	refs, err := git(t.Context(), "-C", path, "for-each-ref", "--format=%(refname)")
	require.NoError(t, err)
	require.Equal(t, "refs/heads/main", refs)
	left, err := filepath.Glob(filepath.Join(filepath.Dir(path), "*"))
	require.NoError(t, err)
	require.Equal(t, []string{path}, left)
}

func TestPrinter_Text(t *testing.T) {
	t.Parallel()
	var out bytes.Buffer
	p := &Printer{W: &out}
	p.Begin(Scenario{Name: "git", Title: "work gets there"})
	p.Step(1, 2, Step{Name: "a branch", Verdict: Fail, Detail: "There is\x1b none.", Next: "omoi show 1"})
	p.Step(0, 0, Step{Name: "clean up", Verdict: Pass})
	p.Step(3, 0, Step{Name: "one of many", Verdict: Pass})
	require.NoError(t, p.End([]Result{{Name: "git", Verdict: Fail, Steps: []Step{{Verdict: Fail}, {Verdict: Pass}}}}))
	for _, want := range []string{"git: work gets there", "FAIL  [1/2] a branch", "There is  none.", "Next: omoi show 1", "[end]", "[3] one of many", "CHECK"} {
		require.Contains(t, out.String(), want)
	}
}

func TestHopeless_TaskWithoutSandbox(t *testing.T) {
	t.Parallel()
	k := &kit{}
	waits := func(status task.Status, code task.ReasonCode) client.Task {
		return client.Task{Status: status, WaitingFor: task.Reason{Code: code}}
	}
	require.False(t, k.stuck(waits(task.StatusPending, "")))
	require.True(t, k.stuck(waits(task.StatusPending, task.ReasonNoHost)), "at once")
	k.trouble = time.Time{}
	require.False(t, k.stuck(waits(task.StatusPending, task.ReasonRetrying)))
	k.trouble = time.Now().Add(-2 * troubleTime)
	require.True(t, k.stuck(waits(task.StatusAssigned, task.ReasonRetrying)))
	require.False(t, k.stuck(waits(task.StatusRunning, task.ReasonRetrying)), "its agent is running")
	require.True(t, k.trouble.IsZero())
}

func TestSaid_NamesTheFlag(t *testing.T) {
	t.Parallel()
	k := &kit{name: "git"}
	for _, c := range []struct {
		err          error
		detail, next string
	}{
		{task.Invalid("repo", "\"bad\" is none."), "--repo: \"bad\" is none.", "omoi check git --repo <owner/name, or a path on the server's machine>"},
		{task.Invalid("repo", "repo: There is nothing at /x. Next: git init /x"), "--repo: There is nothing at /x.", "git init /x"},
		{task.Invalid("provider", "No such provider."), "--provider: No such provider.", "omoi check git --provider <name>"},
		{errors.New("broken"), "Broken.", "omoi doctor"},
	} {
		detail, next := k.said(c.err)
		require.Equal(t, []string{c.detail, c.next}, []string{detail, next})
	}
}

func TestWaitUntil_RepeatsUnavailable(t *testing.T) {
	t.Parallel()
	asked := 0
	require.NoError(t, waitUntil(t.Context(), func() (bool, error) {
		if asked++; asked < 3 {
			return false, task.Errorf(task.CodeUnavailable, "Try again later.")
		}
		return true, nil
	}))
	require.Equal(t, 3, asked)
	err := waitUntil(t.Context(), func() (bool, error) { return false, task.Errorf(task.CodeForbidden, "No.") })
	require.Equal(t, task.CodeForbidden, task.CodeOf(err))
	ctx, stop := context.WithCancel(t.Context())
	stop()
	err = waitUntil(ctx, func() (bool, error) { return false, task.Errorf(task.CodeUnavailable, "Try again later.") })
	require.Equal(t, task.CodeUnavailable, task.CodeOf(err))
}
