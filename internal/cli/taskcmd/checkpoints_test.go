package taskcmd_test

import (
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/omoi-dev/omoi/api/client"
	"github.com/omoi-dev/omoi/internal/checkpoint"
	"github.com/omoi-dev/omoi/internal/task"
)

// fakeOf returns a server with one task that has these checkpoints.
func fakeOf(t *testing.T, checkpoints []client.Checkpoint) *fakeAPI {
	t.Helper()
	f := newFake(t)
	f.serves(map[string]any{
		"GET /api/v1/tasks":                  client.Page[client.Task]{Items: []client.Task{aTask(idA, task.StatusRunning)}},
		"GET /api/v1/tasks/{id}":             aTask(idA, task.StatusRunning),
		"GET /api/v1/tasks/{id}/checkpoints": client.Page[client.Checkpoint]{Items: checkpoints},
	})
	return f
}

func TestCheckpoints(t *testing.T) {
	t.Parallel()
	taken := time.Date(2026, 11, 27, 1, 2, 3, 0, time.Local)
	f := fakeOf(t, []client.Checkpoint{
		{ID: "2.14", Attempt: 2, Number: 14, Sequence: 70, Sealed: checkpoint.Sealed{
			FilesOnly: true, ToolCall: "toolu_1", RunningCall: "Bash", Files: 3, Bytes: 2048, Torn: true, GitState: true,
			LeftOut: []string{"a.bin is larger than 32 MiB.", "bell\a"}, TakenAt: taken,
		}},
		{ID: "1.1", Attempt: 1, Number: 1, Sealed: checkpoint.Sealed{TakenAt: taken}},
	})
	lines := strings.Split(f.omoi("checkpoints", "-").out, "\n")
	require.Equal(t, []string{"CHECKPOINT", "TAKEN", "EVENT", "TOOL", "CALL", "FILES", "SIZE", "NOTES"}, strings.Fields(lines[0]))
	require.Regexp(t, `^2\.14 +2026-11-27 01:02:03 +70 +toolu_1 +3 +2\.0 KiB +torn; merge or rebase in progress; Bash was running; files newer than the session; `+
		`left out: a\.bin is larger than 32 MiB; left out: bell[^\a]*$`, lines[1])
	require.Regexp(t, `^1\.1 +2026-11-27 01:02:03 +- +- +- +0 B +-$`, strings.TrimSpace(lines[2]))
	holdsJSON(t, f, []jsonCase{{"checkpoints -", "CheckpointList", nil}})
}

func TestCheckpoints_None(t *testing.T) {
	t.Parallel()
	got := fakeOf(t, []client.Checkpoint{}).omoi("checkpoints", "-")
	require.Zero(t, got.code)
	require.Contains(t, got.out+got.err, "The task has no checkpoints. Next: omoi work")
}
