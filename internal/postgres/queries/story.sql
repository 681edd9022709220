-- name: Spoken :many
-- How often somebody spoke to the agents of a task.
SELECT m.sender_kind, m.kind, count(*) AS times
FROM sandboxes s JOIN messages m ON m.sandbox_id = s.id
WHERE s.task_id = @task_id
GROUP BY m.sender_kind, m.kind
ORDER BY m.sender_kind, m.kind;
