-- name: ClaimCommand :one
-- ClaimCommand claims a start or retry for the chain of runs that begins with first_run_id, unless another chain has
-- claimed the command. The column was holds the earlier claim; null: none.
-- The column checkpoint is that of a rewind whose attempt has not begun.
UPDATE commands c SET claimed_by = @first_run_id FROM commands old
WHERE c.id = @id AND c.task_id = @task_id AND old.id = c.id AND c.kind IN ('start', 'retry')
    AND (c.claimed_by IS NULL OR c.claimed_by = @first_run_id)
RETURNING c.kind, old.claimed_by AS was, CASE WHEN EXISTS (SELECT FROM attempts a
    WHERE a.task_id = c.task_id AND a.restore_from = c.args ->> 'checkpoint' AND a.started_at >= c.created_at)
    THEN '' ELSE coalesce(c.args ->> 'checkpoint', '') END::text AS checkpoint;

-- name: SettleCommand :exec
UPDATE commands SET state = @state, reason = @reason, settled_at = now()
WHERE id = @id AND task_id = @task_id AND state = 'accepted';

-- name: TaskCommand :one
SELECT * FROM commands WHERE id = @id AND task_id = @task_id FOR UPDATE;

-- name: TaskCommands :many
SELECT * FROM commands WHERE task_id = @task_id AND id = ANY(@ids::uuid[]) ORDER BY ordinal;

-- name: CommandOfKey :one
-- CommandOfKey returns the command of an idempotency key. A command without effect leaves its key free.
SELECT * FROM commands WHERE task_id = @task_id AND args ->> 'idempotency_key' = @key::text AND state IN ('accepted', 'carried_out')
ORDER BY ordinal DESC LIMIT 1;

-- name: AddCommand :exec
INSERT INTO commands (id, task_id, kind, args, sender, sent_at) VALUES (@id, @task_id, @kind, @args, @sender, now())
ON CONFLICT (id) DO NOTHING;

-- name: AmendCommand :exec
UPDATE commands SET args = args || @args WHERE id = @id;

-- name: CloseCommands :exec
-- CloseCommands settles the commands of an ended task as too late, except retries.
UPDATE commands SET state = 'too_late', reason = @reason, settled_at = now()
WHERE task_id = @task_id AND state = 'accepted' AND kind <> 'retry';

-- name: ResendRetries :exec
-- ResendRetries makes retries that no run has loaded due again; the relay sends them as starts.
UPDATE commands SET sent_at = NULL
WHERE task_id = @task_id AND kind = 'retry' AND state = 'accepted' AND claimed_by IS NULL AND sent_at IS NOT NULL;

-- name: HasUnsent :one
SELECT EXISTS (SELECT FROM commands WHERE task_id = @task_id AND sent_at IS NULL AND state = 'accepted');
