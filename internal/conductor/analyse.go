package conductor

import (
	"context"
	"encoding/json"
	"fmt"

	"github.com/omoi-dev/omoi/internal/supervise"
	"github.com/omoi-dev/omoi/internal/task"
)

// analyse looks at the agents of one organization, and stores what it thinks.
func (c *Conductor) analyse(ctx context.Context, cycleID, organizationID string, model supervise.Comparer) (Analysis, error) {
	found, err := c.deps.Store.ConductedAgents(ctx, organizationID, c.cfg.Fresh, newestEvents)
	if err != nil || len(found) == 0 { // they have ended meanwhile
		return Analysis{}, err
	}
	pairs, err := c.compare(ctx, organizationID, found, model)
	if err != nil {
		return Analysis{}, err
	}
	fleet := supervise.Conduct(agentsOf(found), pairs.same())
	a, err := recordOf(cycleID, organizationID, fleet)
	if err != nil {
		return a, err
	}
	saved, err := c.deps.Store.SaveConducted(ctx, a, pairs.rows())
	if saved && c.deps.Counter != nil {
		c.deps.Counter.Conducted(a.Status)
		for _, p := range pairs {
			if p.row.Same {
				c.deps.Counter.Linked(p.row.SpokenBy)
			}
		}
	}
	return a, err
}

func agentsOf(found []ActiveAgent) []supervise.Agent {
	agents := make([]supervise.Agent, len(found))
	for n, f := range found {
		agents[n] = f.Agent
	}
	return agents
}

func recordOf(cycleID, organizationID string, f supervise.Fleet) (Analysis, error) {
	a := Analysis{
		ID: task.NewID(), CycleID: cycleID, OrganizationID: organizationID, Coherence: f.Coherence, AtMost: f.AtMost, Status: f.Status,
		Agents: f.Agents, Judged: f.Judged, Duplicates: f.Duplicates, Terminations: f.Ended, Coordinations: f.Coordination,
	}
	var err error
	if a.Details, err = json.Marshal(f); err != nil {
		return a, fmt.Errorf("write the analysis of organization %s: %w", organizationID, err)
	}
	return a, nil
}
