package activities_test

import (
	"context"
	"strconv"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/omoi-dev/omoi/internal/contract"
	"github.com/omoi-dev/omoi/internal/task"
)

func orphans(ids ...string) []contract.Orphan {
	var out []contract.Orphan
	for _, id := range ids {
		out = append(out, contract.Orphan{CleanupInput: contract.CleanupInput{SandboxID: id}})
	}
	return out
}

func TestFindOrphansOfAProvider(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	b.running()
	b.store.unowned = orphans("o1")
	out, err := do[contract.Orphans](b, b.activities().FindOrphans, contract.FindOrphansInput{Provider: task.ProviderLocal})
	require.NoError(t, err)
	require.Equal(t, contract.Orphans{Alive: 1, Orphans: orphans("o1")}, out)
	require.Equal(t, []string{boxID + " on h1"}, b.store.found, "the ledger learns where it is")

	require.Empty(t, b.store.adopted)

	b.store.unowned = orphans(boxID)
	_, err = do[contract.Orphans](b, b.activities().FindOrphans, contract.FindOrphansInput{Provider: task.ProviderLocal})
	require.NoError(t, err)
	require.Equal(t, []string{boxID}, b.store.adopted, "the ledger has a row for what is cleaned up")

	b.store.unowned = orphans("o1", "o2", "o3", "o4", "o5")
	out, err = do[contract.Orphans](b, b.activities().FindOrphans, contract.FindOrphansInput{Provider: task.ProviderLocal})
	require.NoError(t, err)
	require.Empty(t, out.Orphans)
	require.NotEmpty(t, out.Alert)
	require.Equal(t, out.Alert, b.store.alerts["local on h1"])

	b.store.unowned, b.store.alertErr = nil, errDown
	_, err = do[contract.Orphans](b, b.activities().FindOrphans, contract.FindOrphansInput{Provider: task.ProviderLocal})
	require.NoError(t, err, "a round does not end because nobody can be told")
	require.Empty(t, b.store.alerts["local on h1"], "taken back")
}

// Where a key is missing, one sentence says so, and nobody asks again and again.
func TestOrphansOfAProviderWithoutAKeyStayUnverified(t *testing.T) {
	t.Parallel()
	b := unready(t)
	look := func() contract.Orphans {
		out, err := do[contract.Orphans](b, b.activities().FindOrphans, contract.FindOrphansInput{Provider: task.ProviderLocal})
		require.NoError(t, err)
		return out
	}
	b.provider.down = errDown // which is what asking would come to
	out := look()
	require.Empty(t, out.Orphans)
	require.Equal(t, "sandboxes of local stay unverified, since nobody can ask for them: API key not configured", out.Alert)
	require.Equal(t, out.Alert, b.store.alerts["local on h1"])
	b.provider.unready, b.provider.down = nil, nil
	require.Empty(t, look().Alert)
	require.Empty(t, b.store.alerts["local on h1"])
}

func TestFindOrphansOfTheLedger(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	b.store.ledger = orphans("o1", "o2", "o3", "o4", "o5", "o6")
	out, err := do[contract.Orphans](b, b.activities().FindOrphans, contract.FindOrphansInput{})
	require.NoError(t, err)
	require.Len(t, out.Orphans, 6)
	require.Equal(t, 1, b.store.strays, "nobody else ends those attempts")
	require.Empty(t, b.store.alerts["unverified"])
	b.store.overdue = 3
	out, err = do[contract.Orphans](b, b.activities().FindOrphans, contract.FindOrphansInput{})
	require.NoError(t, err)
	require.Len(t, out.Orphans, 6, "an alert does not stop the cleanup")
	require.Contains(t, b.store.alerts["unverified"], "3 sandboxes, the oldest ended 1h0m0s ago")
	require.Empty(t, b.provider.calls)
}

func TestFindOrphans_OfAnUnreachableProviderIsEmpty(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	b.provider.down = errDown
	b.store.unowned = orphans("o1")
	for _, provider := range []string{task.ProviderLocal, task.ProviderDocker} {
		_, err := do[contract.Orphans](b, b.activities().FindOrphans, contract.FindOrphansInput{Provider: provider})
		app, _ := refused(t, err)
		require.False(t, app.NonRetryable())
	}
}

