-- name: CheckpointSandbox :one
-- outdated: a newer attempt of the task exists.
SELECT s.task_id, coalesce(s.attempt, 0)::integer AS attempt, (s.ended_at IS NOT NULL)::boolean AS ended,
    EXISTS (SELECT FROM sandboxes o WHERE o.task_id = s.task_id AND o.attempt > s.attempt) AS outdated
FROM sandboxes s WHERE s.id = @id;

-- name: LockCheckpoints :exec
-- Of all attempts of the sandbox's task.
SELECT pg_advisory_xact_lock(hashtextextended('omoi checkpoints ' || s.task_id, 0)) FROM sandboxes s WHERE s.id = @id;

-- name: NewestCheckpoint :one
SELECT * FROM checkpoints WHERE task_id = @task_id AND attempt = @attempt ORDER BY number DESC LIMIT 1;

-- name: SealedCheckpoint :one
SELECT * FROM checkpoints WHERE task_id = @task_id AND attempt = @attempt AND number = @number AND sealed_at IS NOT NULL;

-- name: NewestSealed :one
-- NewestSealed returns the newest sealed checkpoint of an attempt.
SELECT * FROM checkpoints WHERE task_id = @task_id AND attempt = @attempt AND sealed_at IS NOT NULL ORDER BY number DESC LIMIT 1;

-- name: BeginCheckpoint :one
-- The unfinished upload before it is given up, and those that earlier attempts left.
WITH given_up AS (
    DELETE FROM checkpoints c WHERE c.task_id = @task_id AND c.attempt <= @attempt AND c.sealed_at IS NULL)
INSERT INTO checkpoints (task_id, attempt, number, sandbox_id) VALUES (@task_id, @attempt, @number, @sandbox_id) RETURNING *;

-- name: GiveUpUploads :exec
-- Unfinished uploads of an attempt, but that of one number.
DELETE FROM checkpoints WHERE task_id = @task_id AND attempt = @attempt AND number <> @keep::integer AND sealed_at IS NULL;

-- name: SameChunk :one
SELECT (content = @content::bytea)::boolean AS same FROM checkpoint_chunks
WHERE task_id = @task_id AND attempt = @attempt AND number = @number AND "offset" = sqlc.arg('offset');

-- name: AddChunk :exec
WITH grown AS (
    UPDATE checkpoints c SET pack_bytes = c.pack_bytes + octet_length(@content::bytea)
    WHERE c.task_id = @task_id AND c.attempt = @attempt AND c.number = @number)
INSERT INTO checkpoint_chunks (task_id, attempt, number, "offset", content)
VALUES (@task_id, @attempt, @number, sqlc.arg('offset'), @content::bytea);

-- name: PackChunk :one
-- PackChunk returns the chunk of a pack at an offset, and the object that has the pack instead.
SELECT c.pack_object, k.content FROM checkpoints c LEFT JOIN checkpoint_chunks k
    ON k.task_id = c.task_id AND k.attempt = c.attempt AND k.number = c.number AND k."offset" = sqlc.arg('offset')
WHERE c.task_id = @task_id AND c.attempt = @attempt AND c.number = @number;

-- name: BeginPackObject :exec
INSERT INTO pack_objects (key, bytes) VALUES (@key, @bytes);

-- name: MovePack :execrows
-- MovePack replaces the stored chunks of a pack by its object; no row if the checkpoint is gone or has an object.
WITH moved AS (
    UPDATE checkpoints c SET pack_object = @key::text
    WHERE c.task_id = @task_id AND c.attempt = @attempt AND c.number = @number AND c.pack_sha256 = @pack_sha256 AND c.pack_object IS NULL
        AND NOT EXISTS (SELECT FROM pack_objects o WHERE o.key = @key::text AND o.deleting)
    RETURNING c.task_id, c.attempt, c.number),
emptied AS (
    DELETE FROM checkpoint_chunks k USING moved m WHERE k.task_id = m.task_id AND k.attempt = m.attempt AND k.number = m.number)
