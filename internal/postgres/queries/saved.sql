-- name: SavedTexts :many
-- SavedTexts returns kind and length of a task's texts without their content.
SELECT id, kind, octet_length(content)::bigint AS bytes FROM stored_texts WHERE task_id = @task_id AND id = ANY (@ids::uuid[]);

-- name: SavedPiece :one
-- SavedPiece returns characters of a text from a position.
SELECT kind, substring(content FROM @first::integer FOR @most::integer)::text AS piece FROM stored_texts WHERE task_id = @task_id AND id = @id;

-- name: PublishedLater :exec
-- PublishedLater marks the newest work attempt, and its validators, as completed after a retry published the work.
UPDATE attempts a SET outcome = 'completed', failure_class = '', end_reason = NULL, reason = left('published by a retry; before: ' || a.reason, 2000)
WHERE a.task_id = @task_id AND a.ended_at IS NOT NULL AND a.failure_class = 'publish'
    AND a.number >= (SELECT max(w.number) FROM attempts w WHERE w.task_id = a.task_id AND w.kind <> 'validation');
