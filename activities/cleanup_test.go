package activities_test

import (
	"context"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/omoi-dev/omoi/activities"
	"github.com/omoi-dev/omoi/internal/contract"
	"github.com/omoi-dev/omoi/internal/sandbox"
	"github.com/omoi-dev/omoi/internal/task"
)

func TestLoadSandboxNamesTheQueue(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		provider string
		change   func(*bench)
		want     contract.LoadedSandbox
	}{
		"own host": {task.ProviderLocal, nil, contract.LoadedSandbox{Queue: "omoi-host-h1", Verify: true}},
		"shared": {
			task.ProviderLocal, func(b *bench) { b.provider.caps = sandbox.Capabilities{Machine: true, LongestCreate: time.Second} },
			contract.LoadedSandbox{Queue: "omoi-sandboxes", Verify: true, LongestCreate: time.Second},
		},
		"not here": {task.ProviderDocker, nil, contract.LoadedSandbox{Queue: "omoi-host-h1", Verify: true, LongestCreate: 5 * time.Minute}},
		"external": {task.ProviderExternal, nil, contract.LoadedSandbox{Queue: "omoi-tasks"}},
		"bare":     {task.ProviderBare, nil, contract.LoadedSandbox{Queue: "omoi-tasks"}},
		"declared lost": {
			task.ProviderLocal, func(b *bench) {
				row := b.store.rows[boxID]
				row.State = task.SandboxLost
				b.store.rows[boxID] = row
			},
			contract.LoadedSandbox{Queue: "omoi-host-h1", Verify: true, Lost: true},
		},
		"saved and verified": {
			task.ProviderLocal, func(b *bench) {
				row, now := b.store.rows[boxID], time.Now()
				row.Salvage, row.VerifiedAt = &task.Salvage{Kind: task.SalvageNone}, &now
				b.store.rows[boxID] = row
			},
			contract.LoadedSandbox{Queue: "omoi-host-h1", Verify: true, Salvaged: true, Verified: true},
		},
	} {
		b := newBench(t)
		row := b.store.rows[boxID]
		row.Provider = c.provider
		b.store.rows[boxID] = row
		if c.change != nil {
			c.change(b)
		}
		c.want.Provider, c.want.SalvageWindow, c.want.Pickup = c.provider, 5*time.Minute, 30*time.Second
		out, err := do[contract.LoadedSandbox](b, b.activities().LoadSandbox, b.ref())
		require.NoError(t, err)
		require.Equal(t, c.want, out, name)
	}
}

func TestDeleteSandbox_TwiceAndVerify(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	b.running()
	gone := func() bool {
		out, err := do[contract.VerifyDeletedResult](b, b.activities().VerifyDeleted, b.ref())
		require.NoError(t, err)
		return out.Gone
	}
	require.False(t, gone())
	b.provider.loseAnswerOf("delete")
	app, _ := refused(t, act(b, b.activities().DeleteSandbox, b.ref()))
	require.False(t, app.NonRetryable())
	require.NoError(t, act(b, b.activities().DeleteSandbox, b.ref()))
	require.True(t, gone())
}

// A sandbox whose making nobody waited for has cost since its provider made it; one that appears
// behind the first look is there again.
func TestDeleteSandbox_RecordsAnUnconfirmedCreate(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	since := time.Now().Add(-time.Minute)
	b.provider.boxes[boxID] = &box{labels: sandbox.Labels{Installation: "inst", TaskID: taskID, Attempt: 1, SandboxID: boxID}, since: since}
	gone := func() bool {
		out, err := do[contract.VerifyDeletedResult](b, b.activities().VerifyDeleted, b.ref())
		require.NoError(t, err)
		return out.Gone
	}
	seen := func() task.Sandbox {
		row := b.store.rows[boxID]
		require.WithinDuration(t, since, *row.ProviderCreatedAt, 0)
		require.Equal(t, "p-"+boxID, row.ProviderID)
		require.Nil(t, row.GoneAt)
		return row
	}
	left := b.provider.boxes[boxID]
	require.NoError(t, act(b, b.activities().DeleteSandbox, b.ref()))
	row := seen()
	require.True(t, gone())

	looked := time.Now()
	row.GoneAt = &looked
	b.store.rows[boxID], b.provider.boxes[boxID] = row, left
	require.False(t, gone())
	seen()
}

// What the provider cannot be asked about holds up no deletion.
func TestDeleteSandbox_DoesNotWaitForUnknownState(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	require.NoError(t, act(b, b.activities().EnsureSandbox, b.ref()))
	b.store.loseAnswerOf("seen")
	require.NoError(t, act(b, b.activities().DeleteSandbox, b.ref()))
	require.Empty(t, b.provider.boxes)
}

// logs stores sandbox logs, or fails.
type logs struct {
	kept []string
	err  error
}

func (l *logs) Keep(_ context.Context, _ sandbox.Provider, labels sandbox.Labels) error {
	l.kept = append(l.kept, labels.SandboxID)
	return l.err
}

// The log is kept while the sandbox is there, and holds up nothing.
func TestDeleteSandbox_StoresTheLogFirst(t *testing.T) {
	t.Parallel()
	for _, err := range []error{nil, errDown} {
		b := newBench(t)
		b.logs = &logs{err: err}
		b.running()
		require.NoError(t, act(b, b.activities().DeleteSandbox, b.ref()))
		require.Equal(t, []string{boxID}, b.logs.kept)
		require.Empty(t, b.provider.boxes)
	}
}