SELECT task_id FROM moved;

-- name: PacksToMove :many
-- Oldest first, without those that have lost their first chunk.
SELECT * FROM checkpoints c WHERE sealed_at IS NOT NULL AND pack_object IS NULL AND pack_bytes > 0 AND EXISTS (SELECT FROM checkpoint_chunks k
    WHERE k.task_id = c.task_id AND k.attempt = c.attempt AND k.number = c.number AND k."offset" = 0) ORDER BY sealed_at LIMIT @most;

-- name: MarkOrphans :many
-- MarkOrphans marks objects without a checkpoint. A new object gets its checkpoint within the hour.
UPDATE pack_objects SET deleting = true WHERE key IN (
    SELECT o.key FROM pack_objects o WHERE (o.deleting OR o.created_at < now() - interval '1 hour')
        AND NOT EXISTS (SELECT FROM checkpoints c WHERE c.pack_object = o.key) ORDER BY o.created_at LIMIT @most) RETURNING key;

-- name: PacksInObjects :one
SELECT count(*)::bigint AS packs FROM checkpoints WHERE pack_object IS NOT NULL;

-- name: ForgetObjects :exec
DELETE FROM pack_objects WHERE key = ANY (@keys::text[]) AND deleting;

-- name: SegmentAfter :one
-- The segment that a checkpoint with this base continues, and the number of its checkpoints.
SELECT segment, (SELECT count(*) FROM checkpoints o WHERE o.task_id = c.task_id AND o.attempt = c.attempt
    AND o.number BETWEEN c.segment AND c.number AND o.segment = c.segment)::integer AS length FROM checkpoints c WHERE c.task_id = @task_id AND c.attempt = @attempt AND c.number = @base::integer
    AND c.number < @number::integer AND c.sealed_at IS NOT NULL;

-- name: CheckpointSequence :one
-- CheckpointSequence returns the sequence of the event that omoi-agent sent before the pack of a checkpoint, which is among the newest,
-- and the number of changes in it that only a scan found, of which the agent's word is bounded.
SELECT e.sequence, least(greatest(CASE WHEN jsonb_typeof(e.event_data -> 'found_by_scan') = 'number'
    THEN (e.event_data -> 'found_by_scan')::numeric END, 0), 1000000)::bigint AS found_by_scan
FROM sandboxes s JOIN sandbox_events e ON e.partition_month = s.partition_month AND e.sandbox_id = s.id
WHERE s.id = @id AND e.sequence > s.last_sequence - 10000 AND e.event_type = @event_type::text
    AND e.event_data ->> 'checkpoint' = @number::text ORDER BY e.sequence DESC LIMIT 1;

-- name: SealCheckpoint :one
UPDATE checkpoints SET sealed_at = clock_timestamp(), segment = @segment, base_number = @base_number, pack_sha256 = @pack_sha256,
    commit = @commit, head_commit = @head_commit, head_ref = @head_ref, files = @files, bytes = @bytes, has_index = @has_index,
    has_git_state = @has_git_state, sequence = @sequence, tool_call_id = @tool_call_id, running_tool_call = @running_tool_call,
    run_id = @run_id, transcript_bytes = @transcript_bytes, torn = @torn, left_out = @left_out, files_only = @files_only, taken_at = @taken_at,
    given = @given
WHERE task_id = @task_id AND attempt = @attempt AND number = @number RETURNING *;

-- name: CheckpointBytes :one
SELECT coalesce(sum(pack_bytes), 0)::bigint AS bytes FROM checkpoints WHERE task_id = @task_id;

