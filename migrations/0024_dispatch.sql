-- +goose Up

-- How many tasks of an organization may be at work by its plan; null: no limit. Its own
-- max_slots goes before.
-- +goose StatementBegin
CREATE FUNCTION omoi_plan_slots(plan text) RETURNS integer LANGUAGE sql IMMUTABLE PARALLEL SAFE AS $$
    SELECT CASE plan WHEN 'free' THEN 1 WHEN 'pro' THEN 3 WHEN 'lifetime' THEN 5 WHEN 'team' THEN 10 END;
$$;
-- +goose StatementEnd
ALTER TABLE organizations ADD CONSTRAINT organizations_plan
    CHECK (plan IN ('unlimited', 'free', 'pro', 'lifetime', 'team', 'enterprise'));

-- When a project was given a slot last: those that were not for longest go first. Written by
-- the gate only, under its lock.
CREATE TABLE project_turns (
    project_id  uuid PRIMARY KEY REFERENCES projects ON DELETE CASCADE,
    granted_at  timestamptz NOT NULL
);

-- Tasks of which something changed that the gate looks at besides their own rows.
CREATE TABLE gate_looks (
    organization_id uuid NOT NULL,
    task_id     uuid NOT NULL
);
CREATE INDEX gate_looks_organization ON gate_looks (organization_id);

-- +goose StatementBegin
CREATE FUNCTION omoi_look_again() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
    INSERT INTO gate_looks (organization_id, task_id)
    SELECT NEW.organization_id, d.task_id FROM task_dependencies d WHERE d.depends_on = NEW.id;
    RETURN NULL;
END $$;
-- +goose StatementEnd
CREATE TRIGGER task_ended AFTER UPDATE OF status ON tasks FOR EACH ROW
    WHEN (OLD.status IS DISTINCT FROM NEW.status AND (OLD.status IN ('completed', 'failed', 'cancelled')
        OR NEW.status IN ('completed', 'failed', 'cancelled'))) EXECUTE FUNCTION omoi_look_again();

-- Credentials whose provider refuses more for now. A credential is named by its row and version,
-- or as the installation's own: never by anything that is made of its secret. Until the reset
-- nobody on it is let in; then one, and when a model has answered that one the rest, one after
-- the other. Written by the gate and by omoi_wall only, under the organization's lock.
CREATE TABLE credential_sleeps (
    organization_id uuid NOT NULL REFERENCES organizations ON DELETE CASCADE,
    credential  text NOT NULL,
    since       timestamptz NOT NULL DEFAULT clock_timestamp(),
    until       timestamptz NOT NULL,
    walls       integer NOT NULL DEFAULT 1,     -- how often the limit was met
    stagger     interval NOT NULL,              -- between two that are let in after the reset
    probe       uuid,                           -- the task that tries
    probed_at   timestamptz,
    early       boolean NOT NULL DEFAULT false, -- a person has had one tried before the reset
    proven_at   timestamptz,                    -- a model has answered the one that tried
    next_at     timestamptz NOT NULL,           -- when the gate has to look
    PRIMARY KEY (organization_id, credential)
);

ALTER TABLE attempts ADD COLUMN credential text NOT NULL DEFAULT '';    -- that its agent was given; empty: none is known

-- The credential with which a task's agent works, as package credential chooses it: the
-- user's, the project's, the organization's, the installation's. Without one that omoi knows a
-- task has a name of its own.
-- +goose StatementBegin
CREATE FUNCTION omoi_credential(task uuid) RETURNS text LANGUAGE sql STABLE AS $$
    WITH t AS (
        SELECT id, organization_id, user_id, project_id, CASE
            WHEN jsonb_typeof(execution_config -> 'credentials') = 'array' THEN
                (SELECT name FROM jsonb_array_elements_text(execution_config -> 'credentials') AS name WHERE name <> 'github' LIMIT 1)
            WHEN execution_config -> 'env' ?| ARRAY['ANTHROPIC_API_KEY', 'ANTHROPIC_AUTH_TOKEN', 'ANTHROPIC_BASE_URL',
                'CLAUDE_CODE_OAUTH_TOKEN', 'CLAUDE_CODE_USE_BEDROCK', 'CLAUDE_CODE_USE_VERTEX'] THEN NULL
            WHEN agent IN ('claude', 'command') THEN 'model' END AS name
        FROM tasks WHERE id = $1
    )
    SELECT CASE WHEN t.name IS NULL THEN 'task ' || t.id ELSE coalesce((
        SELECT format('%s %s', c.id, extract(epoch FROM c.updated_at)) FROM credentials c
        WHERE c.organization_id = t.organization_id
            AND c.kind = ANY (CASE t.name WHEN 'model' THEN ARRAY['claude_oauth', 'anthropic'] ELSE ARRAY[t.name] END)
            AND (c.user_id = t.user_id OR c.user_id IS NULL AND (c.project_id = t.project_id OR c.project_id IS NULL))
        ORDER BY c.user_id IS NULL, c.project_id IS NULL, c.kind <> 'claude_oauth' LIMIT 1), 'installation ' || t.name) END
    FROM t;
