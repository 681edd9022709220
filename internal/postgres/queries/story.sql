-- name: Spoken :many
-- Spoken counts the messages to the agents of a task by sender.
SELECT m.sender_kind, m.kind, count(*) AS times
FROM sandboxes s JOIN messages m ON m.sandbox_id = s.id
WHERE s.task_id = @task_id
GROUP BY m.sender_kind, m.kind
ORDER BY m.sender_kind, m.kind;

-- name: EarlierTasks :many
-- EarlierTasks returns the earlier tasks of the same pull request in order.
SELECT e.id FROM (
    SELECT me.root_id AS id, 0 AS round FROM follow_ups me WHERE me.task_id = @task_id
    UNION ALL
    SELECT f.task_id, f.round FROM follow_ups me JOIN follow_ups f ON f.root_id = me.root_id AND f.round < me.round
    WHERE me.task_id = @task_id
) AS e ORDER BY e.round;

-- name: OwnAgentAlone :one
-- OwnAgentAlone reports whether omoi's own agent program sent all events of a sandbox: they are numbered by the first
-- spool. Events of other programs in the sandbox have no number, or one of a later spool.
SELECT EXISTS (SELECT FROM sandboxes s WHERE s.id = @sandbox_id AND s.transport <> '' AND s.spool_id IS NOT NULL AND s.spool_watermark = s.last_sequence);
