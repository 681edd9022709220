package guardian_test

import (
	"context"
	"errors"
	"sync/atomic"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/omoi-dev/omoi/internal/guardian"
	"github.com/omoi-dev/omoi/internal/supervise"
	"github.com/omoi-dev/omoi/internal/taskcontract"
)

// proposer is a model that only proposes contracts.
type proposer struct {
	says  supervise.Proposal
	fails error
	asked atomic.Int64
}

func (*proposer) Judge(context.Context, supervise.Subject, supervise.Analysis) (supervise.Analysis, error) {
	return supervise.Analysis{}, errors.New("it only proposes")
}

func (p *proposer) Propose(context.Context, supervise.TaskText) (supervise.Proposal, error) {
	p.asked.Add(1)
	return p.says, p.fails
}

func TestPropose_OncePerTask(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		fails error
		asked int64 // in two cycles
		rows  int
	}{
		"answers":         {nil, 1, 1},
		"is down":         {errors.New("connection refused"), 2, 0},
		"answers invalid": {supervise.ErrAnswer, 1, 1},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			w := newWorld(t)
			box := w.atWork(1)[0]
			m := &proposer{fails: c.fails, says: supervise.Proposal{Model: "judge-1"}}
			if c.fails == nil {
				m.says.Contract = taskcontract.Contract{AllowedPaths: []string{"src"}}
			}
			g := guardian.New(always(), guardian.Deps{Store: w.store, Model: func() supervise.Model { return m }})
			w.cycle(g, named(1))
			require.Equal(t, c.rows, w.count(`SELECT count(*) FROM task_contracts WHERE author = 'model' AND NOT accepted AND author_name = 'judge-1'`))
			w.cycle(g, named(2))
			require.Equal(t, c.asked, m.asked.Load())
			found, err := w.store.Watched(t.Context(), guardian.WatchQuery{CycleID: named(3), Only: box, Limit: 1})
			require.NoError(t, err)
			if c.rows > 0 {
				require.Equal(t, m.says.Contract, found[0].Contract.Contract)
			}
		})
	}
}