$$;
-- +goose StatementEnd

-- Puts the credential of an attempt that met its provider's limit to sleep until the reset that
-- the agent was told, else for as long as pause. A reset that is more than a month away is not
-- believed: what an agent says must not hold everybody on its credential for ever.
-- +goose StatementBegin
CREATE FUNCTION omoi_wall(met uuid, attempt integer, reset timestamptz, pause interval, apart interval) RETURNS void LANGUAGE plpgsql AS $$
DECLARE
    org  uuid := (SELECT organization_id FROM tasks WHERE id = met);
    name text := coalesce(nullif((SELECT a.credential FROM attempts a WHERE a.task_id = met AND a.number = attempt), ''), omoi_credential(met));
    wake timestamptz := CASE WHEN reset < clock_timestamp() + interval '31 days' THEN greatest(reset, clock_timestamp() + apart) ELSE clock_timestamp() + pause END;
BEGIN
    PERFORM pg_advisory_xact_lock(hashtextextended('omoi_grant ' || org, 0));
    INSERT INTO credential_sleeps AS s (organization_id, credential, until, stagger, next_at) VALUES (org, name, wake, apart, wake)
    ON CONFLICT (organization_id, credential) DO UPDATE SET until = greatest(s.until, excluded.until), walls = s.walls + 1,
        since = CASE WHEN s.proven_at IS NOT NULL OR s.until <= clock_timestamp() THEN clock_timestamp() ELSE s.since END,
        stagger = excluded.stagger, next_at = greatest(s.until, excluded.until), proven_at = NULL,
        early = s.early AND s.until > clock_timestamp(),
        probe = CASE WHEN s.probe = met OR s.proven_at IS NOT NULL THEN NULL ELSE s.probe END;
END $$;
-- +goose StatementEnd

-- Looks at those who try for a credential: answered by a model, the others follow; gone without
-- an answer, another may try. What nobody waits for any more is forgotten after a minute.
-- +goose StatementBegin
CREATE FUNCTION omoi_probes(org uuid) RETURNS void LANGUAGE plpgsql AS $$
BEGIN
    UPDATE credential_sleeps s SET proven_at = clock_timestamp(), next_at = clock_timestamp()
    WHERE s.organization_id = org AND s.probe IS NOT NULL AND s.proven_at IS NULL AND (
        EXISTS (SELECT FROM tasks t WHERE t.id = s.probe AND t.status = 'completed')
        OR EXISTS (SELECT FROM sandboxes b JOIN sandbox_events e ON e.birth = b.birth AND e.sandbox_id = b.id
            WHERE b.task_id = s.probe AND b.created_at >= s.probed_at AND e.event_type IN ('agent.tool_use',
                'agent.tool_completed', 'agent.completed', 'iteration.completed', 'continuous.completed')));
    UPDATE credential_sleeps s SET probe = NULL WHERE s.organization_id = org AND s.probe IS NOT NULL AND s.proven_at IS NULL
        AND NOT EXISTS (SELECT FROM slots h WHERE h.task_id = s.probe);
    DELETE FROM credential_sleeps s WHERE s.organization_id = org AND s.probe IS NULL AND s.proven_at IS NULL
            AND s.until < clock_timestamp() - interval '1 minute' AND NOT EXISTS (
                SELECT FROM tasks t WHERE t.organization_id = org AND t.status = 'pending' AND t.blocked_reason = 'provider_limit')
        OR s.organization_id = org AND s.proven_at IS NOT NULL AND s.next_at < clock_timestamp() - interval '1 minute';
    UPDATE credential_sleeps s SET next_at = greatest(s.until, clock_timestamp() + s.stagger)
    WHERE s.organization_id = org AND s.proven_at IS NULL AND s.next_at <= clock_timestamp();
