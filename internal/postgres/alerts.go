package postgres

import (
	"context"
	"log/slog"
	"strings"
	"time"

	"github.com/omoi-dev/omoi/internal/task"
)

// Overdue counts the sandboxes whose attempt ended longer than age ago and whose deletion is not verified; oldest is
// the longest of these times.
func (s *Store) Overdue(ctx context.Context, age time.Duration) (n int, oldest time.Duration, err error) {
	row, err := s.q.OverdueSandboxes(ctx, age)
	return int(row.Overdue), time.Duration(row.Oldest * float64(time.Second)), translate("count overdue sandboxes", err)
}

// SetAlert raises or repeats the alert of source, and logs a new alert. An empty text clears the alert.
func (s *Store) SetAlert(ctx context.Context, source, text string) error {
	if text == "" {
		cleared, err := s.q.ClearAlert(ctx, source)
		if cleared > 0 {
			s.cfg.Log.InfoContext(ctx, "alert cleared", slog.String("source", source))
		}
		return translate("clear alert", err)
	}
	raised, err := s.q.RaiseAlert(ctx, source, storable(text))
	if raised {
		s.cfg.Log.ErrorContext(ctx, "alert raised: operator action required", slog.String("source", source), slog.String("alert", text))
	}
	return translate("raise alert", err)
}

// NoAlert returns an error with the text of all raised alerts, or nil.
func (s *Store) NoAlert(ctx context.Context) error {
	texts, err := s.q.Alerts(ctx)
	if err != nil {
		return translate("read alerts", err)
	}
	if len(texts) == 0 {
		return nil
	}
	return task.Errorf(task.CodeConflict, "%s", strings.Join(texts, "; "))
}
