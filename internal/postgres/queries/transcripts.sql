-- name: TranscriptSandbox :one
SELECT task_id FROM sandboxes WHERE id = sqlc.arg(id);

-- name: BeginTranscript :exec
-- BeginTranscript inserts no row above the limit of a sandbox.
INSERT INTO transcripts (run_key, session_id, task_id, sandbox_id, content)
SELECT sqlc.arg(run_key)::text, sqlc.arg(session_id)::text, sqlc.narg(task_id)::uuid, sqlc.arg(sandbox_id)::text, ''
WHERE (SELECT count(*) FROM transcripts t WHERE t.sandbox_id = sqlc.arg(sandbox_id)) < sqlc.arg(most)::integer
ON CONFLICT (run_key) DO NOTHING;

-- name: LockTranscript :one
SELECT sandbox_id, received, sum, cut, octet_length(content)::bigint AS kept FROM transcripts
WHERE run_key = sqlc.arg(run_key) FOR UPDATE;

-- name: AppendTranscript :exec
UPDATE transcripts SET content = content || sqlc.arg(piece)::bytea, session_id = sqlc.arg(session_id),
    received = sqlc.arg(received), sum = sqlc.arg(sum), updated_at = clock_timestamp()
WHERE run_key = sqlc.arg(run_key);

-- name: ReplaceTranscript :exec
UPDATE transcripts SET content = sqlc.arg(content), session_id = sqlc.arg(session_id), cut = sqlc.arg(cut),
    received = sqlc.arg(received), sum = sqlc.arg(sum), updated_at = clock_timestamp()
WHERE run_key = sqlc.arg(run_key);

-- name: TranscriptContent :one
SELECT content FROM transcripts WHERE run_key = sqlc.arg(run_key);

-- name: TaskTranscripts :many
-- TaskTranscripts lists transcripts, oldest attempt first, without the files that accompany them.
SELECT t.run_key, t.session_id, t.sandbox_id, coalesce(s.attempt, 0)::integer AS attempt,
    octet_length(t.content)::bigint AS bytes, t.cut, t.updated_at, r.removed_at
FROM transcripts t JOIN tasks k ON k.id = t.task_id LEFT JOIN sandboxes s ON s.id = t.sandbox_id
LEFT JOIN removals r ON r.subject = t.sandbox_id AND r.kind = 'transcripts'
WHERE t.task_id = sqlc.arg(task_id) AND k.organization_id = sqlc.arg(organization_id) AND t.run_key NOT LIKE '%.beside'
ORDER BY attempt, t.updated_at, t.run_key LIMIT 1000;

-- name: TaskTranscript :one
SELECT t.content, r.removed_at FROM transcripts t JOIN tasks k ON k.id = t.task_id
LEFT JOIN removals r ON r.subject = t.sandbox_id AND r.kind = 'transcripts'
WHERE t.task_id = sqlc.arg(task_id) AND k.organization_id = sqlc.arg(organization_id) AND t.run_key = sqlc.arg(run_key);

-- name: SandboxTranscript :one
-- SandboxTranscript returns a transcript of the sandbox itself or of another attempt of its task.
SELECT t.content, r.removed_at FROM sandboxes s
JOIN transcripts t ON t.sandbox_id = s.id OR (t.task_id = s.task_id AND s.task_id IS NOT NULL)
LEFT JOIN removals r ON r.subject = t.sandbox_id AND r.kind = 'transcripts'
WHERE s.id = sqlc.arg(sandbox_id) AND t.run_key = sqlc.arg(run_key);

-- name: RunTranscript :one
SELECT t.run_key, t.session_id, t.sandbox_id, coalesce(s.attempt, 0)::integer AS attempt,
    octet_length(t.content)::bigint AS bytes, t.cut, t.updated_at, NULL::timestamptz AS removed_at
FROM transcripts t LEFT JOIN sandboxes s ON s.id = t.sandbox_id
WHERE t.task_id = sqlc.arg(task_id) AND t.run_key = sqlc.arg(run_key) AND octet_length(t.content) > 0;

-- name: CopyTranscript :exec
-- CopyTranscript copies the beginning of the transcript of a run, and the files that accompany it, for a fork.
INSERT INTO transcripts (run_key, session_id, task_id, sandbox_id, metadata, content, received, cut)
SELECT sqlc.arg(run)::text || substr(t.run_key, length(sqlc.arg(source_run)::text) + 1), coalesce(nullif(t.session_id, ''), t.run_key),
    sqlc.arg(task_id)::uuid, '', t.metadata,
    CASE WHEN t.run_key = sqlc.arg(source_run) THEN substr(t.content, 1, CAST(least(sqlc.arg(size)::bigint - t.cut, 2147483647) AS integer)) ELSE t.content END, t.received, t.cut
FROM transcripts t WHERE t.task_id = sqlc.arg(source_id)::uuid AND t.run_key IN (sqlc.arg(source_run), sqlc.arg(source_run) || '.beside')
    AND octet_length(t.content) > 0 AND (t.run_key <> sqlc.arg(source_run) OR t.cut < sqlc.arg(size));

-- name: RemoveCopiedTranscripts :execrows
-- RemoveCopiedTranscripts is RemoveCopies for transcripts.
DELETE FROM transcripts WHERE sandbox_id = '' AND task_id IN (
    SELECT t.id FROM tasks t JOIN ended_tasks e ON e.id = t.id
    WHERE t.forked_from IS NOT NULL AND e.ended_at < @before::timestamptz
        AND EXISTS (SELECT FROM transcripts c WHERE c.task_id = t.id AND c.sandbox_id = '') LIMIT @most);

-- name: EarlierTranscript :one
-- EarlierTranscript returns the newest transcript of an earlier attempt, even if retention removed it, so that the
-- agent reports that it starts without one. Transcripts of validators are excluded.
SELECT t.run_key, t.session_id, t.sandbox_id, coalesce(s.attempt, 0)::integer AS attempt,
    octet_length(t.content)::bigint AS bytes, t.cut, t.updated_at, NULL::timestamptz AS removed_at
FROM transcripts t JOIN sandboxes s ON s.id = t.sandbox_id
WHERE t.task_id = sqlc.arg(task_id) AND s.task_id = t.task_id AND s.attempt < sqlc.arg(attempt)
    AND t.run_key NOT LIKE '%.beside'
    AND (octet_length(t.content) > 0 OR EXISTS (SELECT FROM removals r WHERE r.subject = s.id AND r.kind = 'transcripts'))
    AND NOT EXISTS (SELECT FROM attempts a WHERE a.sandbox_id = s.id AND a.kind = 'validation')
    AND NOT EXISTS (SELECT FROM attempts a WHERE a.task_id = t.task_id AND a.number = sqlc.arg(attempt) AND a.kind = 'validation')
ORDER BY s.attempt DESC, t.updated_at DESC, t.run_key LIMIT 1;