END $$;
-- +goose StatementEnd

-- What the tasks of a project may use together. How much they did, and what follows, is the next
-- migration's: until then nothing is spent.
ALTER TABLE projects ADD COLUMN budget jsonb NOT NULL DEFAULT '{}';
-- +goose StatementBegin
CREATE FUNCTION omoi_over_task(task uuid) RETURNS text LANGUAGE sql STABLE AS $$ SELECT ''::text $$;
-- +goose StatementEnd
-- +goose StatementBegin
CREATE FUNCTION omoi_over_project(project uuid) RETURNS text LANGUAGE sql STABLE AS $$ SELECT ''::text $$;
-- +goose StatementEnd
-- +goose StatementBegin
CREATE FUNCTION omoi_budget_room(project uuid) RETURNS integer LANGUAGE sql STABLE AS $$ SELECT NULL::integer $$;
-- +goose StatementEnd

-- What the gate knows of tasks that wait: how urgent each is, and what holds it back beyond the
-- want of a slot; block is empty where nothing does.
-- +goose StatementBegin
CREATE FUNCTION omoi_judge(org uuid, ids uuid[])
RETURNS TABLE (id uuid, project_id uuid, score float8, block text, reason text) LANGUAGE sql STABLE AS $$
    WITH places AS MATERIALIZED (
        SELECT p.id, CASE WHEN p.budget <> '{}' THEN omoi_over_project(p.id) ELSE '' END AS spent,
            EXISTS (SELECT FROM credential_sleeps s WHERE s.organization_id = org) AND (
                p.max_slots <= (SELECT count(*) FROM slots s WHERE s.organization_id = org AND s.project_id = p.id)
                OR p.budget <> '{}' AND coalesce(omoi_budget_room(p.id) = 0, false)) AS taken
        FROM projects p WHERE p.organization_id = org
    ), w AS MATERIALIZED (
        SELECT t.id, t.project_id, t.created_at, t.priority, t.deadline_at, t.retry_count, t.max_retries, t.person,
            coalesce(t.execution_config -> 'force_execute' = 'true', false) AS forced, CASE WHEN t.budget <> '{}' THEN omoi_over_task(t.id) ELSE '' END AS spent,
            CASE WHEN EXISTS (SELECT FROM credential_sleeps s WHERE s.organization_id = org) THEN omoi_credential(t.id) END AS credential
        FROM tasks t WHERE t.id = ANY (ids) AND t.organization_id = org AND t.queued_at IS NOT NULL
    ), needs AS (   -- what waiting tasks depend on
        SELECT d.task_id, bool_or(o.status IN ('failed', 'cancelled')) AS broken, count(*) AS missing
        FROM w JOIN task_dependencies d ON d.task_id = w.id JOIN tasks o ON o.id = d.depends_on AND o.status <> 'completed'
        GROUP BY d.task_id
    ), blocks AS (  -- how many pending tasks depend on a waiting one
        SELECT d.depends_on AS task_id, count(*) AS others
        FROM w JOIN task_dependencies d ON d.depends_on = w.id JOIN tasks o ON o.id = d.task_id AND o.status = 'pending'
        GROUP BY d.depends_on
    ), held AS (
        SELECT w.*, n.missing, o.paused AS org_paused, u.spent AS all_spent, u.taken,
            omoi_score(w.priority, extract(epoch FROM now() - w.created_at)::float8,
                extract(epoch FROM w.deadline_at - now())::float8, coalesce(b.others, 0), w.retry_count, w.max_retries) AS score,
            CASE WHEN n.broken THEN 'dependency_failed' WHEN n.missing > 0 THEN 'dependency'
                WHEN o.paused OR p.paused THEN 'paused'
                WHEN NOT (p.autonomous_execution_enabled OR w.person OR w.forced) THEN 'held'
                WHEN w.spent <> '' OR u.spent <> '' THEN 'budget' ELSE '' END AS block
        FROM w JOIN places u ON u.id = w.project_id JOIN projects p ON p.id = w.project_id JOIN organizations o ON o.id = org
        LEFT JOIN needs n ON n.task_id = w.id LEFT JOIN blocks b ON b.task_id = w.id
    ), tired AS (   -- who may try for a sleeping credential goes first; whose project has no place keeps nobody from trying
        SELECT h.*, s.until, s.probe, s.proven_at, s.next_at, a.asked, row_number() OVER (
            PARTITION BY h.credential, h.block = '' AND NOT h.taken ORDER BY a.asked DESC, h.score DESC, h.created_at, h.id) AS turn
        FROM held h LEFT JOIN credential_sleeps s ON s.organization_id = org AND s.credential = h.credential
        LEFT JOIN LATERAL (SELECT NOT s.early AND EXISTS (
            SELECT FROM commands c WHERE c.task_id = h.id AND c.kind = 'retry' AND c.created_at > s.since) AS asked) a ON true
    ), told AS (
        SELECT t.*, CASE WHEN t.block <> '' OR t.until IS NULL THEN t.block
            WHEN t.turn = 1 AND NOT t.taken AND (t.proven_at IS NOT NULL AND t.next_at <= clock_timestamp()
                OR t.proven_at IS NULL AND t.probe IS NULL AND (t.until <= clock_timestamp() OR t.asked)) THEN ''
            ELSE 'provider_limit' END AS why FROM tired t
    )
    SELECT t.id, t.project_id, t.score, t.why, CASE t.why WHEN '' THEN ''
        WHEN 'dependency_failed' THEN 'a task that it depends on failed or was cancelled'
        WHEN 'dependency' THEN CASE t.missing WHEN 1 THEN 'waiting for 1 task that it depends on'
            ELSE format('waiting for %s tasks that it depends on', t.missing) END
        WHEN 'paused' THEN CASE WHEN t.org_paused THEN 'waiting: the organization is paused' ELSE 'waiting: the project is paused' END
        WHEN 'held' THEN 'waiting: autonomous execution is off in this project'
        WHEN 'budget' THEN CASE t.spent WHEN '' THEN t.all_spent ELSE t.spent END
        ELSE CASE WHEN t.proven_at IS NOT NULL THEN 'waiting: the limit of its credential has reset, and tasks on it go on one after the other'
            WHEN t.probe IS NOT NULL THEN 'waiting: another task tries whether the limit of its credential has reset'
            ELSE format('waiting until %s UTC for the limit of its credential', to_char(t.until AT TIME ZONE 'UTC', 'YYYY-MM-DD HH24:MI:SS')) END END
    FROM told t;
