-- name: ReplaceQuestion :exec
-- ReplaceQuestion cancels the open question of the task of a sandbox whose agent asks another one.
UPDATE questions q SET state = 'cancelled', reason = @reason, settled_at = now()
FROM sandboxes s WHERE s.id = @sandbox_id AND q.task_id = s.task_id AND q.state = 'open' AND q.text <> @text;

-- name: AskQuestion :exec
-- AskQuestion stores a question. If the agent repeats its open question, the row stays and names the new event.
INSERT INTO questions (id, organization_id, task_id, sandbox_id, attempt, sequence, kind, text, options, asked_at)
SELECT @id::uuid, s.organization_id, s.task_id, s.id, s.attempt, @sequence::bigint, @kind::text, @text::text, @options::jsonb, now()
FROM sandboxes s JOIN tasks t ON t.id = s.task_id
WHERE s.id = @sandbox_id AND s.ended_at IS NULL AND s.attempt IS NOT NULL AND t.status NOT IN ('completed', 'failed', 'cancelled')
ON CONFLICT (task_id) WHERE state = 'open'
DO UPDATE SET sandbox_id = excluded.sandbox_id, attempt = excluded.attempt, sequence = excluded.sequence, options = excluded.options;

-- name: QuestionByID :one
SELECT * FROM questions WHERE organization_id = @organization_id AND id = @id;

-- name: OpenQuestion :one
SELECT * FROM questions WHERE task_id = @task_id AND state = 'open';

-- name: OpenQuestions :many
-- OpenQuestions returns the open question of each task that has one.
SELECT * FROM questions WHERE task_id = ANY(@task_ids::uuid[]) AND state = 'open';

-- name: Questions :many
SELECT * FROM questions
WHERE organization_id = @organization_id
  AND (sqlc.narg('task_ids')::uuid[] IS NULL OR task_id = ANY(sqlc.narg('task_ids')::uuid[]))
  AND (sqlc.narg('states')::text[] IS NULL OR state = ANY(sqlc.narg('states')::text[]))
  AND (sqlc.narg('before_at')::timestamptz IS NULL OR (asked_at, id) < (sqlc.narg('before_at')::timestamptz, sqlc.narg('before_id')::uuid))
ORDER BY asked_at DESC, id DESC LIMIT @max_rows;

-- name: AnswerQuestion :execrows
-- AnswerQuestion changes nothing if the question is not open: the first answer counts.
UPDATE questions SET state = 'answered', answer = @answer, answered_by = @answered_by, channel = @channel, settled_at = now()
WHERE id = @id AND state = 'open';

-- name: CloseQuestion :exec
-- CloseQuestion cancels the open question of a task.
UPDATE questions SET state = 'cancelled', reason = @reason, settled_at = now() WHERE task_id = @task_id AND state = 'open';

-- name: SuspendQuestion :execrows
-- SuspendQuestion records that a task waits without a sandbox. It changes nothing if no question is open.
UPDATE questions SET suspended_at = coalesce(suspended_at, now()) WHERE task_id = @task_id AND state = 'open';

-- name: ExpireQuestions :many
-- ExpireQuestions settles questions that nobody answered in time, and returns their tasks.
UPDATE questions SET state = 'expired', reason = @reason, settled_at = now()
WHERE id IN (SELECT q.id FROM questions q WHERE q.state = 'open' AND q.asked_at < now() - sqlc.arg(seconds)::float8 * interval '1 second' ORDER BY q.asked_at LIMIT 100 FOR UPDATE SKIP LOCKED)
RETURNING task_id;

-- name: Answers :many
-- Answers returns the newest answered questions of earlier attempts of a task.
SELECT text, answer FROM questions
WHERE task_id = @task_id AND state = 'answered' AND attempt < @attempt ORDER BY asked_at DESC LIMIT 10;

-- name: AddFail :exec
-- AddFail adds the command fail of omoi itself.
SELECT omoi_add_command(@task_id::uuid, 'fail', @reason::text, @sender::text);

-- name: ResumeTask :exec
-- ResumeTask adds the command retry to a task, unless it has one.
SELECT omoi_add_command(t.id, 'retry', @reason::text, @sender::text) FROM tasks t
WHERE t.id = @id AND NOT EXISTS (SELECT FROM commands c WHERE c.task_id = t.id AND c.kind = 'retry' AND c.state = 'accepted');

-- name: AnswerBySandbox :exec
-- AnswerBySandbox answers the open question of the agent in a sandbox, to which a user sends a message.
UPDATE questions SET state = 'answered', answer = @answer, answered_by = @answered_by, channel = @channel, settled_at = now()
WHERE task_id = (SELECT s.task_id FROM sandboxes s WHERE s.id = @sandbox_id) AND sandbox_id = @sandbox_id AND state = 'open';
