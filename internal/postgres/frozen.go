package postgres

import (
	"context"
	"fmt"
	"time"

	"github.com/omoi-dev/omoi/internal/postgres/db"
)

// KeepThawed lets time count. omoi dev calls it every [Store.PulsePeriod]: after a silence of three periods the machine
// counts as frozen, since it sleeps or is off, or omoi dev was killed.
func (s *Store) KeepThawed(ctx context.Context) error {
	return translate("record that sandboxes are not frozen", s.q.KeepThawed(ctx, s.stale()))
}

// PulsePeriod returns [Config.PulsePeriod].
func (s *Store) PulsePeriod() time.Duration { return s.cfg.PulsePeriod }

// NoteFrozen records that the sandboxes of this machine are frozen. Until [Store.KeepThawed] or [Store.NoteThawed], time
// counts neither for budgets nor for sandboxes and attempts.
func (s *Store) NoteFrozen(ctx context.Context) error {
	return translate("record that sandboxes are frozen", s.q.NoteFrozen(ctx))
}

// NoteThawed records that the sandboxes are thawed, whether omoi dev runs or not.
func (s *Store) NoteThawed(ctx context.Context) error {
	return translate("record that sandboxes are thawed", s.q.NoteThawed(ctx))
}

// FrozenTime returns how long the sandbox of an attempt was frozen since the attempt was assigned.
func (s *Store) FrozenTime(ctx context.Context, sandboxID string) (time.Duration, error) {
	seconds, err := s.q.FrozenTime(ctx, sandboxID)
	return age(seconds), translate("read how long sandbox "+sandboxID+" was frozen", err)
}

// SandboxesElsewhere lists the sandboxes at remote providers, which keep running when this machine stops.
func (s *Store) SandboxesElsewhere(ctx context.Context) ([]Elsewhere, error) {
	rows, err := s.q.SandboxesElsewhere(ctx)
	return mapAll(rows, func(r db.SandboxesElsewhereRow) Elsewhere {
		return Elsewhere{SandboxID: r.ID, Provider: r.Provider, TaskID: r.TaskID, PerHour: r.Hour, Currency: r.Currency}
	}), translate("list sandboxes elsewhere", err)
}

// Elsewhere is a sandbox at a remote provider.
type Elsewhere struct {
	SandboxID, Provider, TaskID string

	PerHour  float64 // below 0: unknown
	Currency string
}

// String returns the sandbox, its task and its price per hour.
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