$$;
-- +goose StatementEnd

-- Writes to tasks that wait what omoi_judge says of them. A score above zero says that nothing
-- but the want of a slot holds a task back: the index tasks_ready has those, the most urgent
-- first. They are whole hundredths, which age reaches after three minutes: those that were marked
-- at different times can be compared, the older one first among equals, and few rows are written
-- for their age alone. Answers the projects of the tasks.
-- +goose StatementBegin
CREATE FUNCTION omoi_mark(org uuid, ids uuid[]) RETURNS uuid[] LANGUAGE plpgsql SET plan_cache_mode = force_generic_plan AS $$
DECLARE
    places uuid[];
BEGIN
    IF coalesce(cardinality(ids), 0) = 0 THEN
        RETURN NULL;
    END IF;
    WITH judged AS MATERIALIZED (SELECT * FROM omoi_judge(org, ids)),
    wanted AS (
        SELECT j.id, CASE j.block WHEN '' THEN floor(j.score * 100 + 0.3) / 100 ELSE 0 END AS score,
            CASE j.block WHEN 'held' THEN '' ELSE j.block END AS block,
            CASE WHEN j.block <> '' THEN j.reason WHEN t.queue_reason = '' OR t.score = 0 THEN 'waiting for a slot'
                ELSE t.queue_reason END AS reason,
            CASE j.block WHEN '' THEN t.queue_position END AS position
        FROM judged j JOIN tasks t ON t.id = j.id
    ), free AS MATERIALIZED (
        SELECT t.id FROM tasks t JOIN wanted n ON n.id = t.id
        WHERE t.queued_at IS NOT NULL AND (t.blocked_reason <> n.block OR t.queue_reason <> n.reason
            OR t.score <> n.score OR t.queue_position IS DISTINCT FROM n.position)
        FOR NO KEY UPDATE OF t SKIP LOCKED
    ), written AS (
        UPDATE tasks t SET score = n.score, blocked_reason = n.block, queue_reason = n.reason, queue_position = n.position
        FROM wanted n WHERE t.id = n.id AND t.id IN (SELECT id FROM free)
    )
    SELECT array_agg(DISTINCT project_id) INTO places FROM judged;
    RETURN places;
