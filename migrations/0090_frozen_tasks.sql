-- Frozen time is subtracted from the wall clock of tasks, except of those with a sandbox elsewhere, which is never frozen.

-- +goose Up
-- +goose StatementBegin
CREATE OR REPLACE FUNCTION omoi_task_use(task uuid) RETURNS TABLE (what text, used float8) LANGUAGE sql STABLE AS $$
    SELECT v.what, v.used FROM (
        SELECT coalesce(sum(b.input_tokens + b.output_tokens), 0)::float8 AS tokens, coalesce(sum(b.cost_usd), 0)::float8 AS usd,
            coalesce(sum(omoi_seconds_alive(b.provider, b.created_at, b.made_at, b.started_at, omoi_gone(b.state, b.ended_at, b.gone_at))), 0)::float8 AS alive
        FROM sandboxes b WHERE b.task_id = $1) s, tasks t,
    LATERAL (VALUES ('tokens', s.tokens), ('usd', s.usd), ('sandbox_s', s.alive),
        ('wall_clock_s', extract(epoch FROM coalesce(t.completed_at, now()) - t.created_at)::float8
            - CASE WHEN t.provider IN ('local', 'docker') OR NOT EXISTS (SELECT FROM sandboxes b WHERE b.task_id = t.id)
                THEN omoi_frozen(t.created_at, coalesce(t.completed_at, now())) ELSE 0 END)) v(what, used)
    WHERE t.id = $1;
$$;
-- +goose StatementEnd

-- +goose Down
-- +goose StatementBegin
CREATE OR REPLACE FUNCTION omoi_task_use(task uuid) RETURNS TABLE (what text, used float8) LANGUAGE sql STABLE AS $$
    SELECT v.what, v.used FROM (
        SELECT coalesce(sum(b.input_tokens + b.output_tokens), 0)::float8 AS tokens, coalesce(sum(b.cost_usd), 0)::float8 AS usd,
            coalesce(sum(omoi_seconds_alive(b.provider, b.created_at, b.made_at, b.started_at, omoi_gone(b.state, b.ended_at, b.gone_at))), 0)::float8 AS alive
        FROM sandboxes b WHERE b.task_id = $1) s, tasks t,
    LATERAL (VALUES ('tokens', s.tokens), ('usd', s.usd), ('sandbox_s', s.alive),
        ('wall_clock_s', extract(epoch FROM coalesce(t.completed_at, now()) - t.created_at)::float8
            - omoi_frozen(t.created_at, coalesce(t.completed_at, now())))) v(what, used)
    WHERE t.id = $1;
$$;
-- +goose StatementEnd
