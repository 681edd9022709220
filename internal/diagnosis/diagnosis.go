package diagnosis

import (
	"context"
	"errors"
	"log/slog"
	"slices"
	"time"

	"github.com/omoi-dev/omoi/internal/explain"
	"github.com/omoi-dev/omoi/internal/supervise"
	"github.com/omoi-dev/omoi/internal/task"
	"github.com/omoi-dev/omoi/internal/wait"
)

// Config holds the settings of a [Service].
type Config struct {
	Enabled  bool
	Failures int           // consecutive attempts that failed in one class, or failed tasks of a ticket, for a diagnosis
	Newest   int           // maximum number of events of an attempt that are read
	Interval time.Duration // time between two checks for failures
	Rules    supervise.Settings
	Webhook  bool // the operator has configured a receiver
}

// Store stores failures and diagnoses.
type Store interface {
	LeaseDiagnosisRequests(ctx context.Context, lease time.Duration, most int) ([]Request, error)
	SettleDiagnosisRequest(ctx context.Context, l Request) error
	Case(ctx context.Context, taskID string, newest int) (supervise.DiagnosisInput, error)
	TicketEnds(ctx context.Context, ticketID string) (supervise.TicketEnds, error)
	SaveDiagnoses(ctx context.Context, l Request, all []KeptDiagnosis) (saved []string, err error)
	TellNotices(ctx context.Context, most int) (sandboxIDs []string, err error)
}

// Request is a task with a failure to diagnose.
type Request struct {
	TaskID  string
	Changed int64 // number of recorded failures when the request was leased
}

// KeptDiagnosis is a diagnosis with its webhook.
type KeptDiagnosis struct {
	explain.Diagnosis

	DeliveryID string
	Body       string // empty: no webhook
}

// Deps are the dependencies of a [Service].
type Deps struct {
	Store Store
	// Model creates the model for one Period, with the period's budget. Nil: diagnoses by rules only.
	Model  func() supervise.DiagnosisModel
	Period time.Duration
	Wake   func(sandboxID string) // notifies readers of messages of the sandbox; may be nil
	Log    *slog.Logger
}

// Service diagnoses failures. Several processes may run it at the same time.
type Service struct {
	cfg    Config
	deps   Deps
	models supervise.PerCycle[supervise.DiagnosisModel]
}

// New returns a service.
func New(cfg Config, deps Deps) *Service {
	if deps.Wake == nil {
		deps.Wake = func(string) {}
	}
	return &Service{cfg: cfg, deps: deps, models: supervise.PerCycle[supervise.DiagnosisModel]{Make: deps.Model}}
}

const (
	lookLease = 5 * time.Minute // longer than a model may take
	mostTold  = 20
)

// Run diagnoses failures and sends messages to agents until ctx ends.
func (s *Service) Run(ctx context.Context) error {
	for ctx.Err() == nil {
		if err := s.Step(ctx); err != nil && ctx.Err() == nil {
			s.deps.Log.WarnContext(ctx, "diagnose failures failed, retrying", slog.String("error", err.Error()))
		}
		_ = wait.For(ctx, s.cfg.Interval) // fails when ctx ends
	}
	return nil
}

// Step diagnoses every failure that is due, then sends the pending messages.
func (s *Service) Step(ctx context.Context) error {
	var errs []error
	for ctx.Err() == nil {
		looks, err := s.deps.Store.LeaseDiagnosisRequests(ctx, lookLease, 1)
		if err != nil || len(looks) == 0 {
			errs = append(errs, err)
			break
		}
		errs = append(errs, s.look(ctx, looks[0])) // a failed request is due again after its lease
	}
	told, err := s.deps.Store.TellNotices(ctx, mostTold)
	for _, id := range told {
		s.deps.Wake(id)
	}
	return errors.Join(append(errs, err)...)
}

func (s *Service) look(ctx context.Context, l Request) error {
	if !s.cfg.Enabled {
		return s.deps.Store.SettleDiagnosisRequest(ctx, l)
	}
	c, err := s.deps.Store.Case(ctx, l.TaskID, s.cfg.Newest)
	if err != nil {
		return err
	}
	var found []explain.Diagnosis
	if d, ok := supervise.Diagnose(c, s.cfg.Failures, s.cfg.Rules); ok {
		found = append(found, s.ask(ctx, c, d))
	}
	of, ok, err := s.ticket(ctx, c.Task)
	if err != nil {
		return err
	}
	if ok {
		found = append(found, of)
	}
	return s.keep(ctx, l, c.At, found)
}

// ticket diagnoses the failed tasks of a ticket, once enough of them have failed.
func (s *Service) ticket(ctx context.Context, t task.Task) (explain.Diagnosis, bool, error) {
	if t.Status != task.StatusFailed {
		return explain.Diagnosis{}, false, nil
	}
	ends, err := s.deps.Store.TicketEnds(ctx, t.TicketID)
	if err != nil {
		return explain.Diagnosis{}, false, err
	}
	var cases []supervise.DiagnosisInput
	for _, id := range supervise.TicketDue(ends, s.cfg.Failures) {
		c, err := s.deps.Store.Case(ctx, id, s.cfg.Newest)
		if err != nil {
			return explain.Diagnosis{}, false, err
		}
		cases = append(cases, c)
	}
	if len(cases) == 0 {
		return explain.Diagnosis{}, false, nil
	}
	return supervise.DiagnoseTicket(ends, cases, s.cfg.Rules), true, nil
}

// keep stores the diagnoses of a request and settles it.
func (s *Service) keep(ctx context.Context, l Request, at time.Time, found []explain.Diagnosis) error {
	all := make([]KeptDiagnosis, len(found))
	for n, d := range found {
		d.ID, d.CreatedAt = task.NewID(), at
		delivery, body, err := s.body(d)
		if err != nil {
			return err
		}
		all[n] = KeptDiagnosis{Diagnosis: d, DeliveryID: delivery, Body: body}
	}
	saved, err := s.deps.Store.SaveDiagnoses(ctx, l, all)
	for _, d := range all {
		if slices.Contains(saved, d.ID) {
			s.deps.Log.InfoContext(ctx, "failure diagnosed", slog.String("diagnosis_id", d.ID), slog.String("task_id", d.TaskID),
				slog.String("kind", d.Kind), slog.String("failure_class", string(d.FailureClass)), slog.String("source", d.Source))
		}
	}
	return err
}

// ask asks the model for the cause if that is worth it and within the period's budget.
func (s *Service) ask(ctx context.Context, c supervise.DiagnosisInput, d explain.Diagnosis) explain.Diagnosis {
	model := s.models.Of(time.Now().Truncate(s.deps.Period).String())
	if model == nil || !supervise.Understood(d) {
		return d
	}
	said, err := model.Diagnose(ctx, c, d)
	return supervise.Conclude(d, said, err, s.cfg.Rules)
}