END $$;
-- +goose StatementEnd
CREATE INDEX tasks_fresh ON tasks (organization_id) WHERE queued_at IS NOT NULL AND queue_reason = '';
CREATE INDEX tasks_ready ON tasks (project_id, score DESC, created_at, id)
    WHERE queued_at IS NOT NULL AND score > 0 AND queue_reason <> '';

-- Gives the free slots of an organization to tasks that are ready, and answers the projects that
-- got one.
--
-- Who is first: the project with the smallest share of its own limit in use, counting what this
-- run gives; among equals the one that was given a slot least lately; within a project the score
-- alone decides. So a project that holds no slot and has a ready task gets one of the next P - 1
-- that are given after one is given to another, P being the projects that have ready tasks.
-- +goose StatementBegin
CREATE FUNCTION omoi_give(org uuid) RETURNS uuid[] LANGUAGE plpgsql
SET enable_seqscan = off SET plan_cache_mode = force_generic_plan AS $$
DECLARE
    let_in uuid[];
    places uuid[];
BEGIN
    WITH room AS (
        SELECT CASE WHEN o.paused THEN 0 ELSE coalesce(o.max_slots, omoi_plan_slots(o.plan)) END AS most,
            (SELECT count(*) FROM slots s WHERE s.organization_id = org) AS used
        FROM organizations o WHERE o.id = org
    ), held AS (
        SELECT s.project_id, count(*) AS used FROM slots s WHERE s.organization_id = org GROUP BY s.project_id
    ), open AS (
        SELECT p.id, p.max_slots AS most, coalesce(h.used, 0) AS used, coalesce(u.granted_at, '-infinity') AS served,
            least(p.max_slots - coalesce(h.used, 0), r.most - r.used, CASE WHEN p.budget <> '{}' THEN omoi_budget_room(p.id) END) AS free
        FROM room r CROSS JOIN projects p LEFT JOIN held h ON h.project_id = p.id LEFT JOIN project_turns u ON u.project_id = p.id
        WHERE p.organization_id = org AND NOT p.paused
    ), ready AS (
        SELECT o.*, t.id AS task, t.score, t.created_at,
            row_number() OVER (PARTITION BY o.id ORDER BY t.score DESC, t.created_at, t.id) AS place
        FROM open o CROSS JOIN LATERAL (
            SELECT t.id, t.score, t.created_at FROM tasks t
            WHERE t.project_id = o.id AND t.queued_at IS NOT NULL AND t.score > 0 AND t.queue_reason <> ''
            ORDER BY t.score DESC, t.created_at, t.id LIMIT greatest(o.free, 0)) t
        WHERE o.free > 0
    ), turns AS (
        SELECT task, row_number() OVER (ORDER BY (used + place - 1) / most::float8, served, score DESC, created_at, task) AS turn
        FROM ready
    ), chosen AS (
        SELECT n.task FROM turns n, room r WHERE r.most IS NULL OR r.used + n.turn <= r.most
    ), taken AS MATERIALIZED (
        SELECT t.id FROM tasks t WHERE t.id = ANY (ARRAY(SELECT task FROM chosen)) AND t.queued_at IS NOT NULL
        FOR NO KEY UPDATE SKIP LOCKED
    ), written AS (
        UPDATE tasks t SET blocked_reason = '', queue_position = NULL, queue_reason = '', queued_at = NULL
        WHERE t.id = ANY (ARRAY(SELECT id FROM taken)) RETURNING t.id, t.organization_id, t.project_id
    ), opened AS (
        INSERT INTO slots (task_id, organization_id, project_id) SELECT id, organization_id, project_id FROM written
        ON CONFLICT (task_id) DO NOTHING
    ), told AS (
        INSERT INTO relay (task_id, admit, due_at) SELECT id, true, now() FROM written
        ON CONFLICT (task_id) DO UPDATE SET admit = true, due_at = now()
    ), noted AS (
        INSERT INTO project_turns (project_id, granted_at) SELECT project_id, clock_timestamp() FROM written GROUP BY project_id
        ON CONFLICT (project_id) DO UPDATE SET granted_at = excluded.granted_at
    )
    SELECT array_agg(id), array_agg(project_id) INTO let_in, places FROM written;
    UPDATE credential_sleeps s SET next_at = clock_timestamp() + s.stagger, probed_at = now(),
        early = s.early OR s.until > clock_timestamp(), probe = CASE WHEN s.proven_at IS NULL THEN g.task ELSE s.probe END
    FROM unnest(let_in) AS g(task) WHERE s.organization_id = org AND s.credential = omoi_credential(g.task);
    RETURN places;
