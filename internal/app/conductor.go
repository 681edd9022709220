package app

import (
	"context"
	"fmt"
	"time"

	"github.com/omoi-dev/omoi/internal/conductor"
	"github.com/omoi-dev/omoi/internal/supervise"
)

// openSupervision makes guardian and conductor.
func (c *core) openSupervision() (err error) {
	if c.guardian, err = c.newGuardian(); err != nil {
		return err
	}
	c.conductor, err = c.newConductor()
	return err
}

// newConductor makes the part that looks at agents together.
func (c *core) newConductor() (*conductor.Conductor, error) {
	m := c.cfg.Monitoring
	asked, err := c.judgingModel()
	if err != nil {
		return nil, err
	}
	deps := conductor.Deps{Store: c.store, Counter: c.metrics, Log: c.log}
	if asked != nil {
		deps.Model = func() supervise.Comparer { return supervise.ComparingWithin(asked, c.modelBudget()) }
	}
	const least, cycles = 10 * time.Minute, 2 // a judgement that stands must count
	return conductor.New(conductor.Config{
		Fresh: max(least, cycles*m.AnalysisCache), Keep: m.Retention, Parallel: m.MaxAnalyses,
	}, deps), nil
}

// conductorLooks is an error once somebody has been at work for long at whom the conductor did
// not look, whatever silences it.
func (c *core) conductorLooks(ctx context.Context) error {
	return c.watches(ctx, "conductor", c.cfg.Monitoring.ConductorInterval)
}

// conductorAge says when the conductor last ran.
func (c *core) conductorAge(ctx context.Context) string {
	age, err := c.store.ConductorAge(ctx)
	if err != nil || age < 0 {
		return "It has not run yet."
	}
	return fmt.Sprintf("It last ran %s ago.", age.Round(time.Second))
}
