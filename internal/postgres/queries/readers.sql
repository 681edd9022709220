-- name: TrajectoryBefore :many
-- Newest first; heartbeats are left out.
SELECT e.sequence, e.event_type, e.source, e.event_data, e.late, e.created_at, coalesce(s.attempt, 0)::integer AS attempt
FROM sandboxes s JOIN sandbox_events e ON e.birth = s.birth AND e.sandbox_id = s.id
WHERE s.id = sqlc.arg(sandbox_id) AND e.sequence < sqlc.arg(before)
  AND e.event_type NOT IN ('heartbeat', 'agent.heartbeat', 'spec.heartbeat')
ORDER BY e.sequence DESC LIMIT sqlc.arg(page_limit);

-- name: TrajectoryAfter :many
-- Oldest first; heartbeats are left out.
SELECT e.sequence, e.event_type, e.source, e.event_data, e.late, e.created_at, coalesce(s.attempt, 0)::integer AS attempt
FROM sandboxes s JOIN sandbox_events e ON e.birth = s.birth AND e.sandbox_id = s.id
WHERE s.id = sqlc.arg(sandbox_id) AND e.sequence > sqlc.arg(after)
  AND e.event_type NOT IN ('heartbeat', 'agent.heartbeat', 'spec.heartbeat')
ORDER BY e.sequence LIMIT sqlc.arg(page_limit);

-- name: HeartbeatTotals :one
-- The newest sequence, and the number of heartbeats up to the relayed sequence plus the rows after it.
SELECT s.head, (coalesce((s.counters ->> 'heartbeat')::bigint, 0) + coalesce((s.counters ->> 'agent.heartbeat')::bigint, 0)
    + coalesce((s.counters ->> 'spec.heartbeat')::bigint, 0) + (
        SELECT count(*) FROM sandbox_events e WHERE e.birth = s.birth AND e.sandbox_id = s.id
          AND e.sequence > s.relayed AND e.event_type IN ('heartbeat', 'agent.heartbeat', 'spec.heartbeat')
    ))::bigint AS beats
FROM sandboxes s WHERE s.id = sqlc.arg(sandbox_id);

-- name: FirstHeartbeat :one
SELECT e.created_at FROM sandboxes s JOIN sandbox_events e ON e.birth = s.birth AND e.sandbox_id = s.id
WHERE s.id = sqlc.arg(sandbox_id) AND e.event_type IN ('heartbeat', 'agent.heartbeat', 'spec.heartbeat')
ORDER BY e.sequence LIMIT 1;

-- name: LastHeartbeat :one
SELECT e.created_at, coalesce(e.event_data ->> 'status', '')::text AS status
FROM sandboxes s JOIN sandbox_events e ON e.birth = s.birth AND e.sandbox_id = s.id
WHERE s.id = sqlc.arg(sandbox_id) AND e.event_type IN ('heartbeat', 'agent.heartbeat', 'spec.heartbeat')
ORDER BY e.sequence DESC LIMIT 1;

-- name: EventBySequence :one
SELECT e.sequence, e.event_type, e.source, e.event_data, e.late, e.created_at, coalesce(s.attempt, 0)::integer AS attempt
FROM sandboxes s JOIN sandbox_events e ON e.birth = s.birth AND e.sandbox_id = s.id
WHERE s.id = sqlc.arg(sandbox_id) AND e.sequence = sqlc.arg(sequence);

-- name: FileEdits :many
-- What agents said of edited files, oldest first. A text that is no text counts as none.
SELECT e.sequence, e.created_at, coalesce(e.event_data ->> 'file_path', '')::text AS path,
    coalesce(e.event_data ->> 'change_type', '')::text AS change_type,
    left(coalesce(e.event_data ->> 'lines_added', ''), 12)::text AS added,
    left(coalesce(e.event_data ->> 'lines_removed', ''), 12)::text AS removed,
    coalesce(jsonb_typeof(e.event_data -> 'full_diff') = 'string', false)::boolean AS complete,
    left(coalesce(e.event_data ->> 'full_diff', e.event_data ->> 'diff_preview', ''), 65536)::text AS diff
