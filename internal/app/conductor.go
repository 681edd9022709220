package app

import (
	"time"

	"github.com/omoi-dev/omoi/internal/conductor"
	"github.com/omoi-dev/omoi/internal/supervise"
	"github.com/omoi-dev/omoi/internal/supervise/model"
)

// newConductor makes the conductor; asked may be nil.
func (c *core) newConductor(asked *model.Model) *conductor.Conductor {
	m := c.cfg.Monitoring
	deps := conductor.Deps{Store: c.store, Counter: c.metrics, Log: c.log}
	if asked != nil {
		deps.Model = func() supervise.Comparer { return asked.Within(c.modelBudget()) }
	}
	const least, cycles = 10 * time.Minute, 2 // a judgement that stands must count
	return conductor.New(conductor.Config{
		Fresh: max(least, cycles*m.AnalysisCache), Parallel: m.MaxAnalyses,
	}, deps)
}
