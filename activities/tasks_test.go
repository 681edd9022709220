package activities_test

import (
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/omoi-dev/omoi/internal/contract"
	"github.com/omoi-dev/omoi/internal/task"
)

func TestLoadTask_CutsTheTitle(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	b.store.loaded = contract.LoadedTask{
		Title:    "use sk-abcdefgh12345 " + strings.Repeat("ö", 200),
		Settings: contract.Settings{StartupTimeout: time.Second},
	}
	out, err := do[contract.LoadedTask](b, b.activities().LoadTask, contract.TaskRef{TaskID: taskID})
	require.NoError(t, err)
	require.LessOrEqual(t, len(out.Title), 120)
	require.NotContains(t, out.Title, "sk-")
	require.Equal(t, contract.Settings{StartupTimeout: time.Second}, out.Settings, "the store completes them")
	require.Equal(t, []string{testRun}, b.store.runs)
}

func TestLoadTask_UnknownTaskIsFinal(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	b.store.loadErr = task.Errorf(task.CodeNotFound, "no such task")
	_, err := do[contract.LoadedTask](b, b.activities().LoadTask, contract.TaskRef{TaskID: taskID})
	app, details := refused(t, err)
	require.True(t, app.NonRetryable())
	require.Equal(t, string(task.ClassInvalidInput), app.Type())
	require.Equal(t, task.CodeNotFound, details.Code)
}

func TestSaveTaskState_AsksTemporalForTheCurrentRun(t *testing.T) {
	t.Parallel()
	for newest, fenced := range map[string]bool{testRun: false, "another": true} {
		b := newBench(t)
		b.store.foreign, b.runs.newest, b.runs.open[taskID] = true, newest, true
		out, err := do[contract.Projected](b, b.activities().SaveTaskState, contract.Projection{TaskID: taskID})
		require.NoError(t, err)
		require.Equal(t, fenced, out.Fenced, newest)
		require.Equal(t, []string{testRun}, b.store.runs)
		require.Equal(t, []string{taskID}, b.woken)
	}
}

func TestSaveTaskState_WaitsForTemporal(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	b.store.foreign, b.runs.down = true, map[string]bool{taskID: true}
	_, err := do[contract.Projected](b, b.activities().SaveTaskState, contract.Projection{TaskID: taskID})
	app, _ := refused(t, err)
	require.False(t, app.NonRetryable())
}

func TestBeginAttempt_IsFencedByRun(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	out, err := do[contract.BeginAttemptResult](b, b.activities().BeginAttempt, contract.BeginAttemptInput{TaskID: taskID, Ordinal: 3})
	require.NoError(t, err)
	require.Equal(t, 3, out.Number)
	require.Equal(t, []string{testRun}, b.store.runs)
}

// A reset workflow has nobody else who would: the reaper comes later.
func TestBeginAttempt_CleansUpEarlierSandboxesWhileItWaits(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	b.store.left = map[string][]contract.Orphan{taskID: orphans("o1", "o2")}
	for range 2 {
		_, err := do[contract.BeginAttemptResult](b, b.activities().BeginAttempt, contract.BeginAttemptInput{TaskID: taskID, Ordinal: 3})
		require.NoError(t, err)
		require.Equal(t, b.store.wait > 0, b.runs.count("cleanup o1") == 1 && b.runs.count("cleanup o2") == 1)
		b.store.wait = time.Second
	}
	b.runs.lose = map[string]bool{"cleanup o1": true}
	out, err := do[contract.BeginAttemptResult](b, b.activities().BeginAttempt, contract.BeginAttemptInput{TaskID: taskID, Ordinal: 3})
	require.NoError(t, err)
	require.Equal(t, time.Second, out.Wait)
}

// Of what a run before it began the workflow that was reset knows nothing; the sandbox of an attempt that it ends is handed over by itself.
func TestSaveTaskState_CleansUpAfterAnotherRun(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		edit  func(*contract.Projection, *bench)
		clean bool
	}{
		"at the end":      {func(*contract.Projection, *bench) {}, true},
		"before the end":  {func(p *contract.Projection, _ *bench) { p.Status = task.StatusPending }, false},
		"with an attempt": {func(p *contract.Projection, _ *bench) { p.Ended = &contract.AttemptEnd{Number: 1} }, false},
		"fenced":          {func(_ *contract.Projection, b *bench) { b.runs.newest = "another" }, false},
	} {
		b := newBench(t)
		b.store.left = map[string][]contract.Orphan{taskID: orphans("o1")}
		b.store.foreign, b.runs.newest, b.runs.open[taskID] = true, testRun, true
		p := contract.Projection{TaskID: taskID, Status: task.StatusCancelled}
		c.edit(&p, b)
		_, err := do[contract.Projected](b, b.activities().SaveTaskState, p)
		require.NoError(t, err)
		require.Equal(t, c.clean, b.runs.count("cleanup o1") == 1, name)
	}
}

func TestHistoryTexts_AreShort(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	long := "because ghp_abcdefghijkl\n" + strings.Repeat("x", 500)
	b.store.taken = contract.LoadedCommand{ID: "c1", Reason: long}
	b.store.facts = contract.Digest{Milestones: []contract.Milestone{{StopReason: long}}}
	taken, err := do[contract.LoadedCommand](b, b.activities().LoadCommand, contract.LoadCommandInput{})
	require.NoError(t, err)
	facts, err := do[contract.Digest](b, b.activities().LoadEvents, contract.LoadEventsInput{})
	require.NoError(t, err)
	for _, text := range []string{taken.Reason, facts.Milestones[0].StopReason} {
		require.LessOrEqual(t, len([]rune(text)), 200)
		require.NotContains(t, text, "ghp_")
		require.NotContains(t, text, "\n")
	}
}
