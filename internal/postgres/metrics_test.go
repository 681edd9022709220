package postgres_test

import (
	"bytes"
	"fmt"
	"log/slog"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/omoi-dev/omoi/internal/contract"
	"github.com/omoi-dev/omoi/internal/postgres"
	"github.com/omoi-dev/omoi/internal/task"
)

// counts records the calls of a store.
type counts struct{ said []string }

func (c *counts) TaskEnded(outcome task.Status, class task.FailureClass) {
	c.said = append(c.said, "task "+string(outcome)+" "+string(class))
}
func (c *counts) AttemptBegun(kind string) { c.said = append(c.said, "begun "+kind) }
func (c *counts) AttemptEnded(outcome string, class task.FailureClass) {
	c.said = append(c.said, "attempt "+outcome+" "+string(class))
}

func (c *counts) CheckpointStored(packBytes, foundByScan int64) {
	c.said = append(c.said, fmt.Sprint("checkpoint ", packBytes, " ", foundByScan))
}

func (c *counts) CheckpointFailed(reason string) { c.said = append(c.said, "failed "+reason) }

// taken returns the calls since the last one.
func (c *counts) taken() []string {
	said := slices.Clone(c.said)
	c.said = nil
	return said
}

func TestReport_CountsEndsOnce(t *testing.T) {
	t.Parallel()
	c := &counts{}
	var log bytes.Buffer
	w := newWorld(t, postgres.Config{Counter: c, Log: slog.New(slog.NewTextHandler(&log, nil))})
	a := w.task(w.project(5), "")
	live := w.running(a)
	require.Equal(t, live.SandboxID, w.begin(a, 1).SandboxID, "a repeat is the same attempt")
	require.Equal(t, []string{"begun first"}, c.taken())
	end := contract.Projection{
		Ordinal: 9, Status: task.StatusFailed, Class: task.ClassPublish, ReleaseSlot: true,
		Ended: &contract.AttemptEnd{Number: live.Number, Outcome: "failed", Class: task.ClassPublish},
	}
	w.write(a, end)
	require.Equal(t, []string{"task failed publish", "attempt failed publish"}, c.taken())
	w.write(a, end) // repeated
	end.Ordinal = 8
	fenced, err := w.writeAs(a, end, a.run, true)
	require.NoError(t, err)
	require.True(t, fenced.Fenced)
	require.NoError(t, w.store.Abandon(t.Context(), a.id, "it has ended already"))
	require.Empty(t, c.taken())

	b := w.task(w.project(5), "")
	w.load(b)
	require.NoError(t, w.store.Abandon(t.Context(), b.id, "terminated"))
	require.NoError(t, w.store.Abandon(t.Context(), b.id, "terminated"))
	require.Equal(t, []string{"task failed terminated"}, c.taken())
	for _, line := range []string{
		`msg="task finished" task_id=` + a.id + ` status=failed failure_class=publish`,
		`msg="task finished" task_id=` + b.id + ` status=failed failure_class=terminated`,
	} {
		require.Equal(t, 1, strings.Count(log.String(), line+"\n"), "%s\n%s", line, log.String())
	}
}

func TestState(t *testing.T) {
	t.Parallel()
	w := newWorld(t, postgres.Config{})
	state := func() postgres.State {
		t.Helper()
		s, err := w.store.State(t.Context())
		require.NoError(t, err)
		return s
	}
	empty := state()
	require.Equal(t, int64(0), empty.Tasks["running"])
	require.NotContains(t, empty.Tasks, "completed")
	require.Empty(t, empty.LastSuccess)
	require.Zero(t, empty.RelayLag)

	project := w.project(1)
	a := w.task(project, "")
	w.running(a) // external
	w.task(project, "")
	w.exec(`UPDATE sandboxes SET state = 'running'`)
	w.exec(`INSERT INTO sandboxes (id, provider, machine, state, ended_at) VALUES ('gone-soon', 'local', true, 'deleting', now()),
		('alive', 'local', true, 'running', NULL), ('lost', 'local', true, 'lost', now()), ('intended', 'local', true, 'intended', NULL),
		('bare', 'bare', false, 'running', NULL)`)
	w.exec(`UPDATE task_outbox SET due_at = now() - interval '1 hour'`)
	require.NoError(t, w.store.Grant(t.Context()))
	s := state()
	require.Equal(t, int64(1), s.Tasks["running"])
	require.Equal(t, int64(1), s.Tasks["pending"])
	require.Equal(t, int64(1), s.Waiting)
	require.Equal(t, int64(1), s.Slots)
	require.Equal(t, map[string]int64{"local": 2, "external": 1}, s.Alive)
	require.Equal(t, map[string]int64{"local": 1, "external": 0}, s.Unverified)
	require.GreaterOrEqual(t, s.RelayLag.Hours(), 1.0)
	require.Contains(t, s.LastSuccess, "reaper", "the gate is the reaper's last act")
	require.Positive(t, w.store.PoolUse().Max)
}
