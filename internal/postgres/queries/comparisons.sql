-- name: SaveChangeSize :exec
-- SaveChangeSize stores the size of the change with the newest attempt that left commits. Validators leave no work.
UPDATE attempts SET changed_files = @changed_files::integer, changed_lines = @changed_lines::integer
WHERE attempts.task_id = @task_id AND attempts.number = (SELECT max(a.number) FROM attempts a
    WHERE a.task_id = @task_id AND a.head_commit IS NOT NULL AND a.kind <> 'validation');

-- name: ComparedTicket :one
SELECT k.id, k.key, k.title FROM tickets k JOIN projects p ON p.id = k.project_id
WHERE p.organization_id = @organization_id AND k.id = @id;

-- name: UnmeteredOfCandidates :many
SELECT s.id FROM tasks t JOIN sandboxes s ON s.task_id = t.id AND s.last_sequence > s.metered
WHERE t.ticket_id = @ticket_id AND t.execution_config ? 'candidate' ORDER BY s.id;

-- name: Candidates :many
-- Candidates returns the tasks of a comparison in the order of the request, each with the newest attempt that left commits.
SELECT t.id, t.key, t.agent, t.status, t.blocked_reason, t.branch_name, t.pull_request_url, t.budget,
    coalesce(t.execution_config #>> '{candidate,model}', '')::text AS model,
    (t.status = 'running' AND omoi_agent_waits(t.sandbox_id))::boolean AS agent_waits,
    EXISTS (SELECT FROM sandboxes s WHERE s.task_id = t.id AND s.cost_unknown)::boolean AS cost_unknown,
    coalesce(w.number, 0)::integer AS attempt, w.test_repeat, w.changed_files, w.changed_lines
FROM tasks t LEFT JOIN LATERAL (SELECT a.number, a.test_repeat, a.changed_files, a.changed_lines FROM attempts a
    WHERE a.task_id = t.id AND a.head_commit IS NOT NULL AND a.kind <> 'validation' ORDER BY a.number DESC LIMIT 1) w ON true
WHERE t.ticket_id = @ticket_id AND jsonb_typeof(t.execution_config -> 'candidate') = 'object' ORDER BY length(t.key), t.key; -- of one project
