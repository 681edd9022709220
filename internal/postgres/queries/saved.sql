-- name: SavedTexts :many
-- Kind and length of texts of a task, which are not read for it.
SELECT id, kind, octet_length(content)::bigint AS bytes FROM stored_texts WHERE task_id = @task_id AND id = ANY (@ids::uuid[]);

-- name: SavedPiece :one
-- Characters of a text, from the first one that is asked for.
SELECT kind, substring(content FROM @first::integer FOR @most::integer)::text AS piece FROM stored_texts WHERE task_id = @task_id AND id = @id;

-- name: PublishedLater :exec
-- The newest work got out behind the end of its attempt, and of the one that judged it: neither has failed.
UPDATE attempts a SET outcome = 'completed', failure_class = '', end_reason = NULL, reason = left('published by a retry; before: ' || a.reason, 2000)
WHERE a.task_id = @task_id AND a.ended_at IS NOT NULL AND a.failure_class = 'publish'
    AND a.number >= (SELECT max(w.number) FROM attempts w WHERE w.task_id = a.task_id AND w.kind <> 'validation');
