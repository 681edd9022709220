package taskcmd_test

import (
	"encoding/json"
	"net/http"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/omoi-dev/omoi/api/client"
	"github.com/omoi-dev/omoi/internal/checkpoint"
	"github.com/omoi-dev/omoi/internal/task"
)

func (f *fakeAPI) rewind(w http.ResponseWriter, r *http.Request) {
	var in client.RewindRequest
	_ = json.NewDecoder(r.Body).Decode(&in)
	f.locked(func() { f.asked = append(f.asked, in.Checkpoint+" "+in.Reason) })
	answer(w, http.StatusAccepted, client.CommandResult{
		Task: aTask(idA, task.StatusRunning), Command: client.Command{Kind: task.CommandRetry, State: task.ReceiptAccepted},
	})
}

// show names the failure of the checkpoints of a running attempt until one is stored.
func TestShow_NamesWhyCheckpointsFail(t *testing.T) {
	t.Parallel()
	f := newFake(t)
	running := aTask(idA, task.StatusRunning)
	running.Attempts = []client.Attempt{{Number: 1, Kind: "first"}, {Number: 2, Kind: "retry", SandboxID: "abc"}}
	f.tasks = []client.Task{running}
	f.newest = []client.SandboxEvent{{EventType: "agent.checkpoint_failed", CreatedAt: time.Now(), EventData: json.RawMessage(`{"checkpoint":3,"reason":"disk_full","error":"no space left\u001b"}`)}}
	f.checkpoints = []client.Checkpoint{{Attempt: 2, Number: 3}, {Attempt: 1, Number: 9}}
	require.Regexp(t, `Checkpoints   fail since .* ago\): no space left`, f.omoi("show", "-").out)
	require.Contains(t, f.omoi("show", "-", "--json").out, `"reason": "disk_full"`)
	f.tasks[0].Status = task.StatusCompleted
	require.NotContains(t, f.omoi("show", "-").out, "fail since", "the attempt has ended")
	f.tasks[0].Status, f.checkpoints[0].Number = task.StatusRunning, 4
	require.NotContains(t, f.omoi("show", "-").out, "fail since", "one was stored")
	f.newest, f.checkpoints = nil, nil
	require.NotContains(t, f.omoi("show", "-").out, "fail since", "there is no event")
}

func TestRewind_ChoosesTheCheckpoint(t *testing.T) {
	t.Parallel()
	f := newFake(t)
	f.tasks = []client.Task{aTask(idA, task.StatusRunning)}
	now := f.checkpointed()
	for to, want := range map[string]string{
		"1.4": "1.4", "1": "1.9", "2": "2.3", "2:30": "2.2", "2:29": "2.1", "1:39": "1.4", "2m": "2.2", "90m": "1.4", "0s": "2.3",
		now.Add(-30 * time.Minute).UTC().Format(time.RFC3339): "1.9",
	} {
		f.asked = nil
		got := f.omoi("rewind", "-", "--to", to, "--reason", "wrong turn")
		require.Zero(t, got.code, got.err)
		require.Equal(t, []string{want + " wrong turn"}, f.asked, to)
	}
	got := f.omoi("rewind", "-", "--to", "2:30")
	require.Contains(t, got.out, "Checkpoint 2.2: event 2:30, 5m")
	require.Contains(t, got.out, "changed files: 7.\nTask 456789ab: rewind accepted and in progress.\nNext: omoi show 456789ab\n")
	var answered client.CommandResult
	require.NoError(t, json.Unmarshal([]byte(f.omoi("rewind", "-", "--to", "2", "--json").out), &answered))
	require.Equal(t, task.CommandRetry, answered.Command.Kind, "the answer of the API")

	f.asked = nil
	for _, to := range []string{"1.5", "3", "2:11", "3h"} {
		got := f.omoi("rewind", "-", "--to", to)
		require.NotZero(t, got.code, to)
		require.Contains(t, got.err, "None of the 5 checkpoints of task 456789ab matches --to "+to)
	}
	for _, to := range []string{"", "x", "1.2.3", "2:", "2:x", "-5m", "yesterday"} {
		require.Equal(t, 2, f.omoi("rewind", "-", "--to", to).code, to)
	}
	require.Empty(t, f.asked)
}

// checkpointed gives the tasks checkpoints of two attempts.
func (f *fakeAPI) checkpointed() (now time.Time) {
	now = time.Now()
	for _, c := range []struct { // newest first
		attempt, number int
		sequence        int64
		age             time.Duration
	}{{2, 3, 0, time.Minute}, {2, 2, 30, 5 * time.Minute}, {2, 1, 12, 20 * time.Minute}, {1, 9, 40, time.Hour}, {1, 4, 31, 2 * time.Hour}} {
		f.checkpoints = append(f.checkpoints, client.Checkpoint{
			ID: checkpoint.ID{Attempt: c.attempt, Number: c.number}.String(), Attempt: c.attempt, Number: c.number, Sequence: c.sequence,
			Sealed: checkpoint.Sealed{TakenAt: now.Add(-c.age), Files: 7},
		})
	}
	return now
}