END $$;
-- +goose StatementEnd

-- Writes place and reason of the first 20 that are ready in each of the projects: a long queue
-- does not make a release write a thousand rows.
-- +goose StatementBegin
CREATE FUNCTION omoi_place(org uuid, projects_of uuid[]) RETURNS void LANGUAGE plpgsql
SET enable_seqscan = off SET plan_cache_mode = force_generic_plan AS $$
BEGIN
    WITH room AS (
        SELECT coalesce(o.max_slots, omoi_plan_slots(o.plan)) AS most, (SELECT count(*) FROM slots s WHERE s.organization_id = org) AS used
        FROM organizations o WHERE o.id = org
    ), queues AS (
        SELECT p.id, CASE WHEN p.max_slots = 0 THEN 'waiting: the project takes no tasks now (limit 0)'
            WHEN h.used >= p.max_slots THEN format('waiting for a slot: %s of %s used in this project', h.used, p.max_slots)
            WHEN r.most = 0 THEN 'waiting: the organization takes no tasks now (limit 0)'
            WHEN p.budget <> '{}' AND omoi_budget_room(p.id) = 0 THEN 'waiting: what is left of the budget of its project is reserved for tasks at work'
            WHEN r.used >= r.most THEN format('waiting for a slot: %s of %s used in this organization', r.used, r.most)
            ELSE 'waiting for a slot' END AS reason
        FROM room r CROSS JOIN projects p
        CROSS JOIN LATERAL (SELECT count(*) AS used FROM slots s WHERE s.organization_id = org AND s.project_id = p.id) h
        WHERE p.id = ANY (projects_of)
    ), first AS (
        SELECT t.id, q.reason, row_number() OVER (PARTITION BY q.id ORDER BY t.score DESC, t.created_at, t.id) AS position
        FROM queues q CROSS JOIN LATERAL (
            SELECT t.id, t.score, t.created_at FROM tasks t
            WHERE t.project_id = q.id AND t.queued_at IS NOT NULL AND t.score > 0 AND t.queue_reason <> ''
            ORDER BY t.score DESC, t.created_at, t.id LIMIT 25) t
    ), wanted AS MATERIALIZED (
        SELECT f.id, CASE WHEN f.position <= 20 THEN f.position::integer END AS position, f.reason FROM first f
    ), free AS MATERIALIZED (
        SELECT t.id FROM tasks t JOIN wanted n ON n.id = t.id
        WHERE t.queued_at IS NOT NULL AND (t.queue_position IS DISTINCT FROM n.position OR t.queue_reason <> n.reason)
        FOR NO KEY UPDATE OF t SKIP LOCKED
    )
    UPDATE tasks t SET queue_position = n.position, queue_reason = n.reason
    FROM wanted n WHERE t.id = n.id AND t.id IN (SELECT id FROM free);
END $$;
-- +goose StatementEnd

-- The gate: gives free slots of an organization to tasks that wait, and tells the others why
-- they wait. It runs in every transaction that changes what it looks at, and locks the
-- organization, so that two never give the same slot away. A task whose row is locked is passed
-- over: whoever holds a waiting task's row runs the gate afterwards.
--
-- Plans are kept, and never read the whole table, whatever the statistics say of a queue that
-- was empty a moment ago.
--
-- omoi_grant looks at all that wait: after a change of limits, pauses or dependencies, each
-- minute, and while a credential sleeps. Where a task came or went omoi_admit does, which looks
-- at what is new and at the front of each queue. The gate of before is kept for the way back.
ALTER FUNCTION omoi_grant RENAME TO omoi_grant_before;
-- +goose StatementBegin
CREATE OR REPLACE FUNCTION omoi_grant(org uuid) RETURNS integer LANGUAGE plpgsql AS $$
DECLARE
    places uuid[];
    given uuid[];
