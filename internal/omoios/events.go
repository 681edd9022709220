package omoios

import (
	"context"
	"encoding/json"
	"slices"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/omoi-dev/omoi/internal/event"
	"github.com/omoi-dev/omoi/internal/ingest"
	"github.com/omoi-dev/omoi/internal/postgres/db"
	"github.com/omoi-dev/omoi/internal/retention"
	"github.com/omoi-dev/omoi/internal/task"
)

const (
	mostEvents = 500     // of one transaction
	mostBytes  = 4 << 20 // of one transaction, plus one event
)

type eventRow struct {
	ID

	SandboxID, Type, Data, Source *string
	CreatedAt                     *time.Time
}

// stored is an event in the form of omoi.
type stored struct {
	id    string
	event ingest.Event
	at    time.Time
	out   outcome
}

// batch collects the events of one sandbox that one transaction stores.
type batch struct {
	id     string
	events []stored
	bytes  int
	last   time.Time // time of the last event
}

// events imports the events of each sandbox in their order, in which omoi numbers them from 1.
func (r *run) events(ctx context.Context) error {
	const table = "sandbox_events"
	k, err := r.table(ctx, table)
	if k == nil {
		return err
	}
	query := "SELECT " + r.src.list(table, "e", "id text", "sandbox_id text", "event_type text", "event_data text", "source text", "created_at timestamptz") +
		" FROM sandbox_events e ORDER BY 2, 6 NULLS LAST, 1"
	b := &batch{}
	err = read(ctx, r.src, table, query, func(e eventRow) error {
		id := task.Deref(e.SandboxID)
		if badSandbox(id) {
			k.count(e.rowID(), skip("It has no sandbox ID, or one that omoi does not allow"))
			return nil
		}
		if id != b.id || len(b.events) >= mostEvents || b.bytes >= mostBytes {
			if err := r.flush(ctx, k, b); err != nil {
				return err
			}
		}
		if id != b.id {
			b = &batch{id: id}
		}
		if next, reason := b.prepare(e); reason != "" {
			k.count(e.rowID(), skip(reason))
		} else {
			b.events, b.bytes = append(b.events, next), b.bytes+next.event.Size()
		}
		return nil
	})
	if err != nil {
		return err
	}
	return r.flush(ctx, k, b)
}

// prepare returns an event in the form of omoi, or why it has none.
func (b *batch) prepare(e eventRow) (next stored, reason string) {
	next = stored{id: e.rowID(), event: ingest.Event{Type: task.Deref(e.Type), Source: task.Deref(e.Source), Data: json.RawMessage(task.Deref(e.Data))}}
	if !slices.Contains([]string{"", ingest.SourceAgent, ingest.SourceWorker, ingest.SourceSystem}, next.event.Source) {
		next.event.Source, next.out.changes = ingest.SourceSystem, []string{"Unknown source: omoi uses system"}
	}
	checked, err := ingest.Stored(next.event)
	if err != nil {
		return next, err.Error()
	}
	if e.CreatedAt != nil {
		b.last = *e.CreatedAt
	} else {
		next.out.changes = append(next.out.changes, "It has no time: omoi uses that of the event before")
	}
	next.event, next.at = checked, first(known(b.last))
	return next, ""
}

// known returns nil for the zero time.
func known(at time.Time) *time.Time {
	if at.IsZero() {
		return nil
	}
	return &at
}

// flush stores the collected events. If the database rejects one of them, each is stored by itself.
func (r *run) flush(ctx context.Context, k *Kind, b *batch) error {
	if len(b.events) == 0 {
		return nil
	}
	err := r.commit(ctx, k.Table, func(tx pgx.Tx) error { return r.store(ctx, db.New(tx), b.id, b.events) })
	if rejected(err) != "" {
		err = r.commit(ctx, k.Table, func(tx pgx.Tx) error {
			for n := range b.events {
				err := pgx.BeginFunc(ctx, tx, func(part pgx.Tx) error { return r.store(ctx, db.New(part), b.id, b.events[n:n+1]) })
				if text := rejected(err); text != "" {
					b.events[n].out = skip(text)
				} else if err != nil {
					return err
				}
			}
			return nil
		})
	}
	if err != nil {
		return err
	}
	for _, e := range b.events {
		k.count(e.id, e.out)
		r.progress(k)
	}
	b.events, b.bytes = nil, 0
	return nil
}

