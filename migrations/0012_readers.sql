-- +goose Up

-- What lists show of a result: one that is long loses what is no number, text or truth, and the
-- rest of its long texts; truncated says so.
-- +goose StatementBegin
CREATE FUNCTION omoi_brief(result jsonb) RETURNS jsonb LANGUAGE plpgsql IMMUTABLE STRICT PARALLEL SAFE AS $$
BEGIN
    IF octet_length(result::text) <= 2048 THEN
        RETURN result;
    ELSIF jsonb_typeof(result) <> 'object' THEN
        RETURN '{"truncated": true}';
    END IF;
    RETURN (SELECT coalesce(jsonb_object_agg(key, CASE jsonb_typeof(value) WHEN 'string' THEN to_jsonb(left(value #>> '{}', 200)) ELSE value END), '{}')
        FROM (SELECT key, value FROM jsonb_each(result)
            WHERE octet_length(key) <= 100 AND (jsonb_typeof(value) IN ('string', 'boolean', 'null')
                OR (jsonb_typeof(value) = 'number' AND octet_length(value::text) <= 40))
            ORDER BY key LIMIT 40) AS short) || '{"truncated": true}';
END $$;
-- +goose StatementEnd

-- A task as lists show it: all of its columns, in their order.
CREATE VIEW task_briefs AS
SELECT id, organization_id, project_id, ticket_id, title, description, task_type, phase_id, priority, mode, agent, provider,
    continuous, person, max_retries, execution_config, budget, deadline_at, status, blocked_reason, sandbox_id,
    assigned_agent_id, branch_name, base_commit, pull_request_url, pull_request_number, omoi_brief(result) AS result,
    error_message, failure_class, retry_count, revision_count, replacement_count, attempt_count, first_run_id, run_id, ordinal,
    assigned_at, started_at, completed_at, queued_at, queue_position, queue_reason, score, created_at, updated_at, waiting, waiting_at
FROM tasks;

-- The number below which every transaction of this database has ended; those of other databases
-- of the same server do not count. A transaction whose number is below the snapshot's xmax had it
-- before the processes are looked at. One that none of them has then is over, and the next
-- statement sees what it wrote. Processes show the low half of a number only.
-- +goose StatementBegin
CREATE FUNCTION omoi_bus_bound() RETURNS bigint LANGUAGE sql VOLATILE AS $$
    WITH top AS MATERIALIZED (SELECT pg_snapshot_xmax(pg_current_snapshot())::text::bigint AS xid),
    busy AS (
        SELECT a.backend_xid AS xid FROM pg_stat_activity a WHERE a.datname = current_database() AND a.backend_xid IS NOT NULL
        UNION ALL SELECT p.transaction FROM pg_prepared_xacts p WHERE p.database = current_database()
    )
    SELECT least((SELECT xid FROM top), (
        SELECT min(t.xid + (b.xid::text::bigint - t.xid % 4294967296 + 6442450944) % 4294967296 - 2147483648) FROM busy b, top t));
$$;
-- +goose StatementEnd

-- +goose Down
DROP FUNCTION omoi_bus_bound;
DROP VIEW task_briefs;
DROP FUNCTION omoi_brief;
