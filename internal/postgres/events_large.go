package postgres

import (
	"context"

	"github.com/omoi-dev/omoi/internal/ingest"
	"github.com/omoi-dev/omoi/internal/postgres/db"
	"github.com/omoi-dev/omoi/internal/transcript"
)

// queueLarge stores the few events that exceed a row.
func (p *eventPlan) queueLarge(ctx context.Context, q *db.Queries) {
	for _, row := range p.large {
		e, large, s := row.event, row.event.Large, row.sandbox
		_ = q.InsertLargeEvent(ctx, db.InsertLargeEventParams{
			SandboxID: s.id, Sequence: row.sequence, PartitionMonth: s.month, EventType: e.Type, Source: e.Source, EventData: string(e.Data),
			Late: s.ended, At: timeOr(p.now), Key: row.key, Names: large.Names, Fields: string(large.Fields),
		})
		if t := large.Transcript; t != nil {
			kept := transcript.Newest(t.Content, ingest.MaxTranscript)
			_, _ = q.KeepTranscript(ctx, db.KeepTranscriptParams{
				RunKey: transcript.RunOfSession(s.id, t.SessionID), SessionID: t.SessionID, TaskID: s.taskID, SandboxID: s.id,
				Metadata: string(t.Metadata), Content: kept, Cut: t.Cut + int64(len(t.Content)-len(kept)), At: timeOr(p.now),
				Most: transcript.MaxRuns, Late: s.ended,
			})
		}
	}
}