// What an agent has stored outside of its sandbox is deleted before the sandbox, by omoi-agent in it, and delays the deletion only for a while.
func TestDeleteSandbox_DiscardsFirst(t *testing.T) {
	t.Parallel()
	for agent, discards := range map[string]bool{"openhands": true, task.AgentScripted: false} {
		for _, fails := range []error{nil, errDown} {
			b := newBench(t)
			b.store.work.Agent = agent
			b.running()
			had := false
			b.provider.onExec = func(at *box, args []string) (sandbox.ExecResult, error) {
				had = args[1] == "discard" && at.agent == sandbox.StateGone
				return sandbox.ExecResult{}, fails
			}
			require.NoError(t, act(b, b.activities().DeleteSandbox, b.ref()))
			require.Equal(t, discards, had, agent)
			require.Empty(t, b.provider.boxes)
		}
	}
}

func TestDeleteSandbox_LeavesForeignSandboxes(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	b.provider.boxes[boxID] = &box{labels: sandbox.Labels{Installation: "another", SandboxID: boxID}}
	require.NoError(t, act(b, b.activities().DeleteSandbox, b.ref()), "ours is not there")
	require.Len(t, b.provider.boxes, 1)
}

// Place implements [sandbox.Placed].
func (p *fakeProvider) Place(context.Context) (string, error) { return p.at, nil }

// Reaches implements [sandbox.Placed].
func (p *fakeProvider) Reaches(_ context.Context, id string) error {
	if p.at != "" && !strings.HasPrefix(id, p.at) {
		return errDown
	}
	return p.moved
}

func TestVerifyDeleted_UnknownIsNeverGone(t *testing.T) {
	t.Parallel()
	for name, breaks := range map[string]func(*bench){
		"provider down": func(b *bench) { b.provider.down = errDown },
		"another host":  func(b *bench) { b.cfg.HostID = "h2" },
		"another place": func(b *bench) {
			row := b.store.rows[boxID]
			row.ProviderID = "there/" + boxID
			b.store.rows[boxID], b.provider.moved = row, errDown
		},
		"no provider here": func(b *bench) {
			row := b.store.rows[boxID]
			row.Provider = task.ProviderDaytona
			b.store.rows[boxID] = row
		},
	} {
		b := newBench(t)
		breaks(b)
		_, err := do[contract.VerifyDeletedResult](b, b.activities().VerifyDeleted, b.ref())
		app, _ := refused(t, err)
		require.False(t, app.NonRetryable(), name)
		app, _ = refused(t, act(b, b.activities().DeleteSandbox, b.ref()))
		require.False(t, app.NonRetryable(), name)
	}
}

func TestDeleteSandbox_OfAnExternalAgentDoesNothing(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	row := b.store.rows[boxID]
	row.Provider = task.ProviderBare
	b.store.rows[boxID] = row
	require.NoError(t, act(b, b.activities().DeleteSandbox, b.ref()))
	out, err := do[contract.VerifyDeletedResult](b, b.activities().VerifyDeleted, b.ref())
	require.NoError(t, err)
	require.True(t, out.Gone)
	require.Empty(t, b.provider.calls)
}

func TestRecordSandboxState(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	for _, event := range []string{"deleting", "gone", "verified"} {
		require.NoError(t, act(b, b.activities().RecordSandboxState, contract.RecordSandboxStateInput{SandboxID: boxID, Event: event}))
	}
	require.Len(t, b.store.settled, 3)
	require.Equal(t, []string{taskID}, b.woken, "streams of the task may end")
	require.Nil(t, b.store.rows[boxID].Salvage)
}

func TestRecordSandboxState_LostWorkHasItsTime(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	b.running()
	b.store.pulse.Beat = 2 * time.Hour
	lost := contract.RecordSandboxStateInput{SandboxID: boxID, Event: "salvage_lost"}
	b.store.loseAnswerOf("save_salvage")
	require.Error(t, act(b, b.activities().RecordSandboxState, lost))
	require.NoError(t, act(b, b.activities().RecordSandboxState, lost))
	got := b.store.rows[boxID].Salvage
	require.Equal(t, task.SalvageLost, got.Kind)
	require.WithinDuration(t, time.Now().Add(-2*time.Hour), *got.LostSince, time.Minute)
	require.Empty(t, b.store.settled)
}

func TestRecordSandboxState_SavedWorkIsNotLost(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	row := b.store.rows[boxID]
	row.Salvage = &task.Salvage{Kind: task.SalvageRef}
	b.store.rows[boxID] = row
	require.NoError(t, act(b, b.activities().RecordSandboxState, contract.RecordSandboxStateInput{SandboxID: boxID, Event: "salvage_lost"}))
	require.Equal(t, task.SalvageRef, b.store.rows[boxID].Salvage.Kind)
}

// mute is a provider that says nothing of a sandbox for as long as it is waited for.
type mute struct {
	*fakeProvider

	waits time.Duration
}

func (p *mute) Inspect(ctx context.Context, _ sandbox.Labels) (sandbox.Inspection, error) {
	until, _ := ctx.Deadline()
	p.waits = time.Until(until)
	return sandbox.Inspection{}, context.DeadlineExceeded
}

// What is only to be known for the account holds up no deletion.
func TestDeleteSandbox_DoesNotWaitForTheLog(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	require.NoError(t, act(b, b.activities().EnsureSandbox, b.ref()))
	p := &mute{fakeProvider: b.provider}
	b.made = activities.New(b.cfg, activities.Deps{Tasks: b.store, Ledger: b.store, Texts: b.store, Fleet: b.store, Reconciler: b.store, Providers: providers{task.ProviderLocal: p}})
	require.NoError(t, act(b, b.activities().DeleteSandbox, b.ref()))
	require.Empty(t, b.provider.boxes)
	require.Positive(t, p.waits)
	require.LessOrEqual(t, p.waits, 20*time.Second)
}
