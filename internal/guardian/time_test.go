package guardian_test

import (
	"context"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/omoi-dev/omoi/internal/guardian"
	"github.com/omoi-dev/omoi/internal/supervise"
)

// patient is a model that would answer only when its time is over.
type patient struct{ until time.Time }

func (p *patient) Judge(ctx context.Context, _ supervise.Subject, _ supervise.Analysis) (supervise.Analysis, error) {
	p.until, _ = ctx.Deadline()
	return supervise.Analysis{}, context.DeadlineExceeded
}

// Time is left for storing what the rules say, where a model takes all that it is given.
func TestASlowModelKeepsNoJudgementFromBeingStored(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	box := w.atWork(1)[0]
	w.loops(box)
	w.exec(`UPDATE sandbox_events SET event_type = 'agent.file_edited', event_data = '{"file_path": "a_test.go", "full_diff": "@@ -1 +1 @@\n+x"}'
		WHERE sandbox_id = $1 AND sequence = 1`, box) // of a test, so that the model is asked
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	m := &patient{}
	g := guardian.New(always(), guardian.Deps{Store: w.store, Model: func() supervise.Model { return m }})
	j, err := g.JudgeNow(ctx, box, true)
	require.NoError(t, err)
	require.True(t, j.NeedsSteering)
	require.Contains(t, string(j.Analysis), "The model did not judge")
	until, _ := ctx.Deadline()
	require.True(t, m.until.Before(until.Add(-4*time.Second)))
}
