package ingest_test

import (
	"context"
	"fmt"
	"sync"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/omoi-dev/omoi/internal/ingest"
	"github.com/omoi-dev/omoi/internal/live"
)

const muchOutput = 1 << 20

// stalled is a store that holds each transaction with much data until it is released.
type stalled struct {
	ingest.IntakeStore

	held, release chan struct{}
}

func (s *stalled) CommitEvents(ctx context.Context, c ingest.Commit) ([]ingest.Outcome, error) {
	for _, r := range c.Requests {
		if r.Events[0].Size() > muchOutput/2 {
			s.held <- struct{}{}
			<-s.release
			break
		}
	}
	return s.IntakeStore.CommitEvents(ctx, c)
}

// The small events of other sandboxes are stored while the database stores much output of one.
func TestIntake_StoresSmallEventsBesideMuchOutput(t *testing.T) {
	t.Parallel()
	const others = 8 // of every lane
	for name, send := range map[string]func(*ingest.Intake, string, ingest.Event) error{
		"single": func(i *ingest.Intake, box string, e ingest.Event) error {
			_, err := i.Single(within(t), box, e, true)
			return err
		},
		"batch": func(i *ingest.Intake, box string, e ingest.Event) error {
			_, err := i.Batch(within(t), box, "spool", 1, []ingest.Event{e})
			return err
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			b := setup(t)
			store := &stalled{b.store, make(chan struct{}), make(chan struct{})}
			intake := ingest.NewIntake(ingest.IntakeConfig{AllowBare: true, Meter: unmetered{}}, store, live.New(), quiet())
			run(t, intake.Run)
			release := sync.OnceFunc(func() { close(store.release) })
			defer release()
			done := make(chan error, 1)
			go func() { done <- send(intake, "loud", heavy(muchOutput)) }()
			<-store.held
			for n := range others {
				require.NoError(t, send(intake, fmt.Sprintf("other%d", n), heavy(100)))
			}
			release()
			require.NoError(t, <-done)
			require.NoError(t, send(intake, "after", heavy(100)))
			b.contiguous("loud", 1)
		})
	}
}
