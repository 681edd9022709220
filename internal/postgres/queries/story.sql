-- name: Spoken :many
-- How often somebody spoke to the agents of a task.
SELECT m.sender_kind, m.kind, count(*) AS times
FROM sandboxes s JOIN messages m ON m.sandbox_id = s.id
WHERE s.task_id = @task_id
GROUP BY m.sender_kind, m.kind
ORDER BY m.sender_kind, m.kind;

-- name: EarlierTasks :many
-- The tasks of the same pull request before this one, the first one first.
SELECT e.id FROM (
    SELECT me.root_id AS id, 0 AS round FROM follow_ups me WHERE me.task_id = @task_id
    UNION ALL
    SELECT f.task_id, f.round FROM follow_ups me JOIN follow_ups f ON f.root_id = me.root_id AND f.round < me.round
    WHERE me.task_id = @task_id
) AS e ORDER BY e.round;

-- name: OwnAgentAlone :one
-- Whether all that came from a sandbox was sent by omoi's own agent program in it: numbered, by the first spool. What another
-- program in there posts has no number, or that of a later spool; an event alone does not tell.
SELECT EXISTS (SELECT FROM sandboxes s WHERE s.id = @sandbox_id AND s.transport <> '' AND s.spool_id IS NOT NULL AND s.spool_watermark = s.last_sequence);