FROM sandboxes s JOIN sandbox_events e ON e.birth = s.birth AND e.sandbox_id = s.id
WHERE s.id = sqlc.arg(sandbox_id) AND e.sequence > sqlc.arg(after) AND e.event_type = 'agent.file_edited'
  AND jsonb_typeof(e.event_data -> 'file_path') = 'string'
ORDER BY e.sequence LIMIT sqlc.arg(page_limit);

-- name: IntegrityHead :one
SELECT head, relayed, duplicates, spool_id, spool_mark FROM sandboxes WHERE id = sqlc.arg(sandbox_id);

-- name: IntegrityStored :one
SELECT count(*) AS stored, coalesce(max(e.sequence), 0)::bigint AS newest
FROM sandboxes s JOIN sandbox_events e ON e.birth = s.birth AND e.sandbox_id = s.id
WHERE s.id = sqlc.arg(sandbox_id);

-- name: IntegrityGaps :many
-- The stretches of 1..head that hold no event.
SELECT (e.before + 1)::bigint AS first, (e.sequence - 1)::bigint AS last FROM (
    SELECT x.sequence, coalesce(lag(x.sequence) OVER (ORDER BY x.sequence), 0) AS before FROM (
        SELECT e.sequence FROM sandboxes s JOIN sandbox_events e ON e.birth = s.birth AND e.sandbox_id = s.id
        WHERE s.id = sqlc.arg(sandbox_id)
        UNION ALL SELECT s.head + 1 FROM sandboxes s WHERE s.id = sqlc.arg(sandbox_id)
    ) x
) e WHERE e.sequence > e.before + 1 ORDER BY e.sequence LIMIT sqlc.arg(most);

-- name: IntegritySpools :many
SELECT spool_id, mark FROM senders WHERE sandbox_id = sqlc.arg(sandbox_id) ORDER BY spool_id;

-- name: TranscriptRow :one
-- The newest transcript of the sandbox's agent runs.
SELECT run_key, metadata, content, updated_at FROM transcripts WHERE sandbox_id = sqlc.arg(sandbox_id)
ORDER BY updated_at DESC, run_key LIMIT 1;

-- name: ReportedTranscript :one
-- The newest transcript that came inside an event.
SELECT coalesce(e.event_data ->> 'session_id', '')::text AS session_id, (e.event_data ->> 'transcript_b64')::text AS content, e.created_at
FROM sandboxes s JOIN sandbox_events e ON e.birth = s.birth AND e.sandbox_id = s.id
WHERE s.id = sqlc.arg(sandbox_id) AND e.event_type = 'agent.completed'
  AND jsonb_typeof(e.event_data -> 'transcript_b64') = 'string' AND e.event_data ->> 'transcript_b64' <> ''
ORDER BY e.sequence DESC LIMIT 1;

-- name: SpecMarks :many
-- What a run by phases said of itself, oldest first.
SELECT e.sequence, e.event_type, coalesce(e.event_data ->> 'phase', '')::text AS phase, e.created_at
FROM sandboxes s JOIN sandbox_events e ON e.birth = s.birth AND e.sandbox_id = s.id
WHERE s.id = sqlc.arg(sandbox_id) AND e.event_type IN
    ('spec.phase_started', 'spec.phase_completed', 'spec.execution_completed', 'spec.execution_failed')
ORDER BY e.sequence LIMIT 1000;

-- name: LastActivity :one
-- When the sandbox worked and beat last, and whether its agent has completed with no work after it.
SELECT s.last_work_at, s.last_beat_at, (s.ended_at IS NOT NULL)::boolean AS ended,
    clock_timestamp()::timestamptz AS now,
    EXISTS (SELECT FROM sandbox_events e WHERE e.birth = s.birth AND e.sandbox_id = s.id
        AND e.event_type = 'agent.completed' AND e.created_at >= coalesce(s.last_work_at, '-infinity')) AS completed
FROM sandboxes s WHERE s.id = sqlc.arg(sandbox_id);
