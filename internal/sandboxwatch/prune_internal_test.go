package sandboxwatch

import (
	"context"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"
)

// pruned is a provider that counts how often its tombstones are pruned.
type pruned struct {
	world

	passes int
}

func (p *pruned) Prune(time.Time) error {
	p.passes++
	return nil
}

// Tombstones are pruned each hour while the worker runs.
func TestRun_PrunesTombstonesEachHour(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		p := &pruned{}
		ctx, cancel := context.WithTimeout(t.Context(), 24*time.Hour+time.Minute) // of this bubble
		defer cancel()
		watchOver(&p.world, p).Run(ctx)
		require.Equal(t, 24, p.passes)
	})
}