-- name: DropSegments :execrows
-- Removes whole segments, oldest first, until the excess is gone. The segment of the newest checkpoint of each attempt stays, and so do
-- segments with a checkpoint that a rewind names: after the command is settled, its attempt may not have begun yet.
WITH segments AS (
    SELECT attempt, segment, sum(pack_bytes) AS size, max(number) AS newest, max(max(number)) OVER (PARTITION BY attempt) AS last,
        bool_or(attempt || '.' || number IN (SELECT a.restore_from FROM attempts a WHERE a.task_id = @task_id
            UNION ALL SELECT coalesce(o.args ->> 'checkpoint', '') FROM commands o WHERE o.task_id = @task_id
                AND (o.state = 'accepted' OR o.settled_at > (SELECT max(a.started_at) FROM attempts a WHERE a.task_id = @task_id)))) AS pinned
    FROM checkpoints WHERE task_id = @task_id AND sealed_at IS NOT NULL GROUP BY attempt, segment),
spare AS (
    SELECT attempt, segment, sum(size) OVER (ORDER BY attempt, newest) - size AS older FROM segments WHERE newest < last AND NOT pinned)
DELETE FROM checkpoints c USING spare s
WHERE c.task_id = @task_id AND c.attempt = s.attempt AND c.segment = s.segment AND s.older < @excess::bigint;

-- name: EarlierCheckpoints :many
-- Those of the newest two segments for an attempt, of attempts from since on and up to a checkpoint. What a validator left is no
-- work to go on with, and what a user gave counts once an attempt began with it.
WITH newest AS (
    SELECT c.attempt, c.segment, max(c.number) AS last FROM checkpoints c
    WHERE c.task_id = @task_id AND c.attempt >= @since::integer AND c.sealed_at IS NOT NULL
        AND (c.attempt, c.number) <= (@last_attempt::integer, @last_number::integer)
        AND NOT EXISTS (SELECT FROM attempts a WHERE a.task_id = c.task_id AND a.number IN (c.attempt, @attempt) AND a.kind = 'validation')
        AND NOT EXISTS (SELECT FROM removals r WHERE r.subject = c.sandbox_id AND r.kind = 'checkpoints')
        AND (NOT c.given OR c.attempt = 0 OR EXISTS (SELECT FROM attempts a WHERE a.task_id = c.task_id AND a.restore_from = c.attempt || '.' || c.number))
    GROUP BY c.attempt, c.segment ORDER BY c.attempt DESC, last DESC LIMIT 2)
SELECT c.* FROM checkpoints c JOIN newest n ON n.attempt = c.attempt AND n.segment = c.segment AND c.number <= n.last
WHERE c.task_id = @task_id AND (c.attempt, c.number) <= (@last_attempt::integer, @last_number::integer)
ORDER BY c.attempt DESC, n.last DESC, c.number;

-- name: NewestRewind :one
-- NewestRewind returns the newest rewound attempt up to the given one.
SELECT number, restore_from FROM attempts WHERE task_id = @task_id AND number <= @attempt AND restore_from <> ''
ORDER BY number DESC LIMIT 1;

-- name: CheckpointCommits :one
-- CheckpointCommits returns the commit that was checked out in a checkpoint, and that of the branch when its attempt began; if a
-- user gave the checkpoint, when its attempt ended.
SELECT c.head_commit, c.given, coalesce(CASE WHEN c.given THEN a.head_commit END, nullif(a.branch_commit, ''),
    (SELECT e.head_commit FROM attempts e WHERE e.task_id = c.task_id AND e.number < c.attempt AND e.head_commit IS NOT NULL
        ORDER BY e.number DESC LIMIT 1), t.base_commit, '')::text AS branch_commit
FROM checkpoints c JOIN tasks t ON t.id = c.task_id LEFT JOIN attempts a ON a.task_id = c.task_id AND a.number = c.attempt
WHERE c.task_id = @task_id AND c.attempt = @attempt AND c.number = @number;

-- name: SegmentCheckpoints :many
-- SegmentCheckpoints returns the checkpoints of the segment of a checkpoint, up to this one.
SELECT c.* FROM checkpoints c JOIN checkpoints s ON s.task_id = c.task_id AND s.attempt = c.attempt AND s.number = @number
WHERE c.task_id = @task_id AND c.attempt = @attempt AND c.number BETWEEN s.segment AND s.number AND c.segment = s.segment;

