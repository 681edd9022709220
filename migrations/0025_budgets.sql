-- +goose Up

-- Commands that park a task.
ALTER TABLE commands DROP CONSTRAINT commands_kind_check;
ALTER TABLE commands ADD CONSTRAINT commands_kind_check
    CHECK (kind IN ('start', 'retry', 'cancel', 'fail', 'complete', 'verdict', 'replace', 'pause', 'budget'));

ALTER TABLE sandboxes ADD COLUMN metered bigint NOT NULL DEFAULT 0;     -- what the events up to it said of its cost is counted
CREATE INDEX tasks_project ON tasks (project_id);
-- Empty where no budget is set, so that to look for one costs nothing.
CREATE INDEX tasks_budget ON tasks (id) WHERE budget <> '{}' AND status NOT IN ('completed', 'failed', 'cancelled');
CREATE INDEX projects_budget ON projects (id) WHERE budget <> '{}';

-- +goose StatementBegin
CREATE FUNCTION omoi_number(value jsonb) RETURNS float8 LANGUAGE sql IMMUTABLE PARALLEL SAFE AS $$
    SELECT CASE WHEN jsonb_typeof(value) = 'number' THEN least(greatest((value #>> '{}')::numeric, 0), 1e15)::float8 ELSE 0 END;
$$;
-- +goose StatementEnd

-- Counts what the agent in a sandbox has said of its use of models. It tells sums of its whole
-- life, so that the largest counts; what it says at an end is the bill, which counts instead of
-- what was estimated before. A price that nobody knows is not told and counts as nothing.
-- +goose StatementBegin
CREATE FUNCTION omoi_meter(box text) RETURNS void LANGUAGE sql AS $$
    WITH b AS MATERIALIZED (
        SELECT id, birth, metered, head, cost_usd, input_tokens, output_tokens FROM sandboxes WHERE id = box AND head > metered
    ), said AS (
        SELECT e.sequence, e.event_data AS d, e.event_type IN ('agent.completed', 'agent.error', 'agent.failed', 'continuous.completed') AS ended
        FROM b JOIN sandbox_events e ON e.birth = b.birth AND e.sandbox_id = b.id AND e.sequence > b.metered AND e.sequence <= b.head
        WHERE e.event_type IN ('agent.assistant_message', 'agent.completed', 'agent.error', 'agent.failed',
            'iteration.started', 'iteration.completed', 'iteration.failed', 'continuous.completed')
    ), told AS (
        SELECT 0::bigint AS sequence, false AS ended, v.what, v.figure
        FROM b, LATERAL (VALUES ('usd', b.cost_usd), ('sent', b.input_tokens::float8), ('got', b.output_tokens::float8)) v(what, figure)
        UNION ALL
        SELECT s.sequence, s.ended, v.what, v.figure FROM said s, LATERAL (VALUES
            ('usd', greatest(omoi_number(d -> 'total_cost_usd'), CASE WHEN ended THEN omoi_number(d -> 'cost_usd') END)),
            ('sent', greatest(omoi_number(d #> '{total_usage,input_tokens}'), CASE WHEN ended THEN omoi_number(d -> 'input_tokens') END)),
            ('got', greatest(omoi_number(d #> '{total_usage,output_tokens}'), CASE WHEN ended THEN omoi_number(d -> 'output_tokens') END))) v(what, figure)
        WHERE v.figure > 0
    ), billed AS (
        SELECT *, coalesce(max(sequence) FILTER (WHERE ended) OVER (PARTITION BY what), 0) AS bill FROM told
    ), sums AS (
        SELECT max(figure) FILTER (WHERE what = 'usd') AS usd, max(figure) FILTER (WHERE what = 'sent') AS sent,
            max(figure) FILTER (WHERE what = 'got') AS got
        FROM billed WHERE sequence >= bill
    )
    UPDATE sandboxes s SET metered = b.head, cost_usd = u.usd, input_tokens = u.sent::bigint, output_tokens = u.got::bigint
    FROM b, sums u WHERE s.id = b.id AND s.metered = b.metered;
$$;
-- +goose StatementEnd

-- When a sandbox has ceased to cost time. Of one that is lost nobody will see the end.
-- +goose StatementBegin
CREATE FUNCTION omoi_gone(state text, ended_at timestamptz, gone_at timestamptz) RETURNS timestamptz LANGUAGE sql IMMUTABLE PARALLEL SAFE AS $$
    SELECT CASE WHEN state = 'lost' THEN coalesce(gone_at, ended_at) ELSE gone_at END;
$$;
-- +goose StatementEnd

-- What a task has used so far.
-- +goose StatementBegin
CREATE FUNCTION omoi_task_use(task uuid) RETURNS TABLE (what text, used float8) LANGUAGE sql STABLE AS $$
    SELECT v.what, v.used FROM (
        SELECT coalesce(sum(b.input_tokens + b.output_tokens), 0)::float8 AS tokens, coalesce(sum(b.cost_usd), 0)::float8 AS usd,
            coalesce(sum(omoi_seconds_alive(b.provider, b.created_at, b.made_at, b.started_at, omoi_gone(b.state, b.ended_at, b.gone_at))), 0)::float8 AS alive
        FROM sandboxes b WHERE b.task_id = $1) s, tasks t,
    LATERAL (VALUES ('tokens', s.tokens), ('usd', s.usd), ('sandbox_s', s.alive),
        ('wall_clock_s', extract(epoch FROM coalesce(t.completed_at, now()) - t.created_at)::float8)) v(what, used)
    WHERE t.id = $1;
$$;
-- +goose StatementEnd

-- What all tasks of a project have used so far. Its wall clock runs from its making.
-- +goose StatementBegin
CREATE FUNCTION omoi_project_use(project uuid) RETURNS TABLE (what text, used float8) LANGUAGE sql STABLE AS $$
    SELECT v.what, v.used FROM (
        SELECT coalesce(sum(b.input_tokens + b.output_tokens), 0)::float8 AS tokens, coalesce(sum(b.cost_usd), 0)::float8 AS usd,
            coalesce(sum(omoi_seconds_alive(b.provider, b.created_at, b.made_at, b.started_at, omoi_gone(b.state, b.ended_at, b.gone_at))), 0)::float8 AS alive
        FROM tasks t JOIN sandboxes b ON b.task_id = t.id WHERE t.project_id = $1) s, projects p,
    LATERAL (VALUES ('tokens', s.tokens), ('usd', s.usd), ('sandbox_s', s.alive),
        ('wall_clock_s', extract(epoch FROM now() - p.created_at)::float8)) v(what, used)
    WHERE p.id = $1;
$$;
-- +goose StatementEnd

-- The limits of a project, and of a task with those of its project.
-- +goose StatementBegin
CREATE FUNCTION omoi_project_limits(project uuid) RETURNS TABLE (scope text, what text, used float8, most float8) LANGUAGE sql STABLE AS $$
    SELECT 'project', u.what, u.used, omoi_number(p.budget -> u.what) FROM projects p, omoi_project_use($1) u
    WHERE p.id = $1 AND p.budget <> '{}' AND omoi_number(p.budget -> u.what) > 0;
$$;
-- +goose StatementEnd
-- +goose StatementBegin
CREATE FUNCTION omoi_task_limits(task uuid) RETURNS TABLE (scope text, what text, used float8, most float8) LANGUAGE sql STABLE AS $$
    SELECT 'task', u.what, u.used, omoi_number(t.budget -> u.what) FROM tasks t, omoi_task_use($1) u
    WHERE t.id = $1 AND t.budget <> '{}' AND omoi_number(t.budget -> u.what) > 0;
$$;
-- +goose StatementEnd
-- +goose StatementBegin
CREATE FUNCTION omoi_limits(task uuid) RETURNS TABLE (scope text, what text, used float8, most float8) LANGUAGE sql STABLE AS $$
    SELECT * FROM omoi_task_limits($1) UNION ALL SELECT l.* FROM tasks t, omoi_project_limits(t.project_id) l WHERE t.id = $1;
$$;
-- +goose StatementEnd

-- +goose StatementBegin
CREATE FUNCTION omoi_spent(task uuid) RETURNS boolean LANGUAGE sql STABLE AS $$
    SELECT EXISTS (SELECT FROM omoi_limits($1) WHERE used >= most);
$$;
-- +goose StatementEnd

-- How much of a limit is used, in words.
-- +goose StatementBegin
CREATE FUNCTION omoi_in_words(what text, used float8, most float8) RETURNS text LANGUAGE sql IMMUTABLE AS $$
    SELECT CASE what WHEN 'usd' THEN format('%s of %s USD', round(used::numeric, 2), round(most::numeric, 2))
        WHEN 'tokens' THEN format('%s of %s tokens', round(used), round(most))
        WHEN 'sandbox_s' THEN format('%s of %s seconds of sandboxes', round(used), round(most))
        ELSE format('%s of %s seconds since it was asked for', round(used), round(most)) END;
$$;
-- +goose StatementEnd
-- +goose StatementBegin
CREATE OR REPLACE FUNCTION omoi_over_task(task uuid) RETURNS text LANGUAGE sql STABLE AS $$
    SELECT coalesce((SELECT 'waiting: its budget is spent, ' || omoi_in_words(what, used, most) FROM omoi_task_limits($1) WHERE used >= most LIMIT 1), '');
$$;
-- +goose StatementEnd
-- +goose StatementBegin
CREATE OR REPLACE FUNCTION omoi_over_project(project uuid) RETURNS text LANGUAGE sql STABLE AS $$
    SELECT coalesce((SELECT 'waiting: the budget of its project is spent, ' || omoi_in_words(what, used, most)
        FROM omoi_project_limits($1) WHERE used >= most LIMIT 1), '');
$$;
-- +goose StatementEnd

-- How many tasks more a project's budget has room for; null: any number. Each that holds a slot
-- has a tenth of the limit reserved, less what its sandbox has used already: what it used is
-- settled by counting it.
-- +goose StatementBegin
CREATE OR REPLACE FUNCTION omoi_budget_room(project uuid) RETURNS integer LANGUAGE sql STABLE AS $$
    SELECT min(greatest(ceil((l.most - l.used - h.reserved) / (l.most / 10)), 0))::integer
    FROM omoi_project_limits($1) l CROSS JOIN LATERAL (
        SELECT coalesce(sum(greatest(l.most / 10 - coalesce(CASE l.what WHEN 'usd' THEN b.cost_usd WHEN 'tokens' THEN b.input_tokens + b.output_tokens
            ELSE omoi_seconds_alive(b.provider, b.created_at, b.made_at, b.started_at, b.gone_at) END, 0), 0)), 0) AS reserved
        FROM slots s JOIN tasks t ON t.id = s.task_id
        LEFT JOIN sandboxes b ON b.task_id = t.id AND b.attempt = t.attempt_count AND b.ended_at IS NULL
        WHERE s.project_id = $1) h
    WHERE l.what <> 'wall_clock_s';
$$;
-- +goose StatementEnd

-- Counts what the sandboxes at work have used where a budget binds them.
-- +goose StatementBegin
CREATE FUNCTION omoi_meter_live() RETURNS void LANGUAGE sql AS $$
    SELECT omoi_meter(s.id) FROM slots h JOIN tasks t ON t.id = h.task_id JOIN projects p ON p.id = t.project_id
    JOIN sandboxes s ON s.task_id = t.id AND s.ended_at IS NULL AND s.head > s.metered
    WHERE t.budget <> '{}' OR p.budget <> '{}' ORDER BY s.id;
$$;
-- +goose StatementEnd

-- The limits of the tasks at work; what the tasks of a project have used together is summed up once.
-- +goose StatementBegin
CREATE FUNCTION omoi_limits_at_work() RETURNS TABLE (task uuid, scope text, what text, used float8, most float8) LANGUAGE sql STABLE AS $$
    WITH w AS MATERIALIZED (
        SELECT t.id, t.project_id, t.budget <> '{}' AS own, p.budget <> '{}' AS shared
        FROM slots h JOIN tasks t ON t.id = h.task_id JOIN projects p ON p.id = t.project_id
        WHERE (t.budget <> '{}' OR p.budget <> '{}') AND t.status NOT IN ('completed', 'failed', 'cancelled')
    )
    SELECT w.id, l.* FROM w CROSS JOIN LATERAL omoi_task_limits(w.id) l WHERE w.own
    UNION ALL
    SELECT w.id, l.* FROM (SELECT DISTINCT project_id FROM w WHERE shared) p CROSS JOIN LATERAL omoi_project_limits(p.project_id) l
    JOIN w USING (project_id);
$$;
-- +goose StatementEnd

-- Asks every task at work to park whose budget, or that of whose project, is spent; each attempt
-- is asked once.
-- +goose StatementBegin
CREATE FUNCTION omoi_park_spent() RETURNS void LANGUAGE plpgsql AS $$
DECLARE
    asked integer;
    orgs uuid[];
BEGIN
    PERFORM pg_advisory_xact_lock(hashtextextended('omoi budgets', 0));
    WITH over AS MATERIALIZED (     -- of two limits the task's own is named
        SELECT DISTINCT ON (t.id) t.id, t.organization_id, CASE l.scope WHEN 'task' THEN 'its budget' ELSE 'the budget of its project' END
            || ' is spent, ' || omoi_in_words(l.what, l.used, l.most) AS reason
        FROM omoi_limits_at_work() l JOIN tasks t ON t.id = l.task
        WHERE l.used >= l.most AND NOT EXISTS (SELECT FROM commands c WHERE c.task_id = t.id AND c.kind = 'budget' AND (c.state = 'accepted'
            OR c.created_at > coalesce((SELECT max(a.started_at) FROM attempts a WHERE a.task_id = t.id), '-infinity')))
        ORDER BY t.id, l.scope DESC
    )
    SELECT count(omoi_ask(id, 'budget', reason, 'omoi')), array_agg(DISTINCT organization_id) INTO asked, orgs FROM over;
    PERFORM omoi_grant(org) FROM unnest(orgs) AS org;   -- those that wait are told
END $$;
-- +goose StatementEnd

-- Agents at work that have used four fifths of a limit and were not told so.
-- +goose StatementBegin
CREATE FUNCTION omoi_near_limits() RETURNS TABLE (sandbox_id text, scope text, key text, words text) LANGUAGE sql STABLE AS $$
    SELECT b.id, l.scope, k.key, omoi_in_words(l.what, l.used, l.most)
    FROM omoi_limits_at_work() l CROSS JOIN LATERAL concat_ws(' ', 'budget', l.scope, l.what, l.most) k(key)
    JOIN tasks t ON t.id = l.task
    JOIN sandboxes b ON b.task_id = t.id AND b.attempt = t.attempt_count AND b.ended_at IS NULL AND b.started_at IS NOT NULL
    WHERE l.used >= 0.8 * l.most AND l.used < l.most
        AND NOT EXISTS (SELECT FROM messages m WHERE m.key_scope = 'inbox:' || b.id AND m.idempotency_key = k.key)
    ORDER BY b.id, k.key LIMIT 100;
$$;
-- +goose StatementEnd

-- +goose Down

DROP FUNCTION omoi_near_limits, omoi_spent, omoi_park_spent, omoi_limits_at_work, omoi_meter_live, omoi_in_words, omoi_limits, omoi_task_limits, omoi_project_limits, omoi_project_use,
    omoi_task_use, omoi_gone, omoi_meter, omoi_number;
-- +goose StatementBegin
CREATE OR REPLACE FUNCTION omoi_over_task(task uuid) RETURNS text LANGUAGE sql STABLE AS $$ SELECT ''::text $$;
-- +goose StatementEnd
-- +goose StatementBegin
CREATE OR REPLACE FUNCTION omoi_over_project(project uuid) RETURNS text LANGUAGE sql STABLE AS $$ SELECT ''::text $$;
-- +goose StatementEnd
-- +goose StatementBegin
CREATE OR REPLACE FUNCTION omoi_budget_room(project uuid) RETURNS integer LANGUAGE sql STABLE AS $$ SELECT NULL::integer $$;
-- +goose StatementEnd
DROP INDEX projects_budget, tasks_budget, tasks_project;
ALTER TABLE sandboxes DROP COLUMN metered;
DELETE FROM commands WHERE kind IN ('pause', 'budget');
ALTER TABLE commands DROP CONSTRAINT commands_kind_check;
ALTER TABLE commands ADD CONSTRAINT commands_kind_check
    CHECK (kind IN ('start', 'retry', 'cancel', 'fail', 'complete', 'verdict', 'replace'));
