package conductor

import (
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"log/slog"
	"time"

	"github.com/omoi-dev/omoi/internal/contract"
	"github.com/omoi-dev/omoi/internal/supervise"
	"github.com/omoi-dev/omoi/internal/task"
)

// Config holds the settings of a conductor. Zero values mean the defaults named here.
type Config struct {
	Fresh    time.Duration // maximum age of the guardian's analyses that count; default 10 min
	Parallel int           // concurrent model calls; default 5
}

const (
	// newestEvents is the maximum number of events of an agent that are read for changed files.
	newestEvents = 200
	// maxAsked is the maximum number of tasks of an organization about which a model is asked in one cycle.
	maxAsked = 20
	// patience bounds the model calls for one organization; the next cycle asks about the remaining tasks.
	patience = time.Minute
)

// Store is the part of the store that the conductor needs.
type Store interface {
	ConductedOrganizations(ctx context.Context, cycleID, after, upto string) ([]ActiveOrganization, error)
	ConductedAgents(ctx context.Context, organizationID string, fresh time.Duration, newest int) ([]ActiveAgent, error)
	Compared(ctx context.Context, organizationID string, taskIDs []string) ([]Duplicate, error)
	// SaveConducted stores an analysis once for its cycle and organization, with its pairs.
	SaveConducted(ctx context.Context, a Analysis, pairs []Duplicate) (saved bool, err error)
	EndConductorCycle(ctx context.Context, keep time.Duration) error
}

// Counter counts the results of the conductor.
type Counter interface {
	Conducted(status string)
	Linked(source string)
}

// Deps are the dependencies of a conductor. All but Store are optional.
type Deps struct {
	Store Store
	// Model returns the finder of one cycle, with the cycle's budget. Nil: text comparison only.
	Model   func() supervise.Finder
	Counter Counter
	Log     *slog.Logger
}

// Conductor is safe for concurrent use.
type Conductor struct {
	cfg  Config
	deps Deps
	log  *slog.Logger

	models supervise.PerCycle[supervise.Finder]
}

// New returns a conductor.
func New(cfg Config, deps Deps) *Conductor {
	cfg.Fresh = cmp.Or(cfg.Fresh, 10*time.Minute)
	cfg.Parallel = cmp.Or(cfg.Parallel, 5)
	return &Conductor{cfg: cfg, deps: deps, log: cmp.Or(deps.Log, slog.New(slog.DiscardHandler)), models: supervise.PerCycle[supervise.Finder]{Make: deps.Model}}
}

// Begin returns the organizations with active agents, in the order of their IDs.
func (c *Conductor) Begin(ctx context.Context, cycleID string) (ids []string, agents int, err error) {
	found, err := c.deps.Store.ConductedOrganizations(ctx, cycleID, "", "")
	for _, org := range found {
		ids = append(ids, org.ID)
		agents += org.Agents
	}
	return ids, agents, err
}

// Analyze analyzes the organizations of a range after from, each once in a cycle, and calls note with its progress. If one
// organization fails, Analyze continues with the next one.
func (c *Conductor) Analyze(ctx context.Context, s contract.Range, from contract.CycleProgress, note func(contract.CycleProgress)) (contract.CycleProgress, error) {
	sum := from
	found, err := c.deps.Store.ConductedOrganizations(ctx, s.CycleID, cmp.Or(from.Upto, s.After), s.Upto)
	if err != nil {
		return sum, err
	}
	model := c.models.Of(s.CycleID)
	for _, org := range found {
		if err := c.one(ctx, s.CycleID, org, model, &sum); err != nil {
			if ctx.Err() != nil {
				return sum, ctx.Err()
			}
			c.log.WarnContext(ctx, "analyze organization failed, retrying in the next cycle", slog.String("organization_id", org.ID), slog.String("error", err.Error()))
			sum.Failed++
		}
		sum.Upto = org.ID
		note(sum)
	}
	return sum, nil
}

// one analyzes an organization unless an earlier try did.
func (c *Conductor) one(ctx context.Context, cycleID string, org ActiveOrganization, model supervise.Finder, sum *contract.CycleProgress) error {
	if org.InCycle {
		sum.Analyzed++
		return nil
	}
	a, err := c.analyse(ctx, cycleID, org.ID, model)
	if err == nil {
		sum.Analyzed++
		sum.Duplicates += a.Duplicates
	}
	return err
}

// End records the end of a cycle.
func (c *Conductor) End(ctx context.Context, _ contract.CycleReport) error {
	return c.deps.Store.EndConductorCycle(ctx, supervise.KeepAnalyses)
}

// analyse analyzes the agents of one organization and stores the analysis.
func (c *Conductor) analyse(ctx context.Context, cycleID, organizationID string, model supervise.Finder) (Analysis, error) {
	found, err := c.deps.Store.ConductedAgents(ctx, organizationID, c.cfg.Fresh, newestEvents)
	if err != nil || len(found) == 0 { // the agents have ended meanwhile
		return Analysis{}, err
	}
	pairs, err := c.compare(ctx, organizationID, found, model)
	if err != nil {
		return Analysis{}, err
	}
	fleet := supervise.Conduct(agentsOf(found), pairs.same())
	if fleet.DuplicatesBy = SourceText; model != nil {
		fleet.DuplicatesBy = SourceModel
	}
	a, err := recordOf(cycleID, organizationID, fleet)
	if err != nil {
		return a, err
	}
	saved, err := c.deps.Store.SaveConducted(ctx, a, pairs.rows(found))
	if saved && c.deps.Counter != nil {
		c.deps.Counter.Conducted(a.Status)
		for _, p := range pairs {
			if p.Same {
				c.deps.Counter.Linked(p.Source)
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
		Agents: f.Agents, Analyzed: f.Judged, Duplicates: f.Duplicates, Terminations: f.Ended, Coordinations: f.Coordination,
	}
	var err error
	if a.Details, err = json.Marshal(f); err != nil {
		return a, fmt.Errorf("write the analysis of organization %s: %w", organizationID, err)
	}
	return a, nil
}