-- name: CopyCheckpoints :one
-- CopyCheckpoints copies checkpoints with their packs as attempt 0 of a fork, and returns the bytes of the packs. Their run becomes that
-- of the fork if its transcript is copied, too. An object with a pack is shared; the lock keeps it while the fork commits.
WITH chosen AS (
    SELECT * FROM checkpoints c WHERE c.task_id = @source_id AND c.attempt = @attempt AND c.number = ANY (@numbers::integer[]) FOR SHARE),
copied AS (
    INSERT INTO checkpoints (task_id, attempt, number, sandbox_id, created_at, sealed_at, segment, base_number, pack_bytes, pack_sha256,
        commit, head_commit, head_ref, files, bytes, has_index, has_git_state, tool_call_id, running_tool_call, run_id, transcript_bytes,
        torn, left_out, files_only, taken_at, given, pack_object)
    SELECT @task_id::uuid, 0, number, '', created_at, sealed_at, segment, base_number, pack_bytes, pack_sha256,
        commit, head_commit, head_ref, files, bytes, has_index, has_git_state, tool_call_id, running_tool_call,
        CASE WHEN run_id = @source_run::text THEN @run::text ELSE '' END, transcript_bytes, torn, left_out, files_only, taken_at, given, pack_object
    FROM chosen),
packs AS (
    INSERT INTO checkpoint_chunks (task_id, attempt, number, "offset", content)
    SELECT @task_id::uuid, 0, k.number, k."offset", k.content FROM checkpoint_chunks k
    JOIN chosen c ON c.task_id = k.task_id AND c.attempt = k.attempt AND c.number = k.number AND c.pack_object IS NULL
    RETURNING octet_length(content) AS size)
SELECT ((SELECT coalesce(sum(size), 0) FROM packs)
    + (SELECT coalesce(sum(pack_bytes), 0) FROM chosen WHERE pack_object IS NOT NULL))::bigint AS bytes;

-- name: TaskCheckpoints :many
-- Newest first.
SELECT c.* FROM checkpoints c JOIN tasks t ON t.id = c.task_id
WHERE c.task_id = @task_id AND t.organization_id = @organization_id AND c.sealed_at IS NOT NULL
    AND (sqlc.narg('before_attempt')::integer IS NULL
        OR (c.attempt, c.number) < (sqlc.narg('before_attempt')::integer, sqlc.narg('before_number')::integer))
    AND NOT EXISTS (SELECT FROM removals r WHERE r.subject = c.sandbox_id AND r.kind = 'checkpoints')
ORDER BY c.attempt DESC, c.number DESC LIMIT @max_rows;

-- name: CheckpointsRemoved :many
-- When retention removed the checkpoints of an attempt, or of any if it is 0; the newest removal first.
SELECT r.removed_at FROM sandboxes s JOIN removals r ON r.subject = s.id AND r.kind = 'checkpoints'
WHERE s.task_id = @task_id AND @attempt::integer IN (0, s.attempt) ORDER BY r.removed_at DESC LIMIT 1;

-- name: RemoveCheckpoints :execrows
DELETE FROM checkpoints WHERE sandbox_id = ANY (@ids::text[]);

-- name: RemoveCopies :execrows
-- RemoveCopies removes the copied checkpoints of some forks that ended before a time. A fork may have no sandbox.
DELETE FROM checkpoints WHERE attempt = 0 AND task_id IN (
    SELECT t.id FROM tasks t JOIN ended_tasks e ON e.id = t.id
    WHERE t.forked_from IS NOT NULL AND e.ended_at < @before::timestamptz
        AND EXISTS (SELECT FROM checkpoints c WHERE c.task_id = t.id AND c.attempt = 0) LIMIT @most);
