package guardian

import (
	"cmp"
	"context"
	"log/slog"
	"time"

	"github.com/omoi-dev/omoi/internal/contract"
	"github.com/omoi-dev/omoi/internal/event"
	"github.com/omoi-dev/omoi/internal/supervise"
	"github.com/omoi-dev/omoi/internal/taskcontract"
)

// Config holds the settings of a guardian. Zero values mean the defaults named here.
type Config struct {
	AutoSteering bool // default for projects without this setting
	// Fresh is how long an analysis stays valid: a cycle does not repeat a valid analysis. Negative: it is never valid. Default 5 min.
	Fresh time.Duration
	// Stale is the maximum age at which a planned intervention is carried out; default 2 min.
	Stale  time.Duration
	Asked  int // concurrent model calls; default 5
	Rules  supervise.Settings
	Ladder Ladder // zero: [DefaultLadder]
}

// NewestEvents is the maximum number of events that an analysis reads. All healthy trajectories of the corpus are shorter.
const NewestEvents = 200

// DefaultLadder returns the escalation policy of docs/SUPERVISION.md.
func DefaultLadder() Ladder {
	return Ladder{Nudge: 0.6, Interrupt: 0.7, Replace: 0.8, CoolDown: 10 * time.Minute, Cap: 4} //nolint:mnd // documented values
}

// Store is the part of the store that the guardian needs.
type Store interface {
	BeginGuardianCycle(ctx context.Context, id string, stale time.Duration) ([]string, error)
	EndGuardianCycle(ctx context.Context, c Cycle, keep time.Duration) error
	Watched(ctx context.Context, q WatchQuery) ([]Watched, error)
	WatchedEvents(ctx context.Context, of []Watched, newest int) (map[string][]event.Event, error)
	// SaveAnalysis stores an analysis once for its cycle and sandbox, and with it the intervention that plan returns.
	SaveAnalysis(ctx context.Context, j Analysis, iv Intervention, plan func([]PastIntervention) (PlannedIntervention, bool)) (Intervention, bool, error)
	Planned(ctx context.Context, after, upto string) ([]Intervention, error)
	// CarryOut carries out a planned intervention. Repeated calls carry it out once.
	CarryOut(ctx context.Context, iv Intervention) (Intervention, error)
	// ProposeContract stores the first contract of a task, by a model.
	ProposeContract(ctx context.Context, taskID, model string, c taskcontract.Contract) error
	NewestJudgements(ctx context.Context, sandboxIDs []string, fresh time.Duration) ([]Analysis, error)
}

// Counter counts the results of the guardian.
type Counter interface {
	Judged(verdict, spokenBy string)
	Intervened(level Level, shadow bool)
}

// Deps are the dependencies of a guardian. All but Store are optional.
type Deps struct {
	Store Store
	// Model creates the model for one cycle, with the cycle's budget. Nil: analyses by rules only.
	Model   func() supervise.Model
	Wake    func(iv Intervention) // notifies readers of a new message or command
	Counter Counter
	Log     *slog.Logger
}

// Guardian is safe for concurrent use.
type Guardian struct {
	cfg    Config
	deps   Deps
	log    *slog.Logger
	models supervise.PerCycle[supervise.Model]
}

// New returns a guardian.
func New(cfg Config, deps Deps) *Guardian {
	cfg.Fresh = cmp.Or(cfg.Fresh, 5*time.Minute)
	cfg.Stale = cmp.Or(cfg.Stale, 2*time.Minute)
	cfg.Asked = cmp.Or(cfg.Asked, 5)
	cfg.Ladder = cmp.Or(cfg.Ladder, DefaultLadder())
	if deps.Wake == nil {
		deps.Wake = func(Intervention) {}
	}
	if cfg.Rules.Ignored == nil {
		cfg.Rules = supervise.DefaultSettings()
	}
	return &Guardian{cfg: cfg, deps: deps, log: cmp.Or(deps.Log, slog.New(slog.DiscardHandler)), models: supervise.PerCycle[supervise.Model]{Make: deps.Model}}
}

// Begin records the start of a cycle and returns the IDs of the active sandboxes, one agent each.
func (g *Guardian) Begin(ctx context.Context, cycleID string) (ids []string, agents int, err error) {
	ids, err = g.deps.Store.BeginGuardianCycle(ctx, cycleID, g.cfg.Stale)
	return ids, len(ids), err
}

// End records the result of a cycle.
func (g *Guardian) End(ctx context.Context, r contract.CycleReport) error {
	return g.deps.Store.EndGuardianCycle(ctx, Cycle{
		ID: r.ID, Active: r.Agents, Analyzed: r.Analyzed, Fresh: r.Fresh, Failed: r.Failed, Interventions: r.Interventions,
	}, supervise.KeepAnalyses)
}
