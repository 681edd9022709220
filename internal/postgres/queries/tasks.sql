-- name: TaskForUpdate :one
-- TaskForUpdate does not read the slot: it can wait for admission, and would return the slot from before the wait.
SELECT sqlc.embed(t), p.repo FROM tasks t JOIN projects p ON p.id = t.project_id
WHERE t.id = @id FOR NO KEY UPDATE OF t;

-- name: TakeOverTask :exec
-- TakeOverTask makes the run the owner of the task.
UPDATE tasks SET first_run_id = @first_run_id, run_id = @run_id, status = @status, sandbox_id = sqlc.narg('sandbox_id'),
    updated_at = now()
WHERE id = @id;

-- name: ReviveTask :exec
-- ReviveTask reopens an ended task. Its failure class stays, because a retry after a failed publish starts there.
UPDATE tasks SET status = 'pending', blocked_reason = '', sandbox_id = NULL, error_message = NULL, end_reason = NULL, completed_at = NULL,
    queued_at = coalesce(queued_at, now())
WHERE id = @id;

-- name: AskForSlot :exec
-- AskForSlot ends a suspension; a reason of admission stays until admission changes it.
UPDATE tasks SET blocked_reason = CASE WHEN queued_at IS NULL THEN '' ELSE blocked_reason END,
    queued_at = coalesce(queued_at, now())
WHERE id = @id;

-- name: HoldsSlot :one
SELECT EXISTS (SELECT FROM slots WHERE task_id = @task_id);

-- name: SaveTaskState :exec
-- SaveTaskState keeps the reason of admission while the task is queued, and a branch that is recorded.
UPDATE tasks t SET first_run_id = @first_run_id, run_id = @run_id, ordinal = @ordinal, status = @status, waiting = NULL,
    blocked_reason = CASE WHEN @blocked::text = '' AND @queued::boolean AND t.queued_at IS NOT NULL
        THEN t.blocked_reason ELSE @blocked END,
    sandbox_id = nullif(@sandbox_id::text, ''),
    assigned_agent_id = coalesce(nullif(@agent_id::text, ''), t.assigned_agent_id),
    retry_count = @retries, revision_count = @revisions,
    failure_class = @failure_class, error_message = nullif(@error_message::text, ''), end_reason = nullif(@end_reason::text, '')::jsonb,
    branch_name = coalesce(t.branch_name, nullif(@branch::text, '')),
    base_commit = coalesce(nullif(@base::text, ''), t.base_commit),
    pull_request_url = coalesce(nullif(@pull_url::text, ''), t.pull_request_url),
    pull_request_number = coalesce(nullif(@pull_number::integer, 0), t.pull_request_number),
    result = coalesce(sqlc.narg('result'), t.result),
    assigned_at = CASE WHEN @status = 'assigned' THEN coalesce(t.assigned_at, now()) ELSE t.assigned_at END,
    started_at = CASE WHEN @status = 'running' THEN coalesce(t.started_at, now()) ELSE t.started_at END,
    completed_at = CASE WHEN @final::boolean THEN coalesce(t.completed_at, now()) END,
    queued_at = CASE WHEN @queued THEN coalesce(t.queued_at, now()) END,
    queue_position = CASE WHEN @queued THEN t.queue_position END,
    queue_reason = CASE WHEN @queued THEN t.queue_reason END,
    updated_at = now()
WHERE t.id = @id;

-- name: StartedAgent :one
-- StartedAgent returns the agent ID that the agent of a sandbox reported in its first 100 events; empty: none.
SELECT coalesce((SELECT left(e.event_data ->> 'agent_id', 100) FROM sandboxes s
    JOIN sandbox_events e ON e.partition_month = s.partition_month AND e.sandbox_id = s.id AND e.sequence <= 100
    WHERE s.id = @sandbox_id AND e.event_type = @started ORDER BY e.sequence LIMIT 1), '')::text AS agent_id;

-- name: ReleaseSlot :exec
DELETE FROM slots WHERE task_id = @task_id;

-- name: AbandonTask :exec
-- AbandonTask clears the owner, so that a reset is not rejected as the run that ended the task. The row names the last
-- sandbox.
UPDATE tasks t SET status = 'failed', failure_class = @failure_class, error_message = @reason, end_reason = nullif(@end_reason::text, '')::jsonb, blocked_reason = '',
    sandbox_id = (SELECT a.sandbox_id FROM attempts a WHERE a.task_id = t.id ORDER BY a.number DESC LIMIT 1), run_id = '', queued_at = NULL, queue_position = NULL, queue_reason = NULL,
    completed_at = now(), updated_at = now()
