-- name: Clock :one
SELECT clock_timestamp()::timestamptz AS now;

-- name: MarkExpired :execrows
-- MarkExpired marks data of sandboxes that ended before a time.
INSERT INTO removals (subject, kind, removed_at)
SELECT e.id, @kind, @now FROM ended_sandboxes e
WHERE e.ended_at < @before::timestamptz AND NOT EXISTS (SELECT FROM removals r WHERE r.subject = e.id
    AND r.kind = @kind)
LIMIT @most ON CONFLICT DO NOTHING;

-- name: OpenRemovals :many
-- OpenRemovals returns marked sandboxes, month by month.
SELECT s.id, s.partition_month, s.last_sequence FROM removals r JOIN sandboxes s ON s.id = r.subject
WHERE r.kind = @kind AND NOT r.done ORDER BY s.partition_month, s.id LIMIT @most;

-- name: SettleRemovals :exec
UPDATE removals SET done = true WHERE kind = @kind AND subject = ANY (@ids::text[]);

-- name: RemoveEvents :execrows
DELETE FROM sandbox_events WHERE partition_month = @partition_month AND sandbox_id = ANY (@ids::text[])
    AND sequence > @after AND sequence <= @until;

-- name: RemoveEventFields :exec
DELETE FROM event_fields WHERE partition_month = @partition_month AND sandbox_id = ANY (@ids::text[])
    AND sequence > @after AND sequence <= @until;

-- name: RemoveCounts :exec
WITH logs AS (DELETE FROM log_parts l WHERE l.sandbox_id = ANY (@ids::text[]))
DELETE FROM event_counts c WHERE c.sandbox_id = ANY (@ids::text[]);

-- name: EmptyFields :execrows
-- EmptyFields keeps the names of the fields, so that readers see what an event contained.
UPDATE event_fields SET fields = '{}'
WHERE partition_month = @partition_month AND sandbox_id = ANY (@ids::text[]) AND sequence > @after
    AND sequence <= @until AND pg_column_size(fields) > 16;

-- name: EmptyTranscripts :execrows
-- EmptyTranscripts keeps the rows, so that a later attempt learns that a transcript existed.
UPDATE transcripts SET content = '' WHERE sandbox_id = ANY (@ids::text[]) AND octet_length(content) > 0;

-- name: RemovePatches :execrows
DELETE FROM stored_texts WHERE id IN (SELECT (s.salvage ->> 'ref')::uuid FROM sandboxes s
    WHERE s.id = ANY (@ids::text[]) AND s.salvage ->> 'kind' = 'patch' AND s.salvage ->> 'ref' <> '');

-- name: RemoveBusRows :execrows
-- RemoveBusRows keeps rows of open tasks. Rows of sandboxes name their task.
DELETE FROM bus_events WHERE id = ANY (ARRAY(
    SELECT b.id FROM bus_events b WHERE b.created_at < @before::timestamptz AND coalesce(b.payload ->> 'task_id',
        b.entity_id) NOT IN (
        SELECT t.id::text FROM tasks t WHERE t.status NOT IN ('completed', 'failed', 'cancelled'))
    ORDER BY b.id LIMIT @most));

-- name: ObjectBytes :one
SELECT coalesce(sum(bytes), 0)::bigint AS bytes FROM pack_objects;

-- name: RemovedAt :many
-- RemovedAt returns when retention removed a kind of data; no row if it was not removed.
SELECT removed_at FROM removals WHERE subject = @subject AND kind = @kind;

-- name: RemovedAfter :many
-- RemovedAfter returns when retention removed the events of a sandbox, if it had events after a sequence.
SELECT r.removed_at FROM removals r JOIN sandboxes s ON s.id = r.subject
WHERE r.subject = @id AND r.kind = 'events' AND s.last_sequence > @after::bigint;

-- name: TaskRemovals :many
-- TaskRemovals returns when retention removed a kind of data of each sandbox of a task.
SELECT s.id, r.removed_at FROM sandboxes s JOIN removals r ON r.subject = s.id AND r.kind = @kind
    WHERE s.task_id = @task_id;

-- name: ExpiredGit :many
-- ExpiredGit returns ended tasks with a branch that no newer or open task shares.
SELECT t.id, p.repo, t.user_id, t.project_id, cardinality(t.earlier_branches)::integer AS earlier FROM ended_tasks e JOIN tasks t ON t.id = e.id
    JOIN projects p ON p.id = t.project_id
WHERE e.ended_at < @before::timestamptz AND p.repo <> '' AND t.branch_name IS NOT NULL AND t.id > @after
    AND (@kind::text <> 'branches' OR t.pull_request_number IS NULL)
    AND NOT EXISTS (SELECT FROM removals r WHERE r.subject = t.id::text AND r.kind = @kind::text
        AND r.removed_at >= e.ended_at)
    AND NOT EXISTS (SELECT FROM tasks o WHERE o.project_id = t.project_id AND o.branch_name = t.branch_name
        AND (o.completed_at IS NULL OR o.completed_at >= @before::timestamptz))
ORDER BY t.id LIMIT @most;

-- name: CountExpiredGit :one
-- CountExpiredGit counts the tasks of ExpiredGit.
SELECT count(*) FROM ended_tasks e JOIN tasks t ON t.id = e.id JOIN projects p ON p.id = t.project_id
WHERE e.ended_at < @before::timestamptz AND p.repo <> '' AND t.branch_name IS NOT NULL
    AND (@kind::text <> 'branches' OR t.pull_request_number IS NULL)
    AND NOT EXISTS (SELECT FROM removals r WHERE r.subject = t.id::text AND r.kind = @kind::text
        AND r.removed_at >= e.ended_at)
    AND NOT EXISTS (SELECT FROM tasks o WHERE o.project_id = t.project_id AND o.branch_name = t.branch_name
        AND (o.completed_at IS NULL OR o.completed_at >= @before::timestamptz));

-- name: NoteRemoval :exec
INSERT INTO removals (subject, kind, removed_at, done) VALUES (@subject, @kind, @removed_at, true)
ON CONFLICT (subject, kind) DO UPDATE SET removed_at = excluded.removed_at, done = true;

-- name: ExpiredBoxes :one
-- ExpiredBoxes counts what the next pass marks of a kind, and what an earlier one left.
SELECT (count(*) + (SELECT count(*) FROM removals o WHERE o.kind = @kind AND NOT o.done))::bigint AS boxes,
    coalesce(sum(e.last_sequence), 0)::bigint AS events
FROM ended_sandboxes e WHERE e.ended_at < @before::timestamptz AND NOT EXISTS (SELECT FROM removals r
    WHERE r.subject = e.id AND r.kind = @kind);

-- name: ExpiredBusRows :one
SELECT count(*) FROM bus_events b WHERE b.created_at < @before::timestamptz AND coalesce(b.payload ->> 'task_id',
    b.entity_id) NOT IN (
    SELECT t.id::text FROM tasks t WHERE t.status NOT IN ('completed', 'failed', 'cancelled'));
