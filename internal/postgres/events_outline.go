package postgres

import (
	"context"
	"strings"

	"github.com/go-json-experiment/json/jsontext"

	"github.com/omoi-dev/omoi/internal/event"
	"github.com/omoi-dev/omoi/internal/ingest"
	"github.com/omoi-dev/omoi/internal/postgres/db"
)

// Outline returns at most limit events of a sandbox after a sequence, without their content, oldest first. [task.CodeGone] after
// retention removed the events.
func (s *Store) Outline(ctx context.Context, sandboxID string, after int64, limit int) ([]ingest.OutlineEvent, error) {
	rows, err := s.q.EventOutline(ctx, db.EventOutlineParams{SandboxID: sandboxID, After: after, PageLimit: limit, Failures: event.Types(event.Failure)})
	if err != nil {
		return nil, translate("read the outline of events", err)
	}
	if len(rows) == 0 || rows[0].Sequence != after+1 {
		if err := s.EventsKept(ctx, sandboxID); err != nil {
			return nil, err
		}
	}
	return mapAll(rows, func(r db.EventOutlineRow) ingest.OutlineEvent { return ingest.OutlineEvent(r) }), nil
}

// SearchEvents returns the events after a sequence, up to another one, whose data contains a text, oldest first. Capital and small
// letters A to Z are equal. The text may be the name of a field, too. [task.CodeGone] after retention removed the events.
func (s *Store) SearchEvents(ctx context.Context, q ingest.EventSearch) ([]ingest.StoredEvent, error) {
	if err := s.EventsKept(ctx, q.SandboxID); err != nil {
		return nil, err
	}
	rows, err := s.q.SearchEvents(ctx, db.SearchEventsParams{
		SandboxID: q.SandboxID, After: q.After, Until: q.Until, Types: append([]string{}, q.Types...), Pattern: jsonPattern(q.Text), PageLimit: q.Limit,
	})
	return mapAll(rows, func(r db.SearchEventsRow) ingest.StoredEvent {
		return ingest.StoredEvent{Sequence: r.Sequence, Type: r.EventType, Data: r.EventData, CreatedAt: r.CreatedAt.UTC()}
	}), translate("search events", err)
}

// jsonPattern returns a pattern of LIKE for a valid text inside a string of JSON, as PostgreSQL prints it.
func jsonPattern(text string) string {
	quoted, _ := jsontext.AppendQuote(nil, text) // fails for invalid UTF-8 only
	inside := strings.TrimSuffix(strings.TrimPrefix(string(quoted), `"`), `"`)
	return "%" + strings.NewReplacer(`\`, `\\`, `%`, `\%`, `_`, `\_`).Replace(inside) + "%"
}
