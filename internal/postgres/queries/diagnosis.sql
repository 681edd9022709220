-- name: LeaseDiagnosisRequests :many
-- LeaseDiagnosisRequests leases due requests for the duration pause.
UPDATE diagnosis_queue l SET due_at = now() + @pause::interval
WHERE l.task_id = ANY (ARRAY(
    SELECT d.task_id FROM diagnosis_queue d WHERE d.due_at <= now() ORDER BY d.due_at LIMIT @most FOR UPDATE SKIP LOCKED))
RETURNING l.task_id, l.changed;

-- name: SettleDiagnosisRequest :exec
DELETE FROM diagnosis_queue WHERE task_id = @task_id AND changed = @changed;

-- name: CaseOf :one
SELECT t.organization_id, now()::timestamptz AS at,
    (SELECT count(*) FROM diagnoses d WHERE d.task_id = t.id AND d.kind <> 'ticket')::integer AS diagnoses,
    coalesce((SELECT max(d.attempt) FROM diagnoses d WHERE d.task_id = t.id AND d.kind <> 'ticket'), 0)::integer AS diagnosed,
    (SELECT count(*) FROM tasks o WHERE o.ticket_id = t.ticket_id AND o.status = 'failed')::integer AS ticket_failures
FROM tasks t WHERE t.id = @id;

-- name: TicketEnds :many
-- TicketEnds returns the newest ends of a ticket's tasks, including earlier ends of each task. Ends by a user, a budget
-- or a cancellation are excluded.
SELECT e.task_id, e.ended_at, e.failed FROM (
    SELECT t.id AS task_id, t.completed_at::timestamptz AS ended_at, (t.status = 'failed')::boolean AS failed FROM tasks t
    WHERE t.ticket_id = @ticket_id AND t.completed_at IS NOT NULL
      AND (t.status = 'completed' OR t.status = 'failed' AND t.failure_class NOT IN ('reported', 'budget'))
    UNION
    SELECT d.task_id, d.ended_at, true FROM diagnoses d WHERE d.ticket_id = @ticket_id AND d.kind = 'ended'
) e ORDER BY e.ended_at DESC, e.task_id DESC LIMIT @most;

-- name: TicketDiagnosed :one
-- TicketDiagnosed returns the number of diagnoses of a ticket, and the newest end that they cover.
SELECT count(*)::integer AS diagnoses, coalesce(max(ended_at), 'epoch')::timestamptz AS upto
FROM diagnoses WHERE ticket_id = @ticket_id AND kind = 'ticket';

-- name: TicketDiagnoses :many
-- TicketDiagnoses returns the newest diagnosis of each ticket.
SELECT DISTINCT ON (d.ticket_id) sqlc.embed(d), coalesce(v.id::text, '')::text AS delivery_id, coalesce(v.state, '')::text AS delivery_state,
    coalesce(v.tries, 0)::integer AS tries, coalesce(v.error, '')::text AS delivery_error, v.delivered_at
FROM diagnoses d LEFT JOIN deliveries v ON v.diagnosis_id = d.id
WHERE d.ticket_id = ANY (@ids::uuid[]) AND d.kind = 'ticket'
ORDER BY d.ticket_id, d.created_at DESC, d.id DESC;

-- name: SandboxHeads :many
SELECT id, partition_month, last_sequence FROM sandboxes WHERE id = ANY (@ids::text[]);

-- name: InsertDiagnosis :execrows
-- InsertDiagnosis inserts no row if the failure has a diagnosis.
INSERT INTO diagnoses (id, organization_id, project_id, ticket_id, task_id, attempt, kind, ended_at, said, notice)
VALUES (@id, @organization_id, @project_id, @ticket_id, @task_id, @attempt, @kind, @ended_at, @said, @notice)
ON CONFLICT DO NOTHING;

-- name: InsertDelivery :exec
INSERT INTO deliveries (id, diagnosis_id, body) VALUES (@id, @diagnosis_id, @body);

-- name: DropNotices :exec
-- DropNotices withdraws the pending notices of earlier diagnoses.
UPDATE diagnoses SET notice = 'none' WHERE task_id = @task_id AND notice = 'held' AND id <> @id;

-- name: Diagnoses :many
SELECT sqlc.embed(d), coalesce(v.id::text, '')::text AS delivery_id, coalesce(v.state, '')::text AS delivery_state,
    coalesce(v.tries, 0)::integer AS tries, coalesce(v.error, '')::text AS delivery_error, v.delivered_at
FROM diagnoses d LEFT JOIN deliveries v ON v.diagnosis_id = d.id
WHERE d.organization_id = @organization_id
  AND (sqlc.narg('task_ids')::uuid[] IS NULL OR d.task_id = ANY(sqlc.narg('task_ids')::uuid[]) AND d.kind <> 'ticket')
  AND (sqlc.narg('ticket_ids')::uuid[] IS NULL OR d.ticket_id = ANY(sqlc.narg('ticket_ids')::uuid[]))
  AND (sqlc.narg('before_at')::timestamptz IS NULL
       OR (d.created_at, d.id) < (sqlc.narg('before_at')::timestamptz, sqlc.narg('before_id')::uuid))
ORDER BY d.created_at DESC, d.id DESC LIMIT @max_rows;

-- name: HeldNotices :many
-- HeldNotices returns pending notices for which a later attempt is running. Notices older than a week are excluded.
SELECT d.id, d.task_id, t.sandbox_id::text AS sandbox_id
FROM diagnoses d JOIN tasks t ON t.id = d.task_id JOIN sandboxes s ON s.id = t.sandbox_id AND s.ended_at IS NULL
WHERE d.notice = 'held' AND d.created_at > now() - interval '7 days' AND t.attempt_count > d.attempt
ORDER BY d.created_at LIMIT @most;

-- name: LockNotice :one
SELECT said FROM diagnoses WHERE id = @id AND notice = 'held' FOR UPDATE;

-- name: SettleNotice :exec
UPDATE diagnoses SET notice = @notice, message_id = sqlc.narg('message_id') WHERE id = @id;

-- name: WaitedFor :many
-- WaitedFor returns the dependencies of a task that are not completed.
SELECT o.key, o.status FROM task_dependencies d JOIN tasks o ON o.id = d.depends_on
WHERE d.task_id = @task_id AND o.status <> 'completed' ORDER BY o.status IN ('failed', 'cancelled') DESC, o.id;

-- name: ClockNow :one
SELECT now()::timestamptz;
