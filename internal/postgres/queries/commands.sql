-- name: ClaimCommand :one
-- The chain that begins with first_run_id carries out this start or retry, if nobody else
-- does; was is who had it before, null for nobody.
UPDATE commands c SET claimed_by = @first_run_id FROM commands old
WHERE c.id = @id AND c.task_id = @task_id AND old.id = c.id AND c.kind IN ('start', 'retry')
    AND (c.claimed_by IS NULL OR c.claimed_by = @first_run_id)
RETURNING c.kind, old.claimed_by AS was;

-- name: SettleCommand :exec
UPDATE commands SET state = @state, reason = @reason, settled_at = now()
WHERE id = @id AND task_id = @task_id AND state = 'accepted';

-- name: TaskCommand :one
SELECT * FROM commands WHERE id = @id AND task_id = @task_id FOR UPDATE;

-- name: TaskCommands :many
SELECT * FROM commands WHERE task_id = @task_id AND id = ANY(@ids::uuid[]) ORDER BY ordinal;

-- name: AddCommand :exec
INSERT INTO commands (id, task_id, kind, args, sender, sent_at) VALUES (@id, @task_id, @kind, @args, @sender, now())
ON CONFLICT (id) DO NOTHING;

-- name: AmendCommand :exec
UPDATE commands SET args = args || @args WHERE id = @id;

-- name: CloseCommands :exec
-- What was asked of a task that is over comes too late; a retry does not.
UPDATE commands SET state = 'too_late', reason = @reason, settled_at = now()
WHERE task_id = @task_id AND state = 'accepted' AND kind <> 'retry';

-- name: ResendRetries :exec
-- Retries that no run has taken up go out again, as starts.
UPDATE commands SET sent_at = NULL
WHERE task_id = @task_id AND kind = 'retry' AND state = 'accepted' AND claimed_by IS NULL AND sent_at IS NOT NULL;

-- name: HasUnsent :one
SELECT EXISTS (SELECT FROM commands WHERE task_id = @task_id AND sent_at IS NULL AND state = 'accepted');
