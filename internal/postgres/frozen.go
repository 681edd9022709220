package postgres

import (
	"context"
	"fmt"
	"time"

	"github.com/omoi-dev/omoi/internal/postgres/db"
)

// NoteFrozen writes that the sandboxes of this machine are frozen from now on. Until [Store.NoteThawed]
// time counts neither against budgets nor as time of a sandbox or of an attempt.
func (s *Store) NoteFrozen(ctx context.Context) error {
	return translate("note that sandboxes are frozen", s.q.NoteFrozen(ctx))
}

// NoteThawed writes that they are thawed.
func (s *Store) NoteThawed(ctx context.Context) error {
	return translate("note that sandboxes are thawed", s.q.NoteThawed(ctx))
}

// FrozenTime returns how long the sandbox of an attempt was frozen since the attempt was assigned.
func (s *Store) FrozenTime(ctx context.Context, sandboxID string) (time.Duration, error) {
	seconds, err := s.q.FrozenTime(ctx, sandboxID)
	return age(seconds), translate("read how long sandbox "+sandboxID+" was frozen", err)
}

// SandboxesElsewhere lists the sandboxes that exist at providers elsewhere, which a stop of this machine does not end.
func (s *Store) SandboxesElsewhere(ctx context.Context) ([]Elsewhere, error) {
	rows, err := s.q.SandboxesElsewhere(ctx)
	return mapAll(rows, func(r db.SandboxesElsewhereRow) Elsewhere {
		return Elsewhere{SandboxID: r.ID, Provider: r.Provider, TaskID: r.TaskID, PerHour: r.Hour, Currency: r.Currency}
	}), translate("list sandboxes elsewhere", err)
}

// Elsewhere is a sandbox that exists at a provider elsewhere.
type Elsewhere struct {
	SandboxID, Provider, TaskID string

	PerHour  float64 // below 0: no price is known
	Currency string
}

// String names the sandbox, its task, and its price an hour.
func (e Elsewhere) String() string {
	price := "its price is not configured (price." + e.Provider + ")"
	if e.PerHour >= 0 {
		price = fmt.Sprintf("%.4g %s an hour", e.PerHour, e.Currency)
	}
	if e.TaskID == "" {
		return fmt.Sprintf("%s sandbox %s: %s", e.Provider, e.SandboxID, price)
	}
	return fmt.Sprintf("%s sandbox %s of task %s: %s", e.Provider, e.SandboxID, e.TaskID, price)
}