// store numbers the events that the sandbox lacks after its last one, and stores them.
func (r *run) store(ctx context.Context, q *db.Queries, sandbox string, events []stored) error {
	if err := ensureSandbox(ctx, q, sandbox, events[0].at); err != nil {
		return err
	}
	row, err := q.ImportedSandbox(ctx, retention.Events, sandbox)
	if err != nil {
		return err
	}
	keys := make([]string, len(events))
	for n, e := range events {
		keys[n] = e.id
	}
	have, err := q.ImportedEvents(ctx, db.ImportedEventsParams{PartitionMonth: row.PartitionMonth, SandboxID: sandbox, Keys: keys})
	if err != nil {
		return err
	}
	in := db.ImportEventsParams{SandboxID: sandbox, PartitionMonth: row.PartitionMonth}
	move := db.MoveImportedParams{ID: sandbox, LastSequence: row.LastSequence}
	for n := range events {
		e := &events[n]
		switch {
		case r.foreign(row):
			e.out = skip(otherSandbox)
			continue
		case row.Removed || slices.Contains(have, e.id):
			e.out = outcome{existing: true}
			continue
		}
		move.LastSequence++
		move.LastEventAt = e.at
		if event.Is(e.event.Type, event.Work) {
			move.LastWorkAt = &e.at
		}
		if e.event.Large != nil {
			if err := r.storeLarge(ctx, q, sandbox, row.PartitionMonth, move.LastSequence, e); err != nil {
				return err
			}
			continue
		}
		in.Sequences, in.EventTypes, in.Sources = append(in.Sequences, move.LastSequence), append(in.EventTypes, e.event.Type), append(in.Sources, e.event.Source)
		in.EventData, in.At, in.Keys = append(in.EventData, string(e.event.Data)), append(in.At, e.at), append(in.Keys, e.id)
	}
	if move.LastSequence == row.LastSequence {
		return nil
	}
	if err := q.ImportEvents(ctx, in); err != nil {
		return err
	}
	return q.MoveImported(ctx, move)
}

// ensureSandbox adds an unmanaged sandbox, unless a task has the sandbox.
func ensureSandbox(ctx context.Context, q *db.Queries, id string, at time.Time) error {
	_, err := q.ImportSandbox(ctx, db.ImportSandboxParams{ID: id, Provider: task.ProviderBare, Labels: json.RawMessage(imported), CreatedAt: at, StartedAt: &at, EndedAt: &at})
	return err
}

// otherSandbox is the reason of a row that names a sandbox of omoi, or of another organization.
const otherSandbox = "omoi has another sandbox with its sandbox ID"

// foreign reports whether a sandbox is not imported, or is of another organization than that of --into.
func (r *run) foreign(row db.ImportedSandboxRow) bool {
	var l struct {
		From string `json:"imported_from"`
	}
	_ = json.Unmarshal(row.Labels, &l)
	return l.From != "omoios" || r.into != "" && row.OrganizationID != nil && *row.OrganizationID != r.into
}

// storeLarge stores an event that exceeds a row. Its transcript only fills a gap: OmoiOS keeps the newest one in a table.
func (r *run) storeLarge(ctx context.Context, q *db.Queries, sandbox string, month time.Time, sequence int64, e *stored) error { //nolint:revive // the key of an event
	large := e.event.Large
	err := q.InsertLargeEvent(ctx, db.InsertLargeEventParams{
		SandboxID: sandbox, Sequence: sequence, PartitionMonth: month, EventType: e.event.Type, Source: e.event.Source, EventData: string(e.event.Data),
		At: &e.at, Key: e.id, Names: large.Names, Fields: string(large.Fields),
	})
	if err != nil || large.Transcript == nil {
		return err
	}
	kept, err := r.keep(ctx, q, sandbox, large.Transcript.SessionID, large.Transcript.Content, string(large.Transcript.Metadata), e.at)
	if left := "Its transcript is left out: " + tooMany; !kept && !slices.Contains(e.out.changes, left) { // also if the event is stored again
		e.out.changes = append(e.out.changes, left)
	}
	return err
}
