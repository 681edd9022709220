-- name: ActiveLife :many
-- ActiveLife returns the activity of each active sandbox of an organization, oldest first. The newest heartbeat and the
-- completion are searched in the newest 1,000 events.
SELECT s.id, s.last_work_at, clock_timestamp()::timestamptz AS now, (b.created_at IS NOT NULL)::boolean AS beats,
    coalesce(b.created_at, now())::timestamptz AS beat_at, coalesce(b.status, '')::text AS beat_status,
    EXISTS (SELECT FROM sandbox_events e WHERE e.partition_month = s.partition_month AND e.sandbox_id = s.id AND e.event_type = @completed::text
        AND e.sequence > greatest(s.last_sequence - 1000, (SELECT o.sequence FROM sandbox_events o
            WHERE o.partition_month = s.partition_month AND o.sandbox_id = s.id AND o.sequence > s.last_sequence - 1000 AND o.created_at < s.last_work_at
            ORDER BY o.sequence DESC LIMIT 1)))::boolean AS completed,
    (p.sandbox_id IS NOT NULL)::boolean AS spec, coalesce(p.spec_id, '')::text AS spec_id, coalesce(p.status, '')::text AS status,
    coalesce(p.current_phase, '')::text AS current_phase, coalesce(p.progress, 0)::integer AS progress,
    coalesce(p.started, '{}')::jsonb AS started, coalesce(p.completed, '{}')::jsonb AS phases, coalesce(p.criteria, '{}')::jsonb AS criteria,
    p.last_completed, p.last_completed_at, p.execution_completed_at, p.execution_failed_at
FROM tasks t JOIN sandboxes s ON s.id = t.sandbox_id LEFT JOIN spec_progress p ON p.sandbox_id = s.id
LEFT JOIN LATERAL (SELECT h.created_at, left(coalesce(h.event_data ->> 'status', ''), 100) AS status FROM sandbox_events h
    WHERE h.partition_month = s.partition_month AND h.sandbox_id = s.id AND h.sequence > s.last_sequence - 1000
        AND h.event_type = ANY (@heartbeats::text[])
    ORDER BY h.sequence DESC LIMIT 1) b ON true
WHERE t.organization_id = @organization_id AND omoi_active(t.status, s.ended_at) ORDER BY s.created_at, s.id;
