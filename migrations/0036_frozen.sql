-- A row of outages whose part is 'frozen' is time in which omoi dev was stopped and the sandboxes of its machine were
-- frozen. It ends at infinity while that lasts. None of it counts: not against a budget, nor as a sandbox's time.

-- +goose Up
-- +goose StatementBegin
CREATE FUNCTION omoi_frozen(since timestamptz, until timestamptz) RETURNS float8 LANGUAGE sql STABLE PARALLEL SAFE AS $$
    SELECT coalesce(sum(extract(epoch FROM least(o.until, $2) - greatest(o.since, $1))), 0)::float8
    FROM outages o WHERE o.part = 'frozen' AND o.until > $1 AND o.since < $2;
$$;
-- +goose StatementEnd

-- +goose StatementBegin
CREATE OR REPLACE FUNCTION omoi_seconds_alive(provider text, created_at timestamptz, made_at timestamptz, started_at timestamptz, gone_at timestamptz)
RETURNS double precision LANGUAGE sql STABLE AS $$
    SELECT CASE WHEN made_at IS NULL AND started_at IS NULL AND provider NOT IN ('external', 'bare') THEN 0
        ELSE extract(epoch FROM coalesce(gone_at, now()) - coalesce(made_at, started_at, created_at))
            - CASE WHEN provider IN ('local', 'docker') THEN omoi_frozen(coalesce(made_at, started_at, created_at), coalesce(gone_at, now())) ELSE 0 END
        END::double precision
$$;
-- +goose StatementEnd

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

-- +goose StatementBegin
CREATE OR REPLACE FUNCTION omoi_project_use(project uuid) RETURNS TABLE (what text, used float8) LANGUAGE sql STABLE AS $$
    SELECT v.what, v.used FROM (
        SELECT coalesce(sum(tokens), 0) AS tokens, coalesce(sum(usd), 0) AS usd, coalesce(sum(alive), 0) AS alive FROM (
            SELECT tokens, usd, alive FROM project_uses WHERE project_id = $1
            UNION ALL
            SELECT n.tokens - o.tokens, n.usd - o.usd, n.alive - o.alive
            FROM open_uses o JOIN sandboxes b ON b.id = o.sandbox_id CROSS JOIN LATERAL omoi_use(b) n WHERE o.project_id = $1) parts
        ) s, projects p,
    LATERAL (VALUES ('tokens', s.tokens), ('usd', s.usd), ('sandbox_s', s.alive),
        ('wall_clock_s', extract(epoch FROM now() - p.created_at)::float8 - omoi_frozen(p.created_at, now()))) v(what, used)
    WHERE p.id = $1;
$$;
-- +goose StatementEnd

-- +goose Down
-- +goose StatementBegin
CREATE OR REPLACE FUNCTION omoi_project_use(project uuid) RETURNS TABLE (what text, used float8) LANGUAGE sql STABLE AS $$
    SELECT v.what, v.used FROM (
        SELECT coalesce(sum(tokens), 0) AS tokens, coalesce(sum(usd), 0) AS usd, coalesce(sum(alive), 0) AS alive FROM (
            SELECT tokens, usd, alive FROM project_uses WHERE project_id = $1
            UNION ALL
            SELECT n.tokens - o.tokens, n.usd - o.usd, n.alive - o.alive
            FROM open_uses o JOIN sandboxes b ON b.id = o.sandbox_id CROSS JOIN LATERAL omoi_use(b) n WHERE o.project_id = $1) parts
        ) s, projects p,
    LATERAL (VALUES ('tokens', s.tokens), ('usd', s.usd), ('sandbox_s', s.alive),
        ('wall_clock_s', extract(epoch FROM now() - p.created_at)::float8)) v(what, used)
    WHERE p.id = $1;
$$;
-- +goose StatementEnd
-- +goose StatementBegin
CREATE OR REPLACE FUNCTION omoi_task_use(task uuid) RETURNS TABLE (what text, used float8) LANGUAGE sql STABLE AS $$
    SELECT v.what, v.used FROM (
        SELECT coalesce(sum(b.input_tokens + b.output_tokens), 0)::float8 AS tokens, coalesce(sum(b.cost_usd), 0)::float8 AS usd,
            coalesce(sum(omoi_seconds_alive(b.provider, b.created_at, b.made_at, b.started_at, omoi_gone(b.state, b.ended_at, b.gone_at))), 0)::float8 AS alive
        FROM sandboxes b WHERE b.task_id = $1) s, tasks t,
    LATERAL (VALUES ('tokens', s.tokens), ('usd', s.usd), ('sandbox_s', s.alive),
        ('wall_clock_s', extract(epoch FROM coalesce(t.completed_at, now()) - t.created_at)::float8)) v(what, used)
    WHERE t.id = $1;
$$;
-- +goose StatementEnd
-- +goose StatementBegin
CREATE OR REPLACE FUNCTION omoi_seconds_alive(provider text, created_at timestamptz, made_at timestamptz, started_at timestamptz, gone_at timestamptz)
RETURNS double precision LANGUAGE sql STABLE AS $$
    SELECT CASE WHEN made_at IS NULL AND started_at IS NULL AND provider NOT IN ('external', 'bare') THEN 0
        ELSE extract(epoch FROM coalesce(gone_at, now()) - coalesce(made_at, started_at, created_at)) END::double precision
$$;
-- +goose StatementEnd
DROP FUNCTION omoi_frozen;