func TestReaperTargetsAndGate(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	b.store.targets = []contract.ReaperTarget{{Provider: "local", Queue: "omoi-host-h1"}}
	out, err := do[contract.ListReaperTargetsResult](b, b.activities().ListReaperTargets)
	require.NoError(t, err)
	require.Equal(t, b.store.targets, out.Targets)
	b.cfg.Shared, b.made = []string{"daytona", "local"}, nil
	out, err = do[contract.ListReaperTargetsResult](b, b.activities().ListReaperTargets)
	require.NoError(t, err)
	require.Equal(t, []contract.ReaperTarget{{Provider: "local", Queue: "omoi-host-h1"}, {Provider: "daytona", Queue: contract.QueueSandboxes}}, out.Targets,
		"also where the ledger knows of nothing")
	require.NoError(t, act(b, b.activities().AdmitTasks))
	require.Equal(t, 1, b.store.count("grant"))
}

func TestStartCleanup(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	in := contract.CleanupInput{SandboxID: boxID}
	b.runs.loseAnswerOf("cleanup " + boxID)
	require.Error(t, act(b, b.activities().StartCleanup, in))
	require.NoError(t, act(b, b.activities().StartCleanup, in))
}

func TestReconcileTasks_FailsTerminatedTasks(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	b.store.open = []string{"open", "closed", "forgotten", "unknown"}
	b.runs.open = map[string]bool{"open": true, "closed": false}
	b.runs.down = map[string]bool{"unknown": true}
	b.store.left = map[string][]contract.Orphan{"closed": orphans("o1"), "open": orphans("o2")}
	out, err := do[contract.ReconcileTasksResult](b, b.activities().ReconcileTasks)
	require.NoError(t, err)
	require.Equal(t, 2, out.Abandoned)
	require.ElementsMatch(t, []string{"closed", "forgotten"}, b.store.abandoned)
	require.Equal(t, []string{"cleanup o1"}, b.runs.calls, "its sandbox does not wait for the grace of orphans")
}

// A round must not take a thousand times as long as Temporal takes for one answer.
func TestReconcileTasks_AsksConcurrently(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	b.runs.open = map[string]bool{}
	var asked sync.WaitGroup // nobody is answered before all have asked
	for n := range 8 {
		id := strconv.Itoa(n)
		b.store.open = append(b.store.open, id)
		b.runs.open[id] = true
		asked.Add(1)
	}
	all := make(chan struct{})
	go func() { asked.Wait(); close(all) }()
	patience, cancel := context.WithTimeout(t.Context(), 30*time.Second)
	defer cancel()
	b.runs.asked = func() {
		asked.Done()
		select {
		case <-all:
		case <-patience.Done():
		}
	}
	out, err := do[contract.ReconcileTasksResult](b, b.activities().ReconcileTasks)
	require.NoError(t, err)
	require.Zero(t, out.Abandoned)
	require.NoError(t, patience.Err(), "one waited for the answer of another")
}

func TestPauseIdleReaper(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		rest   []bool
		paused bool
		calls  []string
		flag   []bool
	}{
		"active":            {[]bool{false}, false, nil, nil},
		"idle":              {[]bool{true}, true, []string{"pause omoi-guardian", "pause omoi-conductor", "pause omoi-reaper"}, []bool{true, true}},
		"accepted meantime": {[]bool{true, false}, false, []string{"pause omoi-guardian", "pause omoi-conductor", "pause omoi-reaper", "wake"}, []bool{true, true, false}},
	} {
		b := newBench(t)
		b.store.rest = c.rest
		out, err := do[contract.PauseIdleReaperResult](b, b.activities().PauseIdleReaper)
		require.NoError(t, err)
		require.Equal(t, c.paused, out.Paused, name)
		require.Equal(t, c.calls, b.runs.calls, name)
		require.Equal(t, c.flag, b.store.rests, name)
	}
}

// Who starts a task must be able to tell that the reaper sleeps, also if we die before we know.
func TestPauseIdleReaper_KnowsAPauseWithALostAnswer(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	b.store.rest = []bool{true}
	b.runs.loseAnswerOf("pause omoi-reaper")
	require.Error(t, act(b, b.activities().PauseIdleReaper))
	require.Equal(t, []bool{true}, b.store.rests)
}