WHERE t.id = @id;

-- name: Work :one
-- The column retry_feedback is that of the retry that began the chain of runs.
SELECT sqlc.embed(t), k.title AS ticket_title, k.description AS ticket_description, k.ticket_type,
    p.repo, p.default_branch, p.setup, p.setup_timeout_s,
    p.settings,
    coalesce((SELECT to_jsonb(n) FROM task_contracts n WHERE n.task_id = t.id ORDER BY n.version DESC LIMIT 1), 'null')::jsonb AS contract,
    coalesce(p.settings ->> 'model_prices', '')::text AS model_prices,
    coalesce(p.settings -> 'commit_leftovers' <> 'false', true)::boolean AS commit_leftovers, coalesce(x.content, '')::text AS feedback,
    coalesce(p.settings -> 'repeat_tests' <> 'false', true)::boolean AS repeat_tests,
    CASE WHEN jsonb_typeof(p.settings -> 'test_timeout_seconds') = 'number' THEN omoi_number(p.settings -> 'test_timeout_seconds') ELSE 0 END::float8 AS test_timeout_s,
    coalesce(a.kind, '')::text AS attempt_kind, coalesce(a.credential, '')::text AS credential, a.takeover, coalesce((SELECT c.args ->> 'feedback' FROM commands c
        WHERE c.task_id = t.id AND c.kind = 'retry' AND c.claimed_by = t.first_run_id ORDER BY c.ordinal DESC LIMIT 1), '')::text AS retry_feedback
FROM tasks t
JOIN tickets k ON k.id = t.ticket_id
JOIN projects p ON p.id = t.project_id
LEFT JOIN LATERAL (SELECT feedback_id, kind, credential, takeover FROM attempts WHERE task_id = t.id ORDER BY number DESC LIMIT 1) a ON true
LEFT JOIN stored_texts x ON x.id = a.feedback_id
WHERE t.id = @id;

-- name: MoveBranch :execrows
-- MoveBranch gives the task another branch, which has no pull request yet. A repeated call changes nothing more.
WITH gone AS (DELETE FROM pull_request_states p USING tasks t
    WHERE p.root_id = t.id AND t.id = @id AND t.branch_name = @was)
UPDATE tasks SET earlier_branches = CASE branch_name WHEN @was::text THEN earlier_branches || @was ELSE earlier_branches END,
    branch_name = @branch::text, updated_at = now(),
    pull_request_url = CASE branch_name WHEN @was THEN NULL ELSE pull_request_url END,
    pull_request_number = CASE branch_name WHEN @was THEN NULL ELSE pull_request_number END
WHERE tasks.id = @id AND tasks.branch_name IN (@was, @branch);

-- name: PointRelay :exec
-- PointRelay selects the sandbox whose events are relayed to the task.
INSERT INTO task_outbox (task_id, sandbox_id) VALUES (@task_id, sqlc.narg('sandbox_id'))
ON CONFLICT (task_id) DO UPDATE SET sandbox_id = excluded.sandbox_id
WHERE task_outbox.sandbox_id IS DISTINCT FROM excluded.sandbox_id;

-- name: OpenTasks :many
-- OpenTasks returns tasks that a run has loaded, and tasks whose start was sent and not loaded, because the run no
-- longer exists or waits for a worker.
SELECT id::text FROM (
    SELECT id, updated_at AS since FROM tasks
    WHERE status NOT IN ('completed', 'failed', 'cancelled') AND run_id <> ''
        AND updated_at < now() - @age::interval
    UNION ALL
    SELECT t.id, min(c.sent_at) FROM commands c JOIN tasks t ON t.id = c.task_id
    WHERE c.state = 'accepted' AND c.claimed_by IS NULL AND c.kind IN ('start', 'retry')
        AND c.sent_at < now() - @age::interval
        AND (t.run_id = '' OR t.status IN ('completed', 'failed', 'cancelled'))
    GROUP BY t.id
) AS open ORDER BY since;

-- name: RunLoaded :one
-- RunLoaded reports whether the task is not final and a run has loaded it.
SELECT EXISTS (SELECT FROM tasks WHERE id = @id AND run_id <> '' AND status NOT IN ('completed', 'failed', 'cancelled'));

-- name: Organizations :many
SELECT id::text FROM organizations ORDER BY id;
