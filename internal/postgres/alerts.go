package postgres

import (
	"context"
	"strings"
	"time"

	"github.com/omoi-dev/omoi/internal/task"
)

// Overdue counts the sandboxes whose attempt has been over for longer than age and that nobody
// has seen to be gone twice; oldest is the longest of these times.
func (s *Store) Overdue(ctx context.Context, age time.Duration) (n int, oldest time.Duration, err error) {
	row, err := s.q.OverdueSandboxes(ctx, age)
	return int(row.Overdue), time.Duration(row.Oldest * float64(time.Second)), translate("count overdue sandboxes", err)
}

// SetAlarm notes what a person has to look at; an empty text takes it back.
func (s *Store) SetAlarm(ctx context.Context, source, text string) error {
	if text == "" {
		return translate("take back an alarm", s.q.ClearAlarm(ctx, source))
	}
	return translate("note an alarm", s.q.SetAlarm(ctx, source, storable(text)))
}

// NoAlarm is nil if the reaper found nothing that a person has to look at.
func (s *Store) NoAlarm(ctx context.Context) error {
	texts, err := s.q.Alarms(ctx)
	if err != nil {
		return translate("read alarms", err)
	}
	if len(texts) == 0 {
		return nil
	}
	return task.Errorf(task.CodeConflict, "%s", strings.Join(texts, "; "))
}
