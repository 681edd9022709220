-- +goose Up

-- Whether the sandbox of a task is active: its agent is at work, or is about to be.
-- +goose StatementBegin
CREATE FUNCTION omoi_at_work(status text, ended_at timestamptz) RETURNS boolean LANGUAGE sql IMMUTABLE PARALLEL SAFE AS $$
    SELECT status IN ('assigned', 'running', 'validating') AND ended_at IS NULL;
$$;
-- +goose StatementEnd

-- What the sandboxes of a project have used for good, so that the sum of thousands is not made anew each time. project_uses
-- has those whose use does not change any more; all others stand in open_uses, with what project_uses has of them already.
CREATE TABLE project_uses (
    project_id  uuid PRIMARY KEY REFERENCES projects ON DELETE CASCADE,
    tokens      double precision NOT NULL,
    usd         double precision NOT NULL,
    alive       double precision NOT NULL
);
CREATE TABLE open_uses (
    sandbox_id  text PRIMARY KEY REFERENCES sandboxes ON DELETE CASCADE,
    project_id  uuid NOT NULL,
    tokens      double precision NOT NULL,
    usd         double precision NOT NULL,
    alive       double precision NOT NULL
);
CREATE INDEX open_uses_project ON open_uses (project_id);

-- What a sandbox has used by now.
-- +goose StatementBegin
CREATE FUNCTION omoi_use(b sandboxes) RETURNS TABLE (tokens float8, usd float8, alive float8) LANGUAGE sql STABLE AS $$
    SELECT (b.input_tokens + b.output_tokens)::float8, b.cost_usd,
        omoi_seconds_alive(b.provider, b.created_at, b.made_at, b.started_at, omoi_gone(b.state, b.ended_at, b.gone_at));
$$;
-- +goose StatementEnd

-- +goose StatementBegin
CREATE FUNCTION omoi_open_use() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
    IF TG_OP = 'INSERT' OR OLD.task_id IS NULL THEN
        INSERT INTO open_uses SELECT NEW.id, t.project_id, 0, 0, 0 FROM tasks t WHERE t.id = NEW.task_id ON CONFLICT DO NOTHING;
    ELSE    -- what it had used is counted, or it is open
        INSERT INTO open_uses SELECT NEW.id, t.project_id, u.tokens, u.usd, u.alive FROM tasks t, omoi_use(OLD) u WHERE t.id = NEW.task_id
        ON CONFLICT DO NOTHING;
    END IF;
    RETURN NULL;
END $$;
-- +goose StatementEnd
CREATE TRIGGER use_opened AFTER INSERT ON sandboxes FOR EACH ROW WHEN (NEW.task_id IS NOT NULL) EXECUTE FUNCTION omoi_open_use();
CREATE TRIGGER use_changed AFTER UPDATE OF task_id, cost_usd, input_tokens, output_tokens, state, made_at, started_at, ended_at, gone_at ON sandboxes
    FOR EACH ROW WHEN (NEW.task_id IS NOT NULL AND (OLD.task_id, OLD.cost_usd, OLD.input_tokens, OLD.output_tokens, OLD.state, OLD.made_at, OLD.started_at, OLD.ended_at, OLD.gone_at)
        IS DISTINCT FROM (NEW.task_id, NEW.cost_usd, NEW.input_tokens, NEW.output_tokens, NEW.state, NEW.made_at, NEW.started_at, NEW.ended_at, NEW.gone_at))
    EXECUTE FUNCTION omoi_open_use();
INSERT INTO open_uses SELECT s.id, t.project_id, 0, 0, 0 FROM sandboxes s JOIN tasks t ON t.id = s.task_id;

-- Moves what does not change any more into the sums of the projects that have a budget.
-- +goose StatementBegin
CREATE FUNCTION omoi_settle_uses() RETURNS void LANGUAGE plpgsql AS $$
DECLARE
    done text[];
BEGIN
    PERFORM pg_advisory_xact_lock(hashtextextended('omoi budgets', 0));
    done := ARRAY(SELECT b.id FROM projects p JOIN open_uses o ON o.project_id = p.id JOIN sandboxes b ON b.id = o.sandbox_id
        WHERE p.budget <> '{}' AND omoi_gone(b.state, b.ended_at, b.gone_at) IS NOT NULL FOR NO KEY UPDATE OF b SKIP LOCKED);
    WITH closed AS (DELETE FROM open_uses WHERE sandbox_id = ANY (done) RETURNING *)
    INSERT INTO project_uses AS u (project_id, tokens, usd, alive)
    SELECT c.project_id, sum(n.tokens - c.tokens), sum(n.usd - c.usd), sum(n.alive - c.alive)
    FROM closed c JOIN sandboxes b ON b.id = c.sandbox_id CROSS JOIN LATERAL omoi_use(b) n GROUP BY c.project_id
    ON CONFLICT (project_id) DO UPDATE SET tokens = u.tokens + excluded.tokens, usd = u.usd + excluded.usd, alive = u.alive + excluded.alive;
END $$;
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
        ('wall_clock_s', extract(epoch FROM now() - p.created_at)::float8)) v(what, used)
    WHERE p.id = $1;
$$;
-- +goose StatementEnd

-- +goose Down

-- +goose StatementBegin
CREATE OR REPLACE FUNCTION omoi_project_use(project uuid) RETURNS TABLE (what text, used float8) LANGUAGE sql STABLE AS $$
    SELECT v.what, v.used FROM (
        SELECT coalesce(sum(b.input_tokens + b.output_tokens), 0)::float8 AS tokens, coalesce(sum(b.cost_usd), 0)::float8 AS usd,
            coalesce(sum(omoi_seconds_alive(b.provider, b.created_at, b.made_at, b.started_at, omoi_gone(b.state, b.ended_at, b.gone_at))), 0)::float8 AS alive
        FROM tasks t JOIN sandboxes b ON b.task_id = t.id WHERE t.project_id = $1) s, projects p,
    LATERAL (VALUES ('tokens', s.tokens), ('usd', s.usd), ('sandbox_s', s.alive),
        ('wall_clock_s', extract(epoch FROM now() - p.created_at)::float8)) v(what, used)
    WHERE p.id = $1;
$$;
-- +goose StatementEnd
DROP TRIGGER use_opened ON sandboxes;
DROP TRIGGER use_changed ON sandboxes;
DROP FUNCTION omoi_settle_uses, omoi_open_use, omoi_use;
DROP TABLE open_uses, project_uses;
DROP FUNCTION omoi_at_work;
