package app

import (
	"context"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/omoi-dev/omoi/internal/devstack"
	"github.com/omoi-dev/omoi/internal/sandbox"
)

// timed records how long it may freeze.
type timed struct {
	chiller

	given []time.Duration
}

func (f *timed) Freeze(ctx context.Context, _ string) (int, error) {
	end, ok := ctx.Deadline()
	if !ok {
		end = time.Now().Add(time.Hour)
	}
	f.given = append(f.given, time.Until(end))
	return 1, nil
}

// The time limits of all steps sum to 10 seconds at most.
func TestStop_StepsSumToTenSeconds(t *testing.T) {
	t.Parallel()
	w, f := newWinter(t), &timed{}
	w.providers = map[string]sandbox.Freezer{"timed": f}
	w.farewell(t.Context(), w.core, w.freezer)
	w.freezeLate(t.Context(), w.core, w.freezer)
	require.Len(t, f.given, 2)
	total := apiStop + workerStop + devstack.StopGrace
	for _, one := range f.given {
		total += one
	}
	require.LessOrEqual(t, total, 10*time.Second)
}
