-- name: EventBySequence :one
-- With its large fields.
SELECT e.sequence, e.event_type, e.source,
    CASE WHEN e.cut THEN omoi_full_event(e.partition_month, e.sandbox_id, e.sequence, e.event_data) ELSE e.event_data END::jsonb AS event_data,
    e.late, e.created_at, coalesce(s.attempt, 0)::integer AS attempt,
    CASE WHEN e.cut THEN omoi_omitted_fields(e.partition_month, e.sandbox_id, e.sequence) END::text[] AS omitted
FROM sandboxes s JOIN sandbox_events e ON e.partition_month = s.partition_month AND e.sandbox_id = s.id
WHERE s.id = sqlc.arg(sandbox_id) AND e.sequence = sqlc.arg(sequence);

-- name: EventTime :one
SELECT e.created_at, left(coalesce(e.event_data ->> 'status', ''), 100)::text AS status
FROM sandboxes s JOIN sandbox_events e ON e.partition_month = s.partition_month AND e.sandbox_id = s.id
WHERE s.id = sqlc.arg(sandbox_id) AND e.sequence = sqlc.arg(sequence);

-- name: FileEdits :many
-- What agents said of edited files, oldest first, until the diffs are too long for one answer. A text that is no text counts as none.
SELECT sequence, created_at, path, old_path, change_type, added, removed, complete, diff FROM (
    SELECT *, octet_length(diff) AS bytes, sum(octet_length(diff)) OVER (ORDER BY sequence) AS all_bytes FROM (
        SELECT f.sequence, f.created_at, coalesce(f.data ->> 'file_path', '')::text AS path,
            coalesce(f.data ->> 'old_path', '')::text AS old_path,
            coalesce(f.data ->> 'change_type', '')::text AS change_type,
            left(coalesce(f.data ->> 'lines_added', ''), 12)::text AS added,
            left(coalesce(f.data ->> 'lines_removed', ''), 12)::text AS removed,
            coalesce(jsonb_typeof(f.data -> 'full_diff') = 'string', false)::boolean AS complete,
            coalesce(f.data ->> 'full_diff', f.data ->> 'diff_preview', '')::text AS diff
        FROM (
            SELECT e.sequence, e.created_at,
                CASE WHEN e.cut THEN omoi_full_event(e.partition_month, e.sandbox_id, e.sequence, e.event_data) ELSE e.event_data END AS data
            FROM unnest(sqlc.arg(places)::bigint[]) AS p(place) CROSS JOIN LATERAL (
                SELECT x.* FROM sandbox_events x
                WHERE x.partition_month = (SELECT s.partition_month FROM sandboxes s WHERE s.id = sqlc.arg(sandbox_id)) AND x.sandbox_id = sqlc.arg(sandbox_id)
                  AND x.sequence = p.place LIMIT 1
            ) e WHERE jsonb_typeof(e.event_data -> 'file_path') = 'string'
        ) f
    ) d
) page WHERE all_bytes - bytes < sqlc.arg(most_bytes)::bigint ORDER BY sequence;

-- name: IntegrityHead :one
SELECT last_sequence, relayed, duplicates, spool_id, spool_watermark FROM sandboxes WHERE id = sqlc.arg(sandbox_id);

-- name: IntegrityStored :one
SELECT count(*) AS stored, coalesce(max(e.sequence), 0)::bigint AS newest
FROM sandboxes s JOIN sandbox_events e ON e.partition_month = s.partition_month AND e.sandbox_id = s.id
WHERE s.id = sqlc.arg(sandbox_id);

-- name: IntegrityGaps :many
-- The stretches of 1..last_sequence that hold no event.
SELECT (e.before + 1)::bigint AS first, (e.sequence - 1)::bigint AS last FROM (
    SELECT x.sequence, coalesce(lag(x.sequence) OVER (ORDER BY x.sequence), 0) AS before FROM (
        SELECT e.sequence FROM sandboxes s JOIN sandbox_events e ON e.partition_month = s.partition_month AND e.sandbox_id = s.id
        WHERE s.id = sqlc.arg(sandbox_id)
        UNION ALL SELECT s.last_sequence + 1 FROM sandboxes s WHERE s.id = sqlc.arg(sandbox_id)
    ) x
) e WHERE e.sequence > e.before + 1 ORDER BY e.sequence LIMIT sqlc.arg(most);

-- name: IntegritySpools :many
SELECT spool_id, watermark FROM event_spools WHERE sandbox_id = sqlc.arg(sandbox_id) ORDER BY spool_id;

-- name: TranscriptRow :one
-- The newest transcript of the sandbox's agent runs.
SELECT run_key, session_id, metadata, content, updated_at FROM transcripts WHERE sandbox_id = sqlc.arg(sandbox_id)
ORDER BY updated_at DESC, run_key LIMIT 1;

-- name: SpecProgress :one
-- Without the outputs of the phases, which nobody asks for here.
SELECT p.spec_id, p.status, p.current_phase, p.progress, p.started, p.completed, p.last_completed, p.last_completed_at,
    p.execution_completed_at, p.execution_failed_at, p.criteria, clock_timestamp()::timestamptz AS now FROM spec_progress p WHERE p.sandbox_id = sqlc.arg(sandbox_id);

-- name: LastActivity :one
SELECT s.last_work_at, (s.ended_at IS NOT NULL)::boolean AS ended, clock_timestamp()::timestamptz AS now
FROM sandboxes s WHERE s.id = sqlc.arg(sandbox_id);