BEGIN
    PERFORM pg_advisory_xact_lock(hashtextextended('omoi_grant ' || org, 0));
    DELETE FROM gate_looks WHERE organization_id = org;
    PERFORM omoi_probes(org) FROM credential_sleeps WHERE organization_id = org LIMIT 1;
    places := omoi_mark(org, ARRAY(SELECT id FROM tasks WHERE organization_id = org AND queued_at IS NOT NULL));
    IF places IS NULL THEN
        RETURN 0;
    END IF;
    given := omoi_give(org);
    PERFORM omoi_place(org, places);
    RETURN coalesce(cardinality(given), 0);
END $$;
-- +goose StatementEnd

-- +goose StatementBegin
CREATE FUNCTION omoi_admit(org uuid, place uuid) RETURNS integer LANGUAGE plpgsql
SET enable_seqscan = off SET plan_cache_mode = force_generic_plan AS $$
DECLARE
    places uuid[];
    given uuid[];
BEGIN
    PERFORM pg_advisory_xact_lock(hashtextextended('omoi_grant ' || org, 0));
    IF EXISTS (SELECT FROM credential_sleeps WHERE organization_id = org) THEN
        RETURN omoi_grant(org);
    END IF;
    WITH looks AS (DELETE FROM gate_looks WHERE organization_id = org RETURNING task_id),
    news AS (
        SELECT task_id AS id FROM looks
        UNION SELECT id FROM tasks WHERE organization_id = org AND queued_at IS NOT NULL AND queue_reason = ''
    )
    SELECT omoi_mark(org, array_agg(id)) INTO places FROM news;
    given := omoi_give(org);
    PERFORM omoi_place(org, (SELECT array_agg(DISTINCT id) FROM unnest(places || given || place) AS id));
    RETURN coalesce(cardinality(given), 0);
END $$;
-- +goose StatementEnd

-- Asks something of a task: the command, and the relay that carries it to the workflow.
-- +goose StatementBegin
CREATE FUNCTION omoi_ask(task uuid, kind text, reason text, sender text) RETURNS uuid LANGUAGE sql AS $$
    INSERT INTO commands (id, task_id, kind, args, sender) VALUES (gen_random_uuid(), $1, $2, jsonb_build_object('reason', $3), $4);
    INSERT INTO relay (task_id, due_at) VALUES ($1, now())
    ON CONFLICT (task_id) DO UPDATE SET due_at = least(coalesce(relay.due_at, now()), now());
    SELECT $1;
$$;
-- +goose StatementEnd

-- Where a ticket stands, by its tasks.
-- +goose StatementBegin
CREATE FUNCTION omoi_ticket_status(ticket uuid) RETURNS text LANGUAGE sql STABLE AS $$
    SELECT CASE
        WHEN bool_or(t.status IN ('assigned', 'running', 'needs_revision')) THEN
            CASE WHEN bool_and(t.mode = 'exploration') FILTER (WHERE t.status IN ('assigned', 'running', 'needs_revision'))
                THEN 'analyzing' ELSE 'building' END
        WHEN bool_or(t.status IN ('pending_validation', 'validating')) THEN 'testing'
        WHEN NOT coalesce(bool_or(t.status = 'completed' OR t.attempt_count > 0), false) THEN 'backlog'
        WHEN bool_and(t.status IN ('completed', 'cancelled')) AND bool_or(t.status = 'completed') THEN 'done'
        WHEN bool_or(t.status = 'completed') AND bool_and(t.status IN ('completed', 'cancelled') OR t.mode = 'validation') THEN 'building-done'
        ELSE 'building' END
    FROM tasks t WHERE t.ticket_id = ticket;
$$;
-- +goose StatementEnd

-- +goose Down
DROP FUNCTION omoi_ticket_status, omoi_ask, omoi_admit, omoi_place, omoi_give, omoi_mark, omoi_judge, omoi_over_task, omoi_over_project, omoi_budget_room, omoi_probes, omoi_wall, omoi_credential;
DROP INDEX tasks_fresh, tasks_ready;
DROP FUNCTION omoi_grant;
ALTER FUNCTION omoi_grant_before RENAME TO omoi_grant;
ALTER TABLE projects DROP COLUMN budget;
ALTER TABLE attempts DROP COLUMN credential;
DROP TRIGGER task_ended ON tasks;
DROP FUNCTION omoi_look_again;
DROP TABLE credential_sleeps, gate_looks, project_turns;
ALTER TABLE organizations DROP CONSTRAINT organizations_plan;
DROP FUNCTION omoi_plan_slots;
