-- name: EndStrayAttempts :exec
-- Ends attempts that no run will end: those of tasks that are over, and those that a later one has followed.
WITH ended AS (
    UPDATE attempts a SET ended_at = now(), outcome = 'failed', failure_class = @failure_class,
        reason = CASE WHEN o.ended THEN @at_end::text ELSE @by_reset::text END,
        end_reason = CASE WHEN o.ended THEN @at_end_reason::jsonb ELSE @by_reset_reason::jsonb END
    FROM tasks t CROSS JOIN LATERAL (SELECT t.status IN ('completed', 'failed', 'cancelled') AS ended) o WHERE t.id = a.task_id AND a.ended_at IS NULL AND (o.ended
        OR EXISTS (SELECT FROM attempts later WHERE later.task_id = a.task_id AND later.number > a.number))
    RETURNING a.sandbox_id, a.ended_at
)
UPDATE sandboxes s SET ended_at = coalesce(s.ended_at, e.ended_at) FROM ended e WHERE s.id = e.sandbox_id;
