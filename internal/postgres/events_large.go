package postgres

import (
	"github.com/jackc/pgx/v5"

	"github.com/omoi-dev/omoi/internal/ingest"
	"github.com/omoi-dev/omoi/internal/task"
	"github.com/omoi-dev/omoi/internal/transcript"
)

const (
	sqlInsertLarge = `WITH stored AS (
			INSERT INTO sandbox_events (sandbox_id, sequence, partition_month, event_type, source, event_data, late, created_at, cut, key)
			VALUES ($1, $2, $3, $4, $5, $6::text::jsonb, $7, coalesce($8, now()), true, nullif($11, ''))
		) INSERT INTO event_fields (sandbox_id, sequence, partition_month, names, fields) VALUES ($1, $2, $3, $9, $10::text::jsonb)`
	// Each attempt has a row of its own for a session, though its task's later attempts go on
	// with it. What comes late fills no more than a gap, and what is too many is not kept.
	sqlKeepTranscript = `INSERT INTO transcripts AS t (run_key, session_id, task_id, sandbox_id, metadata, content, cut, updated_at)
		SELECT $1::text, $2::text, $3::uuid, $4::text, $5::text::jsonb, $6::bytea, $9::bigint, coalesce($7::timestamptz, now())
		WHERE (SELECT count(*) FROM transcripts o WHERE o.sandbox_id = $4 AND o.run_key <> $1) < $10::integer
		ON CONFLICT (run_key) DO UPDATE SET metadata = excluded.metadata, content = excluded.content,
			cut = excluded.cut, updated_at = excluded.updated_at
		WHERE t.sandbox_id = excluded.sandbox_id AND NOT $8`
)

// sessionKeys begin the keys of transcripts that came inside of events.
const sessionKeys = "session-"

// queueLarge stores the events that are more than a row; there are few.
func (p *eventPlan) queueLarge(batch *pgx.Batch) {
	for _, row := range p.large {
		e, large := row.event, row.event.Large
		batch.Queue(sqlInsertLarge, row.sandbox.id, row.sequence, row.sandbox.month, e.Type, e.Source, string(e.Data),
			row.sandbox.ended, timeOr(p.now), large.Names, string(large.Fields), row.key)
		if large.Transcript != nil {
			p.queueTranscript(batch, row)
		}
	}
}

func (p *eventPlan) queueTranscript(batch *pgx.Batch, row eventRow) {
	t, s := row.event.Large.Transcript, row.sandbox
	kept := newest(t.Content, ingest.MaxTranscript)
	batch.Queue(sqlKeepTranscript, sessionKeys+task.DerivedID("session", s.id, t.SessionID), t.SessionID, s.taskID, s.id,
		string(t.Metadata), kept, timeOr(p.now), s.ended, t.Cut+int64(len(t.Content)-len(kept)), transcript.MaxRuns)
}
