package ingest_test

import (
	"context"
	"fmt"
	"math/rand/v2"
	"sync"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/omoi-dev/omoi/internal/event"
	"github.com/omoi-dev/omoi/internal/ingest"
	"github.com/omoi-dev/omoi/internal/task"
)

// TestWhatAProcessRemembersMayBeOutOfDate changes the row of a sandbox behind the back of an
// intake that has stored events for it before.
func TestWhatAProcessRemembersMayBeOutOfDate(t *testing.T) {
	t.Parallel()
	w := setup(t)
	one, other, box := w.intake(ingest.IntakeConfig{}, nil), w.intake(ingest.IntakeConfig{}, nil), w.sandbox()
	post := func(i *ingest.Intake, key string) ingest.Receipt {
		r, err := i.Single(within(t), box, ingest.Event{Type: event.AgentToolUse, ClientEventID: key}, false)
		require.NoError(t, err)
		return r
	}
	for n, i := range []*ingest.Intake{one, one, other, other, one, one} {
		require.Equal(t, int64(n+1), post(i, fmt.Sprint("key ", n)).Sequence)
	}
	repeat := post(one, "key 3")
	require.True(t, repeat.Duplicate)
	require.Equal(t, int64(4), repeat.Sequence)
	w.contiguous(box, 6)

	w.exec(`UPDATE sandboxes SET ended_at = now() WHERE id = $1`, box)
	require.True(t, post(one, "").Late)
	require.True(t, post(other, "").Late)
	w.contiguous(box, 8)
}

func TestTheMarkIsTheStoresNotTheMemorys(t *testing.T) {
	t.Parallel()
	w := setup(t)
	one, other, box := w.intake(ingest.IntakeConfig{}, nil), w.intake(ingest.IntakeConfig{}, nil), w.sandbox()
	for n, i := range []*ingest.Intake{one, one, other} {
		_, err := i.Batch(within(t), box, "spool", int64(n+1), events(1))
		require.NoError(t, err)
	}
	mark, err := one.Batch(within(t), box, "spool", 1, nil)
	require.NoError(t, err)
	require.Equal(t, int64(3), mark.Acknowledged)
}

func TestASandboxThatWasRemovedIsUnknown(t *testing.T) {
	t.Parallel()
	w := setup(t)
	intake, box := w.intake(ingest.IntakeConfig{}, nil), w.sandbox()
	for range 2 {
		_, err := intake.Single(within(t), box, newEvent(event.AgentToolUse), false)
		require.NoError(t, err)
	}
	w.exec(`DELETE FROM task_outbox`)
	w.exec(`DELETE FROM sandboxes WHERE id = $1`, box)
	_, err := intake.Single(within(t), box, newEvent(event.AgentToolUse), false)
	require.Equal(t, task.CodeNotFound, task.CodeOf(err))
}

// TestSpoolsOverManyProcesses sends numbered batches, repeats among them, each to a process
// that is picked at random: a sender changes its connection at will.
func TestSpoolsOverManyProcesses(t *testing.T) {
	t.Parallel()
	const processes, boxes, batches, size = 3, 4, 40, 5
	w := setup(t)
	var intakes []*ingest.Intake
	for range processes {
		intakes = append(intakes, w.intake(ingest.IntakeConfig{}, nil))
	}
	var group sync.WaitGroup
	var names []string
	for range boxes {
		names = append(names, w.sandbox())
	}
	for _, box := range names {
		group.Go(func() {
			for n := range batches {
				first := int64(n*size + 1)
				for range 1 + rand.IntN(2) {
					receipt, err := intakes[rand.IntN(processes)].Batch(context.Background(), box, "spool", first, events(size))
					if err != nil || receipt.Acknowledged != first+size-1 {
						t.Errorf("batch %d of %s: %+v, %v", n, box, receipt, err)
					}
				}
			}
		})
	}
	group.Wait()
	for _, box := range names {
		w.contiguous(box, batches*size)
	}
}
