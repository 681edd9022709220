-- +goose Up

-- Functions, each followed by the triggers that call it. SQL functions precede their callers.

-- ---------------------------------------------------------------------------------------------------------------------
-- Tickets and tasks

-- omoi_ticket_tasks returns what the status of a ticket depends on in its tasks but one, without equal ones (task.TicketStatus).
-- +goose StatementBegin
CREATE FUNCTION omoi_ticket_tasks(ticket uuid, but uuid DEFAULT NULL) RETURNS jsonb LANGUAGE sql STABLE AS $$
    SELECT coalesce(jsonb_agg(DISTINCT jsonb_build_object('status', t.status, 'mode', t.mode, 'started', t.attempt_count > 0)), '[]')
    FROM tasks t WHERE t.ticket_id = ticket AND t.id IS DISTINCT FROM but;
$$;
-- +goose StatementEnd

-- omoi_brief returns the part of a result that lists show. A result above 2048 bytes keeps 40 numbers, texts and booleans, and of each
-- text 200 characters; truncated marks the result.
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

CREATE VIEW task_briefs AS
SELECT id, organization_id, project_id, ticket_id, title, description, task_type, phase_id, priority, mode, agent, provider,
    continuous, user_requested, max_retries, execution_config, budget, deadline_at, status, blocked_reason, sandbox_id,
    assigned_agent_id, branch_name, base_commit, pull_request_url, pull_request_number, omoi_brief(result) AS result,
    error_message, failure_class, end_reason, retry_count, revision_count, replacement_count, attempt_count, first_run_id, run_id, ordinal,
    assigned_at, started_at, completed_at, queued_at, queue_position, queue_reason, score, created_at, updated_at, waiting, waiting_at,
    user_id, validation_rounds
FROM tasks;
COMMENT ON VIEW task_briefs IS 'One task as lists show the task: all columns in their order, the result shortened.';

-- ---------------------------------------------------------------------------------------------------------------------
-- Sandboxes

-- omoi_sandbox_state rejects an unknown state. A CHECK would run in each update of ingest; the trigger runs where a state is set.
-- +goose StatementBegin
CREATE FUNCTION omoi_sandbox_state() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
    RAISE check_violation USING MESSAGE = format('sandbox %s cannot be %L', NEW.id, NEW.state);
END $$;
-- +goose StatementEnd
CREATE TRIGGER sandbox_state BEFORE INSERT OR UPDATE OF state ON sandboxes FOR EACH ROW
    WHEN (NEW.state NOT IN ('intended', 'creating', 'running', 'deleting', 'gone', 'lost')) EXECUTE FUNCTION omoi_sandbox_state();

-- omoi_active reports whether the sandbox of a task is active: its attempt runs, or is about to.
-- +goose StatementBegin
CREATE FUNCTION omoi_active(status text, ended_at timestamptz) RETURNS boolean LANGUAGE sql IMMUTABLE PARALLEL SAFE AS $$
    SELECT status IN ('assigned', 'running', 'validating') AND ended_at IS NULL;
$$;
-- +goose StatementEnd

-- omoi_token_ended reports whether the token of a sandbox has expired: an hour after deletion was verified. Deletion of external and
-- unmanaged sandboxes is not verified; gone_at counts instead.
-- +goose StatementBegin
CREATE FUNCTION omoi_token_ended(verified_at timestamptz, machine boolean, state text, gone_at timestamptz)
RETURNS boolean LANGUAGE sql STABLE AS $$
    SELECT (coalesce($1, CASE WHEN NOT $2 AND $3 = 'gone' THEN $4 END) < now() - interval '1 hour') IS TRUE
$$;
-- +goose StatementEnd

-- omoi_lifetime_end returns when a sandbox ceased to cost time. Null: not yet. A lost sandbox counts until its attempt ended.
-- +goose StatementBegin
CREATE FUNCTION omoi_lifetime_end(state text, ended_at timestamptz, gone_at timestamptz) RETURNS timestamptz LANGUAGE sql IMMUTABLE PARALLEL SAFE AS $$
    SELECT CASE WHEN state = 'lost' THEN coalesce(gone_at, ended_at) ELSE gone_at END;
$$;
-- +goose StatementEnd

-- omoi_frozen_seconds returns the seconds of a period in which the sandboxes of this machine were frozen.
-- +goose StatementBegin
CREATE FUNCTION omoi_frozen_seconds(since timestamptz, until timestamptz) RETURNS float8 LANGUAGE sql STABLE PARALLEL SAFE AS $$
    SELECT coalesce(sum(extract(epoch FROM least(o.until, $2) - greatest(o.since, $1))), 0)::float8
    FROM outages o WHERE o.part = 'frozen' AND o.until > $1 AND o.since < $2;
$$;
-- +goose StatementEnd

-- omoi_lifetime_seconds returns the lifetime of a sandbox in seconds: from its creation at the provider to the first absence check, without
-- frozen time. A sandbox that was never seen at its provider has none.
-- +goose StatementBegin
CREATE FUNCTION omoi_lifetime_seconds(machine boolean, host_bound boolean, created_at timestamptz, made_at timestamptz, started_at timestamptz,
    gone_at timestamptz)
RETURNS double precision LANGUAGE sql STABLE AS $$
    SELECT CASE WHEN made_at IS NULL AND started_at IS NULL AND machine THEN 0
        ELSE extract(epoch FROM coalesce(gone_at, now()) - coalesce(made_at, started_at, created_at))
            - CASE WHEN host_bound THEN omoi_frozen_seconds(coalesce(made_at, started_at, created_at), coalesce(gone_at, now())) ELSE 0 END
        END::double precision
$$;
-- +goose StatementEnd

-- ---------------------------------------------------------------------------------------------------------------------
-- Events

-- omoi_partition_of creates the partition of a table for the month of day. Where the default partition already holds rows of that
-- month, they stay: nothing is lost, and nothing is moved.
-- +goose StatementBegin
CREATE FUNCTION omoi_partition_of(parent text, day date) RETURNS void LANGUAGE plpgsql AS $$
DECLARE
    first date := date_trunc('month', day);
    past  date := (date_trunc('month', day) + interval '1 month')::date;
    name  text := parent || '_' || to_char(day, 'YYYYMM');
    taken boolean;
BEGIN
    EXECUTE format('SELECT EXISTS (SELECT FROM %I WHERE partition_month >= $1 AND partition_month < $2)', parent || '_default') INTO taken USING first, past;
    IF taken OR to_regclass(name) IS NOT NULL THEN
        RETURN;
    END IF;
    EXECUTE format('CREATE TABLE %I PARTITION OF %I FOR VALUES FROM (%L) TO (%L)', name, parent, first, past);
EXCEPTION WHEN duplicate_table THEN
    NULL;  -- another process was faster
END $$;
-- +goose StatementEnd

-- omoi_partition creates the partitions of events for the month of day.
-- +goose StatementBegin
CREATE FUNCTION omoi_partition(day date) RETURNS void LANGUAGE plpgsql AS $$
BEGIN
    PERFORM omoi_partition_of('sandbox_events', day);
    PERFORM omoi_partition_of('event_fields', day);
END $$;
-- +goose StatementEnd

-- omoi_partitions creates the partitions of this month and the next.
-- +goose StatementBegin
CREATE FUNCTION omoi_partitions() RETURNS void LANGUAGE sql AS $$
    SELECT omoi_partition(current_date), omoi_partition((current_date + interval '1 month')::date);
$$;
-- +goose StatementEnd

-- omoi_omitted_fields returns the names of the fields that the row of an event lacks. Call omoi_omitted_fields and omoi_full_event only where cut is set:
-- calls of SQL functions cost time.
-- +goose StatementBegin
CREATE FUNCTION omoi_omitted_fields(partition_month date, sandbox_id text, sequence bigint) RETURNS text[] LANGUAGE sql STABLE AS $$
    SELECT f.names FROM event_fields f WHERE f.partition_month = $1 AND f.sandbox_id = $2 AND f.sequence = $3;
$$;
-- +goose StatementEnd

-- omoi_full_event returns the full data of an event.
-- +goose StatementBegin
CREATE FUNCTION omoi_full_event(partition_month date, sandbox_id text, sequence bigint, event_data jsonb) RETURNS jsonb LANGUAGE sql STABLE AS $$
    SELECT $4 || coalesce((SELECT f.fields FROM event_fields f WHERE f.partition_month = $1 AND f.sandbox_id = $2 AND f.sequence = $3), '{}');
$$;
-- +goose StatementEnd

-- omoi_last_phase returns the last phase of a spec execution that has an output. Null: none.
-- +goose StatementBegin
CREATE FUNCTION omoi_last_phase(phase_data jsonb) RETURNS text LANGUAGE sql IMMUTABLE AS $$
    SELECT p.name FROM unnest(ARRAY['sync', 'tasks', 'design', 'requirements', 'prd', 'explore']) WITH ORDINALITY AS p(name, n)
    WHERE $1 ? p.name ORDER BY p.n LIMIT 1;
$$;
-- +goose StatementEnd

-- ---------------------------------------------------------------------------------------------------------------------
-- Messages, commands and relay

-- omoi_expire_messages expires the open messages of a sandbox whose attempt ends, in every way an attempt can end. A delivered message
-- that a legacy worker is known not to acknowledge stays delivered.
-- +goose StatementBegin
CREATE FUNCTION omoi_expire_messages() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
    UPDATE messages SET state = 'expired', settled_at = now(), lease_until = NULL,
        reason = 'The attempt ended before the agent took the message up.'
    WHERE sandbox_id = NEW.id AND state IN ('accepted', 'delivered') AND settled_at IS NULL;
    RETURN NULL;
END $$;
-- +goose StatementEnd
CREATE TRIGGER sandbox_ended AFTER UPDATE OF ended_at, state ON sandboxes FOR EACH ROW
    WHEN ((NEW.ended_at IS NOT NULL OR NEW.state IN ('gone', 'lost'))
        AND NOT (OLD.ended_at IS NOT NULL OR OLD.state IN ('gone', 'lost')))
    EXECUTE FUNCTION omoi_expire_messages();

-- omoi_add_command adds a command and makes the task's relay row due.
-- +goose StatementBegin
CREATE FUNCTION omoi_add_command(task uuid, kind text, reason text, sender text) RETURNS uuid LANGUAGE sql AS $$
    INSERT INTO commands (id, task_id, kind, args, sender) VALUES (gen_random_uuid(), $1, $2, jsonb_build_object('reason', $3), $4);
    INSERT INTO task_outbox (task_id, due_at) VALUES ($1, now())
    ON CONFLICT (task_id) DO UPDATE SET due_at = least(coalesce(task_outbox.due_at, now()), now());
    SELECT $1;
$$;
-- +goose StatementEnd

-- omoi_relay_due notifies the relays of all processes, after the commit. Events do not come this way: ingest notifies the relay of its
-- own process.
-- +goose StatementBegin
CREATE FUNCTION omoi_relay_due() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
    PERFORM pg_notify('omoi_relay', '');
    RETURN NULL;
END $$;
-- +goose StatementEnd
CREATE TRIGGER task_outbox_due AFTER INSERT OR UPDATE OF due_at ON task_outbox FOR EACH ROW
    WHEN (NEW.due_at IS NOT NULL AND NEW.due_at <= now()) EXECUTE FUNCTION omoi_relay_due();

-- ---------------------------------------------------------------------------------------------------------------------
-- Usage and budgets

-- omoi_number returns a JSON number between 0 and 1e15; anything else counts as 0.
-- +goose StatementBegin
CREATE FUNCTION omoi_number(value jsonb) RETURNS float8 LANGUAGE sql IMMUTABLE PARALLEL SAFE AS $$
    SELECT CASE WHEN jsonb_typeof(value) = 'number' THEN least(greatest((value #>> '{}')::numeric, 0), 1e15)::float8 ELSE 0 END;
$$;
-- +goose StatementEnd

-- omoi_usage returns the usage of a sandbox by now.
-- +goose StatementBegin
CREATE FUNCTION omoi_usage(b sandboxes) RETURNS TABLE (tokens float8, usd float8, alive float8) LANGUAGE sql STABLE AS $$
    SELECT (b.input_tokens + b.output_tokens)::float8, b.cost_usd,
        omoi_lifetime_seconds(b.machine, b.host_bound, b.created_at, b.made_at, b.started_at, omoi_lifetime_end(b.state, b.ended_at, b.gone_at));
$$;
-- +goose StatementEnd

-- omoi_open_usage notes that the usage of a sandbox may change.
-- +goose StatementBegin
CREATE FUNCTION omoi_open_usage() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
    IF TG_OP = 'INSERT' OR OLD.task_id IS NULL THEN
        INSERT INTO open_usage SELECT NEW.id, t.project_id, 0, 0, 0 FROM tasks t WHERE t.id = NEW.task_id ON CONFLICT DO NOTHING;
    ELSE    -- project_usage holds the former usage, or the row exists
        INSERT INTO open_usage SELECT NEW.id, t.project_id, u.tokens, u.usd, u.alive FROM tasks t, omoi_usage(OLD) u WHERE t.id = NEW.task_id
        ON CONFLICT DO NOTHING;
    END IF;
    RETURN NULL;
END $$;
-- +goose StatementEnd
CREATE TRIGGER usage_opened AFTER INSERT ON sandboxes FOR EACH ROW WHEN (NEW.task_id IS NOT NULL) EXECUTE FUNCTION omoi_open_usage();
CREATE TRIGGER usage_changed AFTER UPDATE OF task_id, cost_usd, input_tokens, output_tokens, state, made_at, started_at, ended_at, gone_at ON sandboxes
    FOR EACH ROW WHEN (NEW.task_id IS NOT NULL AND (OLD.task_id, OLD.cost_usd, OLD.input_tokens, OLD.output_tokens, OLD.state, OLD.made_at, OLD.started_at, OLD.ended_at, OLD.gone_at)
        IS DISTINCT FROM (NEW.task_id, NEW.cost_usd, NEW.input_tokens, NEW.output_tokens, NEW.state, NEW.made_at, NEW.started_at, NEW.ended_at, NEW.gone_at))
    EXECUTE FUNCTION omoi_open_usage();

-- omoi_settle_usage adds final usage to the sums of the projects that have a budget.
-- +goose StatementBegin
CREATE FUNCTION omoi_settle_usage() RETURNS void LANGUAGE plpgsql AS $$
DECLARE
    done text[];
BEGIN
    PERFORM pg_advisory_xact_lock(hashtextextended('omoi budgets', 0));
    done := ARRAY(SELECT b.id FROM projects p JOIN open_usage o ON o.project_id = p.id JOIN sandboxes b ON b.id = o.sandbox_id
        WHERE p.budget <> '{}' AND omoi_lifetime_end(b.state, b.ended_at, b.gone_at) IS NOT NULL FOR NO KEY UPDATE OF b SKIP LOCKED);
    WITH closed AS (DELETE FROM open_usage WHERE sandbox_id = ANY (done) RETURNING *)
    INSERT INTO project_usage AS u (project_id, tokens, usd, alive)
    SELECT c.project_id, sum(n.tokens - c.tokens), sum(n.usd - c.usd), sum(n.alive - c.alive)
    FROM closed c JOIN sandboxes b ON b.id = c.sandbox_id CROSS JOIN LATERAL omoi_usage(b) n GROUP BY c.project_id
    ON CONFLICT (project_id) DO UPDATE SET tokens = u.tokens + excluded.tokens, usd = u.usd + excluded.usd, alive = u.alive + excluded.alive;
END $$;
-- +goose StatementEnd

-- omoi_task_usage returns the usage of a task by now. Frozen time does not count against its wall clock, unless the task has a sandbox
-- elsewhere: such a sandbox is never frozen.
-- +goose StatementBegin
CREATE FUNCTION omoi_task_usage(task uuid) RETURNS TABLE (what text, used float8) LANGUAGE sql STABLE AS $$
    SELECT v.what, v.used FROM (
        SELECT coalesce(sum(b.input_tokens + b.output_tokens), 0)::float8 AS tokens, coalesce(sum(b.cost_usd), 0)::float8 AS usd,
            coalesce(sum(omoi_lifetime_seconds(b.machine, b.host_bound, b.created_at, b.made_at, b.started_at, omoi_lifetime_end(b.state, b.ended_at, b.gone_at))), 0)::float8 AS alive
        FROM sandboxes b WHERE b.task_id = $1) s, tasks t,
    LATERAL (VALUES ('tokens', s.tokens), ('usd', s.usd), ('sandbox_s', s.alive),
        ('wall_clock_s', extract(epoch FROM coalesce(t.completed_at, now()) - t.created_at)::float8
            - CASE WHEN NOT EXISTS (SELECT FROM sandboxes b WHERE b.task_id = t.id AND NOT b.host_bound)
                THEN omoi_frozen_seconds(t.created_at, coalesce(t.completed_at, now())) ELSE 0 END)) v(what, used)
    WHERE t.id = $1;
$$;
-- +goose StatementEnd

-- omoi_project_usage returns the usage of all tasks of a project by now. Its wall clock runs from the creation of the project.
-- +goose StatementBegin
CREATE FUNCTION omoi_project_usage(project uuid) RETURNS TABLE (what text, used float8) LANGUAGE sql STABLE AS $$
    SELECT v.what, v.used FROM (
        SELECT coalesce(sum(tokens), 0) AS tokens, coalesce(sum(usd), 0) AS usd, coalesce(sum(alive), 0) AS alive FROM (
            SELECT tokens, usd, alive FROM project_usage WHERE project_id = $1
            UNION ALL
            SELECT n.tokens - o.tokens, n.usd - o.usd, n.alive - o.alive
            FROM open_usage o JOIN sandboxes b ON b.id = o.sandbox_id CROSS JOIN LATERAL omoi_usage(b) n WHERE o.project_id = $1) parts
        ) s, projects p,
    LATERAL (VALUES ('tokens', s.tokens), ('usd', s.usd), ('sandbox_s', s.alive),
        ('wall_clock_s', extract(epoch FROM now() - p.created_at)::float8 - omoi_frozen_seconds(p.created_at, now()))) v(what, used)
    WHERE p.id = $1;
$$;
-- +goose StatementEnd

-- omoi_task_limits returns the limits of a task with its usage.
-- +goose StatementBegin
CREATE FUNCTION omoi_task_limits(task uuid) RETURNS TABLE (scope text, what text, used float8, most float8) LANGUAGE sql STABLE AS $$
    SELECT 'task', u.what, u.used, omoi_number(t.budget -> u.what) FROM tasks t, omoi_task_usage($1) u
    WHERE t.id = $1 AND t.budget <> '{}' AND omoi_number(t.budget -> u.what) > 0;
$$;
-- +goose StatementEnd

-- omoi_project_limits returns the limits of a project with its usage.
-- +goose StatementBegin
CREATE FUNCTION omoi_project_limits(project uuid) RETURNS TABLE (scope text, what text, used float8, most float8) LANGUAGE sql STABLE AS $$
    SELECT 'project', u.what, u.used, omoi_number(p.budget -> u.what) FROM projects p, omoi_project_usage($1) u
    WHERE p.id = $1 AND p.budget <> '{}' AND omoi_number(p.budget -> u.what) > 0;
$$;
-- +goose StatementEnd

-- omoi_limits returns the limits of a task and of its project.
-- +goose StatementBegin
CREATE FUNCTION omoi_limits(task uuid) RETURNS TABLE (scope text, what text, used float8, most float8) LANGUAGE sql STABLE AS $$
    SELECT * FROM omoi_task_limits($1) UNION ALL SELECT l.* FROM tasks t, omoi_project_limits(t.project_id) l WHERE t.id = $1;
$$;
-- +goose StatementEnd

-- omoi_over_budget reports whether a limit of a task or of its project is used up.
-- +goose StatementBegin
CREATE FUNCTION omoi_over_budget(task uuid) RETURNS boolean LANGUAGE sql STABLE AS $$
    SELECT EXISTS (SELECT FROM omoi_limits($1) WHERE used >= most);
$$;
-- +goose StatementEnd

-- omoi_reason returns a reason in its stored form: a code with its numbers, which package explain renders.
-- +goose StatementBegin
CREATE FUNCTION omoi_reason(code text, numbers jsonb DEFAULT '{}') RETURNS jsonb LANGUAGE sql IMMUTABLE AS $$
    SELECT jsonb_build_object('code', code) || numbers;
$$;
-- +goose StatementEnd

-- omoi_budget_reason returns the reason that a limit of a budget is used up, or nearly. scope is task or project. Amounts are rounded, so
-- that waiting rows are not written for a thousandth of a cent.
-- +goose StatementBegin
CREATE FUNCTION omoi_budget_reason(scope text, what text, used float8, most float8) RETURNS jsonb LANGUAGE sql IMMUTABLE AS $$
    SELECT omoi_reason(scope || '_budget', jsonb_build_object('unit', what, 'used', round(used::numeric, d), 'limit', round(most::numeric, d)))
    FROM (SELECT CASE what WHEN 'usd' THEN 2 ELSE 0 END) AS decimals(d);
$$;
-- +goose StatementEnd

-- omoi_task_budget_reason returns why a task waits for its own budget. Null: the budget is not used up.
-- +goose StatementBegin
CREATE FUNCTION omoi_task_budget_reason(task uuid) RETURNS jsonb LANGUAGE sql STABLE AS $$
    SELECT omoi_budget_reason(scope, what, used, most) FROM omoi_task_limits($1) WHERE used >= most LIMIT 1;
$$;
-- +goose StatementEnd

-- omoi_project_budget_reason returns why tasks wait for the budget of a project. Null: the budget is not used up.
-- +goose StatementBegin
CREATE FUNCTION omoi_project_budget_reason(project uuid) RETURNS jsonb LANGUAGE sql STABLE AS $$
    SELECT omoi_budget_reason(scope, what, used, most) FROM omoi_project_limits($1) WHERE used >= most LIMIT 1;
$$;
-- +goose StatementEnd

-- omoi_budget_room returns how many tasks more the budget of a project admits. Null: any number. Each task with a slot reserves a tenth of
-- the limit, less the usage of its sandbox, which the usage of the project contains.
-- +goose StatementBegin
CREATE FUNCTION omoi_budget_room(project uuid) RETURNS integer LANGUAGE sql STABLE AS $$
    SELECT min(greatest(ceil((l.most - l.used - h.reserved) / (l.most / 10)), 0))::integer
    FROM omoi_project_limits($1) l CROSS JOIN LATERAL (
        SELECT coalesce(sum(greatest(l.most / 10 - coalesce(CASE l.what WHEN 'usd' THEN b.cost_usd WHEN 'tokens' THEN b.input_tokens + b.output_tokens
            ELSE omoi_lifetime_seconds(b.machine, b.host_bound, b.created_at, b.made_at, b.started_at, b.gone_at) END, 0), 0)), 0) AS reserved
        FROM slots s JOIN tasks t ON t.id = s.task_id
        LEFT JOIN sandboxes b ON b.task_id = t.id AND b.attempt = t.attempt_count AND b.ended_at IS NULL
        WHERE s.project_id = $1) h
    WHERE l.what <> 'wall_clock_s';
$$;
-- +goose StatementEnd

-- omoi_active_limits returns the limits of all tasks with a slot. The usage of a project is summed up once.
-- +goose StatementBegin
CREATE FUNCTION omoi_active_limits() RETURNS TABLE (task uuid, scope text, what text, used float8, most float8) LANGUAGE sql STABLE AS $$
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

-- omoi_near_limits returns the agents that have used four fifths of a limit and have received no message about that.
-- +goose StatementBegin
CREATE FUNCTION omoi_near_limits() RETURNS TABLE (sandbox_id text, scope text, key text, reason jsonb) LANGUAGE sql STABLE AS $$
    SELECT b.id, l.scope, k.key, omoi_budget_reason(l.scope, l.what, l.used, l.most)
    FROM omoi_active_limits() l CROSS JOIN LATERAL concat_ws(' ', 'budget', l.scope, l.what, l.most) k(key)
    JOIN tasks t ON t.id = l.task
    JOIN sandboxes b ON b.task_id = t.id AND b.attempt = t.attempt_count AND b.ended_at IS NULL AND b.started_at IS NOT NULL
    WHERE l.used >= 0.8 * l.most AND l.used < l.most
        AND NOT EXISTS (SELECT FROM messages m WHERE m.key_scope = 'inbox:' || b.id AND m.idempotency_key = k.key)
    ORDER BY b.id, k.key LIMIT 100;
$$;
-- +goose StatementEnd

-- omoi_suspend_over_budget adds a command for each task with a slot whose budget, or whose project's budget, is used up: the command suspends the
-- task. Each attempt gets one command. It returns the organizations of these tasks: the reasons of their queued tasks change.
-- +goose StatementBegin
CREATE FUNCTION omoi_suspend_over_budget() RETURNS uuid[] LANGUAGE plpgsql AS $$
DECLARE
    asked integer;
    orgs uuid[];
BEGIN
    PERFORM pg_advisory_xact_lock(hashtextextended('omoi budgets', 0));
    WITH over AS MATERIALIZED (     -- of two limits that of the task is named
        SELECT DISTINCT ON (t.id) t.id, t.organization_id, omoi_budget_reason(l.scope, l.what, l.used, l.most) AS reason
        FROM omoi_active_limits() l JOIN tasks t ON t.id = l.task
        WHERE l.used >= l.most AND NOT EXISTS (SELECT FROM commands c WHERE c.task_id = t.id AND c.kind = 'budget' AND (c.state = 'accepted'
            OR c.created_at > coalesce((SELECT max(a.started_at) FROM attempts a WHERE a.task_id = t.id), '-infinity')))
        ORDER BY t.id, l.scope DESC
    )
    SELECT count(omoi_add_command(id, 'budget', reason::text, 'omoi')), array_agg(DISTINCT organization_id) INTO asked, orgs FROM over;
    RETURN orgs;
END $$;
-- +goose StatementEnd

-- ---------------------------------------------------------------------------------------------------------------------
-- Credentials and their cooldowns

-- omoi_check_probes checks the tasks that try a credential. After a model answered, the others follow; after a task ended without an answer,
-- another task may try. A cooldown for which no task waits is deleted after a minute. answered are the events that follow an answer of a model.
-- +goose StatementBegin
CREATE FUNCTION omoi_check_probes(org uuid, answered text[]) RETURNS void LANGUAGE plpgsql AS $$
BEGIN
    UPDATE credential_cooldowns s SET proven_at = clock_timestamp(), next_at = clock_timestamp()
    WHERE s.organization_id = org AND s.probe IS NOT NULL AND s.proven_at IS NULL AND (
        EXISTS (SELECT FROM tasks t WHERE t.id = s.probe AND t.status = 'completed')
        OR EXISTS (SELECT FROM sandboxes b JOIN sandbox_events e ON e.partition_month = b.partition_month AND e.sandbox_id = b.id
            WHERE b.task_id = s.probe AND b.created_at >= s.probed_at AND e.event_type = ANY (answered)));
    UPDATE credential_cooldowns s SET probe = NULL WHERE s.organization_id = org AND s.probe IS NOT NULL AND s.proven_at IS NULL
        AND NOT EXISTS (SELECT FROM slots h WHERE h.task_id = s.probe);
    DELETE FROM credential_cooldowns s WHERE s.organization_id = org AND s.probe IS NULL AND s.proven_at IS NULL
            AND s.until < clock_timestamp() - interval '1 minute' AND NOT EXISTS (
                SELECT FROM tasks t WHERE t.organization_id = org AND t.status = 'pending' AND t.blocked_reason = 'provider_limit')
        OR s.organization_id = org AND s.proven_at IS NOT NULL AND s.next_at < clock_timestamp() - interval '1 minute';
    UPDATE credential_cooldowns s SET next_at = greatest(s.until, clock_timestamp() + s.stagger)
    WHERE s.organization_id = org AND s.proven_at IS NULL AND s.next_at <= clock_timestamp();
END $$;
-- +goose StatementEnd

-- ---------------------------------------------------------------------------------------------------------------------
-- Admission

-- omoi_score returns how urgent a task is: 0.45 priority, 0.20 age, 0.15 deadline, 0.15 dependent tasks, 0.05 remaining retries; a quarter
-- more with a deadline within 15 minutes; at least 0.6 after two hours. Ages are in seconds; slack is the time to the deadline, null
-- without one. A single expression, so that the plan of admission inlines the function.
-- +goose StatementBegin
CREATE FUNCTION omoi_score(priority text, waited float8, slack float8, behind bigint, retries integer, most integer)
RETURNS float8 LANGUAGE sql IMMUTABLE PARALLEL SAFE AS $$
    SELECT greatest(CASE WHEN waited >= 7200 THEN 0.6::float8 ELSE 0 END,
        (0.45::float8 * CASE priority WHEN 'CRITICAL' THEN 1.0::float8 WHEN 'HIGH' THEN 0.75 WHEN 'MEDIUM' THEN 0.5 ELSE 0.25 END
        + 0.20::float8 * least(waited / 3600, 1)
        + 0.15::float8 * CASE WHEN slack < 0 THEN 1::float8 ELSE greatest(1 - slack / 900, 0) END
        + 0.15::float8 * least(behind / 10.0::float8, 1)
        + 0.05::float8 * greatest(1 - retries / greatest(most, 1)::float8, 0))
        * CASE WHEN slack BETWEEN 0 AND 900 THEN 1.25::float8 ELSE 1 END)
$$;
-- +goose StatementEnd

-- omoi_queue_dependents has admission evaluate the dependents of a task again when the task ends or is retried.
-- +goose StatementBegin
CREATE FUNCTION omoi_queue_dependents() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
    INSERT INTO admission_queue (organization_id, task_id)
    SELECT NEW.organization_id, d.task_id FROM task_dependencies d WHERE d.depends_on = NEW.id;
    RETURN NULL;
END $$;
-- +goose StatementEnd
CREATE TRIGGER task_ended AFTER UPDATE OF status ON tasks FOR EACH ROW
    WHEN (OLD.status IS DISTINCT FROM NEW.status AND (OLD.status IN ('completed', 'failed', 'cancelled')
        OR NEW.status IN ('completed', 'failed', 'cancelled'))) EXECUTE FUNCTION omoi_queue_dependents();

-- omoi_evaluate_queued returns how urgent queued tasks are, and what blocks them besides the lack of a slot. block is empty where nothing does.
-- names are the credentials of the tasks in on_credentials, see omoi_admit_all.
-- +goose StatementBegin
CREATE FUNCTION omoi_evaluate_queued(org uuid, ids uuid[], on_credentials uuid[], names text[])
RETURNS TABLE (id uuid, project_id uuid, score float8, block text, reason jsonb) LANGUAGE sql STABLE AS $$
    WITH places AS MATERIALIZED (
        SELECT p.id, CASE WHEN p.budget <> '{}' THEN omoi_project_budget_reason(p.id) END AS spent,
            EXISTS (SELECT FROM credential_cooldowns s WHERE s.organization_id = org) AND (
                p.max_slots <= (SELECT count(*) FROM slots s WHERE s.organization_id = org AND s.project_id = p.id)
                OR p.budget <> '{}' AND coalesce(omoi_budget_room(p.id) = 0, false)) AS taken
        FROM projects p WHERE p.organization_id = org
    ), w AS MATERIALIZED (
        SELECT t.id, t.project_id, t.created_at, t.priority, t.deadline_at, t.retry_count, t.max_retries, t.user_requested,
            coalesce(t.execution_config -> 'force_execute' = 'true', false) AS forced,
            CASE WHEN t.budget <> '{}' THEN omoi_task_budget_reason(t.id) END AS spent,
            c.name AS credential
        FROM tasks t LEFT JOIN unnest(on_credentials, names) AS c(id, name) ON c.id = t.id WHERE t.id = ANY (ids) AND t.organization_id = org AND t.queued_at IS NOT NULL
    ), needs AS (   -- what queued tasks depend on
        SELECT d.task_id, bool_or(o.status IN ('failed', 'cancelled')) AS broken, count(*) AS missing
        FROM w JOIN task_dependencies d ON d.task_id = w.id JOIN tasks o ON o.id = d.depends_on AND o.status <> 'completed'
        GROUP BY d.task_id
    ), blocks AS (  -- how many pending tasks depend on a queued one
        SELECT d.depends_on AS task_id, count(*) AS others
        FROM w JOIN task_dependencies d ON d.depends_on = w.id JOIN tasks o ON o.id = d.task_id AND o.status = 'pending'
        GROUP BY d.depends_on
    ), held AS (
        SELECT w.*, n.missing, o.paused AS org_paused, u.spent AS all_spent, u.taken,
            omoi_score(w.priority, extract(epoch FROM now() - w.created_at)::float8,
                extract(epoch FROM w.deadline_at - now())::float8, coalesce(b.others, 0), w.retry_count, w.max_retries) AS score,
            CASE WHEN n.broken THEN 'dependency_failed' WHEN n.missing > 0 THEN 'dependency'
                WHEN o.paused OR p.paused THEN 'paused'
                WHEN NOT (p.autonomous_execution_enabled OR w.user_requested OR w.forced) THEN 'held'
                WHEN coalesce(w.spent, u.spent) IS NOT NULL THEN 'budget' ELSE '' END AS block
        FROM w JOIN places u ON u.id = w.project_id JOIN projects p ON p.id = w.project_id JOIN organizations o ON o.id = org
        LEFT JOIN needs n ON n.task_id = w.id LEFT JOIN blocks b ON b.task_id = w.id
    ), tired AS (   -- a task that may try a credential is first; a task whose project has no free slot blocks no other
        SELECT h.*, s.until, s.probe, s.proven_at, s.next_at, a.asked, row_number() OVER (
            PARTITION BY h.credential, h.block = '' AND NOT h.taken ORDER BY a.asked DESC, h.score DESC, h.created_at, h.id) AS turn
        FROM held h LEFT JOIN credential_cooldowns s ON s.organization_id = org AND s.credential = h.credential
        LEFT JOIN LATERAL (SELECT NOT s.early AND EXISTS (
            SELECT FROM commands c WHERE c.task_id = h.id AND c.kind = 'retry' AND c.created_at > s.since) AS asked) a ON true
    ), told AS (
        SELECT t.*, CASE WHEN t.block <> '' OR t.until IS NULL THEN t.block
            WHEN t.turn = 1 AND NOT t.taken AND (t.proven_at IS NOT NULL AND t.next_at <= clock_timestamp()
                OR t.proven_at IS NULL AND t.probe IS NULL AND (t.until <= clock_timestamp() OR t.asked)) THEN ''
            ELSE 'provider_limit' END AS why FROM tired t
    )
    SELECT t.id, t.project_id, t.score, t.why, CASE t.why WHEN '' THEN NULL
        WHEN 'dependency_failed' THEN omoi_reason('dependency_failed')
        WHEN 'dependency' THEN omoi_reason('dependency', jsonb_build_object('tasks', t.missing))
        WHEN 'paused' THEN omoi_reason(CASE WHEN t.org_paused THEN 'organization_paused' ELSE 'project_paused' END)
        WHEN 'held' THEN omoi_reason('autonomous_execution_off')
        WHEN 'budget' THEN coalesce(t.spent, t.all_spent)
        ELSE CASE WHEN t.proven_at IS NOT NULL THEN omoi_reason('credential_available')
            WHEN t.probe IS NOT NULL THEN omoi_reason('credential_probe')
            ELSE omoi_reason('credential_cooldown', jsonb_build_object('until', date_trunc('second', t.until))) END END
    FROM told t;
$$;
-- +goose StatementEnd

-- omoi_update_scores writes the result of omoi_evaluate_queued to queued tasks and returns the projects of these tasks. A score above zero means that a task
-- lacks a slot only: the index tasks_ready holds such tasks, the most urgent first. Scores are whole hundredths, which age reaches after
-- three minutes: tasks that were evaluated at different times are comparable, the older task is first among equals, and few rows are
-- written for their age alone.
-- +goose StatementBegin
CREATE FUNCTION omoi_update_scores(org uuid, ids uuid[], on_credentials uuid[], names text[]) RETURNS uuid[] LANGUAGE plpgsql SET plan_cache_mode = force_generic_plan AS $$
DECLARE
    places uuid[];
BEGIN
    IF coalesce(cardinality(ids), 0) = 0 THEN
        RETURN NULL;
    END IF;
    WITH judged AS MATERIALIZED (SELECT * FROM omoi_evaluate_queued(org, ids, on_credentials, names)),
    wanted AS (
        SELECT j.id, CASE j.block WHEN '' THEN floor(j.score * 100 + 0.3) / 100 ELSE 0 END AS score,
            CASE j.block WHEN 'held' THEN '' ELSE j.block END AS block,
            CASE WHEN j.block <> '' THEN j.reason WHEN t.queue_reason IS NULL OR t.score = 0 THEN omoi_reason('slot')
                ELSE t.queue_reason END AS reason,
            CASE j.block WHEN '' THEN t.queue_position END AS position
        FROM judged j JOIN tasks t ON t.id = j.id
    ), free AS MATERIALIZED (
        SELECT t.id FROM tasks t JOIN wanted n ON n.id = t.id
        WHERE t.queued_at IS NOT NULL AND (t.blocked_reason <> n.block OR t.queue_reason IS DISTINCT FROM n.reason
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

-- omoi_assign_slots gives the free slots of an organization to ready tasks and returns the projects that received one.
--
-- The order: first the project with the smallest used share of its own limit, including the slots of this call; among equals the project
-- whose last admission is the oldest; within a project the score alone decides. A project without a slot that has a ready task therefore
-- receives one of the next P - 1 slots after a slot went to another project; P is the number of projects with ready tasks.
-- +goose StatementBegin
CREATE FUNCTION omoi_assign_slots(org uuid, on_credentials uuid[], names text[]) RETURNS uuid[] LANGUAGE plpgsql
SET enable_seqscan = off SET plan_cache_mode = force_generic_plan AS $$
DECLARE
    let_in uuid[];
    places uuid[];
BEGIN
    WITH room AS (
        SELECT CASE WHEN o.paused THEN 0 ELSE coalesce(o.max_slots, o.plan_slots) END AS most,
            (SELECT count(*) FROM slots s WHERE s.organization_id = org) AS used
        FROM organizations o WHERE o.id = org
    ), held AS (
        SELECT s.project_id, count(*) AS used FROM slots s WHERE s.organization_id = org GROUP BY s.project_id
    ), open AS (
        SELECT p.id, p.max_slots AS most, coalesce(h.used, 0) AS used, coalesce(u.granted_at, '-infinity') AS served,
            least(p.max_slots - coalesce(h.used, 0), r.most - r.used, CASE WHEN p.budget <> '{}' THEN omoi_budget_room(p.id) END) AS free
        FROM room r CROSS JOIN projects p LEFT JOIN held h ON h.project_id = p.id LEFT JOIN project_last_admission u ON u.project_id = p.id
        WHERE p.organization_id = org AND NOT p.paused
    ), ready AS (
        SELECT o.*, t.id AS task, t.score, t.created_at,
            row_number() OVER (PARTITION BY o.id ORDER BY t.score DESC, t.created_at, t.id) AS place
        FROM open o CROSS JOIN LATERAL (
            SELECT t.id, t.score, t.created_at FROM tasks t
            WHERE t.project_id = o.id AND t.queued_at IS NOT NULL AND t.score > 0 AND t.queue_reason IS NOT NULL
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
        UPDATE tasks t SET blocked_reason = '', queue_position = NULL, queue_reason = NULL, queued_at = NULL
        WHERE t.id = ANY (ARRAY(SELECT id FROM taken)) RETURNING t.id, t.organization_id, t.project_id
    ), opened AS (
        INSERT INTO slots (task_id, organization_id, project_id) SELECT id, organization_id, project_id FROM written
        ON CONFLICT (task_id) DO NOTHING
    ), told AS (
        INSERT INTO task_outbox (task_id, admit, due_at) SELECT id, true, now() FROM written
        ON CONFLICT (task_id) DO UPDATE SET admit = true, due_at = now()
    ), noted AS (
        INSERT INTO project_last_admission (project_id, granted_at) SELECT project_id, clock_timestamp() FROM written GROUP BY project_id
        ON CONFLICT (project_id) DO UPDATE SET granted_at = excluded.granted_at
    )
    SELECT array_agg(id), array_agg(project_id) INTO let_in, places FROM written;
    UPDATE credential_cooldowns s SET next_at = clock_timestamp() + s.stagger, probed_at = now(),
        early = s.early OR s.until > clock_timestamp(), probe = CASE WHEN s.proven_at IS NULL THEN c.id ELSE s.probe END
    FROM unnest(on_credentials, names) AS c(id, name) WHERE s.organization_id = org AND s.credential = c.name AND c.id = ANY (let_in);
    RETURN places;
END $$;
-- +goose StatementEnd

-- omoi_update_queue_positions writes queue position and reason of the first 20 ready tasks of each of the projects: with a long queue the release of a slot
-- does not write a thousand rows.
-- +goose StatementBegin
CREATE FUNCTION omoi_update_queue_positions(org uuid, projects_of uuid[]) RETURNS void LANGUAGE plpgsql
SET enable_seqscan = off SET plan_cache_mode = force_generic_plan AS $$
BEGIN
    WITH room AS (
        SELECT coalesce(o.max_slots, o.plan_slots) AS most, (SELECT count(*) FROM slots s WHERE s.organization_id = org) AS used
        FROM organizations o WHERE o.id = org
    ), queues AS (
        SELECT p.id, CASE WHEN h.used >= p.max_slots THEN omoi_reason('project_limit', jsonb_build_object('used', h.used, 'limit', p.max_slots))
            WHEN r.most = 0 THEN omoi_reason('organization_limit', jsonb_build_object('used', r.used, 'limit', 0))
            WHEN p.budget <> '{}' AND omoi_budget_room(p.id) = 0 THEN omoi_reason('budget_reserved')
            WHEN r.used >= r.most THEN omoi_reason('organization_limit', jsonb_build_object('used', r.used, 'limit', r.most))
            ELSE omoi_reason('slot') END AS reason
        FROM room r CROSS JOIN projects p
        CROSS JOIN LATERAL (SELECT count(*) AS used FROM slots s WHERE s.organization_id = org AND s.project_id = p.id) h
        WHERE p.id = ANY (projects_of)
    ), first AS (
        SELECT t.id, q.reason, row_number() OVER (PARTITION BY q.id ORDER BY t.score DESC, t.created_at, t.id) AS position
        FROM queues q CROSS JOIN LATERAL (
            SELECT t.id, t.score, t.created_at FROM tasks t
            WHERE t.project_id = q.id AND t.queued_at IS NOT NULL AND t.score > 0 AND t.queue_reason IS NOT NULL
            ORDER BY t.score DESC, t.created_at, t.id LIMIT 25) t
    ), wanted AS MATERIALIZED (
        SELECT f.id, CASE WHEN f.position <= 20 THEN f.position::integer END AS position, f.reason FROM first f
    ), free AS MATERIALIZED (
        SELECT t.id FROM tasks t JOIN wanted n ON n.id = t.id
        WHERE t.queued_at IS NOT NULL AND (t.queue_position IS DISTINCT FROM n.position OR t.queue_reason IS DISTINCT FROM n.reason)
        FOR NO KEY UPDATE OF t SKIP LOCKED
    )
    UPDATE tasks t SET queue_position = n.position, queue_reason = n.reason
    FROM wanted n WHERE t.id = n.id AND t.id IN (SELECT id FROM free);
END $$;
-- +goose StatementEnd

-- omoi_admit_all runs admission for all queued tasks of an organization and returns the number of admitted tasks: after a change of
-- limits, pauses or dependencies, each minute, and during a cooldown.
--
-- Admission gives free slots to queued tasks and writes for the others why they wait. Admission runs in every transaction that changes its
-- input and locks the organization, so that two transactions never give the same slot away. Admission skips a task whose row is
-- locked: the transaction that locks the row of a queued task runs admission afterwards.
--
-- While a cooldown runs the caller names the credential of each queued task, under the same lock: package credential chooses.
--
-- Plans are generic and never scan the whole table, whatever the statistics say of a queue that was empty a moment ago.
-- +goose StatementBegin
CREATE FUNCTION omoi_admit_all(org uuid, on_credentials uuid[] DEFAULT '{}', names text[] DEFAULT '{}', answered text[] DEFAULT '{}')
RETURNS integer LANGUAGE plpgsql AS $$
DECLARE
    places uuid[];
    given uuid[];
BEGIN
    PERFORM pg_advisory_xact_lock(hashtextextended('omoi_admission ' || org, 0));
    DELETE FROM admission_queue WHERE organization_id = org;
    PERFORM omoi_check_probes(org, answered) FROM credential_cooldowns WHERE organization_id = org LIMIT 1;
    places := omoi_update_scores(org, ARRAY(SELECT id FROM tasks WHERE organization_id = org AND queued_at IS NOT NULL), on_credentials, names);
    IF places IS NULL THEN
        RETURN 0;
    END IF;
    given := omoi_assign_slots(org, on_credentials, names);
    PERFORM omoi_update_queue_positions(org, places);
    RETURN coalesce(cardinality(given), 0);
END $$;
-- +goose StatementEnd

-- omoi_admit runs admission where a task came or went: for new tasks and for the front of each queue. While a cooldown runs it admits
-- nothing and returns false, with the organization locked: omoi_admit_all has to be called.
-- +goose StatementBegin
CREATE FUNCTION omoi_admit(org uuid, place uuid) RETURNS boolean LANGUAGE plpgsql
SET enable_seqscan = off SET plan_cache_mode = force_generic_plan AS $$
DECLARE
    places uuid[];
    given uuid[];
BEGIN
    PERFORM pg_advisory_xact_lock(hashtextextended('omoi_admission ' || org, 0));
    IF EXISTS (SELECT FROM credential_cooldowns WHERE organization_id = org) THEN
        RETURN false;
    END IF;
    WITH looks AS (DELETE FROM admission_queue WHERE organization_id = org RETURNING task_id),
    news AS (
        SELECT task_id AS id FROM looks
        UNION SELECT id FROM tasks WHERE organization_id = org AND queued_at IS NOT NULL AND queue_reason IS NULL
    )
    SELECT omoi_update_scores(org, array_agg(id), '{}', '{}') INTO places FROM news;
    given := omoi_assign_slots(org, '{}', '{}');
    PERFORM omoi_update_queue_positions(org, (SELECT array_agg(DISTINCT id) FROM unnest(places || given || place) AS id));
    RETURN true;
END $$;
-- +goose StatementEnd

-- ---------------------------------------------------------------------------------------------------------------------
-- Diagnoses

-- omoi_queue_diagnosis notes that a task has a failure that may need a diagnosis.
-- +goose StatementBegin
CREATE FUNCTION omoi_queue_diagnosis() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
    INSERT INTO diagnosis_queue (task_id) VALUES (CASE TG_TABLE_NAME WHEN 'tasks' THEN (to_jsonb(NEW) ->> 'id')::uuid ELSE (to_jsonb(NEW) ->> 'task_id')::uuid END)
    ON CONFLICT (task_id) DO UPDATE SET changed = diagnosis_queue.changed + 1, due_at = now();
    RETURN NULL;
END $$;
-- +goose StatementEnd
CREATE TRIGGER attempt_failed AFTER UPDATE OF outcome ON attempts FOR EACH ROW
    WHEN (OLD.outcome IS DISTINCT FROM NEW.outcome AND NEW.outcome = 'failed') EXECUTE FUNCTION omoi_queue_diagnosis();
CREATE TRIGGER task_failed AFTER UPDATE OF status ON tasks FOR EACH ROW
    WHEN (OLD.status IS DISTINCT FROM NEW.status AND NEW.status = 'failed') EXECUTE FUNCTION omoi_queue_diagnosis();

-- ---------------------------------------------------------------------------------------------------------------------
-- Event bus: package ingest makes the frames of the legacy API of recorded changes

-- omoi_bus_bound returns the number below which every transaction of this database has ended; transactions of other databases of the
-- server do not count. A transaction below xmax of the snapshot has its number before the processes are listed. If no process
-- has the number, the transaction is over, and the next statement sees its rows. Processes show the low half of a number only.
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

-- omoi_task_state returns what frames tell of a task before and after a change.
-- +goose StatementBegin
CREATE FUNCTION omoi_task_state(t tasks) RETURNS jsonb LANGUAGE sql IMMUTABLE AS $$
    SELECT jsonb_build_object('status', t.status, 'mode', t.mode, 'started', t.attempt_count > 0,
        'iteration', t.result -> 'validation_iteration', 'passed', t.result -> 'validation_passed');
$$;
-- +goose StatementEnd

-- omoi_record_task records a created or changed task for the bus. Tasks of a ticket change one after the other, so that each change sees
-- the others: package task makes the status of the ticket of them.
-- +goose StatementBegin
CREATE FUNCTION omoi_record_task() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
    PERFORM FROM tickets WHERE id = NEW.ticket_id FOR NO KEY UPDATE;
    INSERT INTO bus_events (organization_id, event_type, entity_type, entity_id, payload)
    SELECT NEW.organization_id, 'change', 'task', NEW.id::text, jsonb_build_object('task_id', NEW.id, 'ticket_id', k.id,
        'phase_id', NEW.phase_id, 'task_type', NEW.task_type, 'priority', NEW.priority, 'error_message', NEW.error_message,
        'has_result', NEW.result IS NOT NULL, 'sandbox_id', NEW.sandbox_id,
        'new', omoi_task_state(NEW), 'old', CASE TG_OP WHEN 'UPDATE' THEN omoi_task_state(OLD) END,
        'others', omoi_ticket_tasks(k.id, NEW.id), 'unblocked', CASE NEW.status WHEN 'completed' THEN ARRAY(SELECT d.task_id
            FROM task_dependencies d JOIN tasks t ON t.id = d.task_id WHERE d.depends_on = NEW.id AND t.status = 'pending' AND NOT EXISTS (
                SELECT FROM task_dependencies o JOIN tasks p ON p.id = o.depends_on WHERE o.task_id = t.id AND p.status <> 'completed')
            ORDER BY t.created_at, t.id) END,
        'ticket', jsonb_build_object('ticket_id', k.id, 'project_id', k.project_id, 'phase_id', k.phase_id, 'priority', k.priority))
    FROM tickets k WHERE k.id = NEW.ticket_id;
    RETURN NULL;
END $$;
-- +goose StatementEnd
CREATE TRIGGER task_created AFTER INSERT ON tasks FOR EACH ROW EXECUTE FUNCTION omoi_record_task();
CREATE TRIGGER task_changed AFTER UPDATE OF status, result, attempt_count ON tasks FOR EACH ROW
    WHEN ((OLD.status, OLD.attempt_count > 0, OLD.result -> 'validation_iteration')
        IS DISTINCT FROM (NEW.status, NEW.attempt_count > 0, NEW.result -> 'validation_iteration')) EXECUTE FUNCTION omoi_record_task();

-- omoi_record_ticket records a created ticket for the bus.
-- +goose StatementBegin
CREATE FUNCTION omoi_record_ticket() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
    INSERT INTO bus_events (organization_id, event_type, entity_type, entity_id, payload)
    SELECT p.organization_id, 'change', 'ticket', NEW.id::text, jsonb_build_object('ticket_id', NEW.id, 'project_id', NEW.project_id,
        'phase_id', NEW.phase_id, 'priority', NEW.priority) FROM projects p WHERE p.id = NEW.project_id;
    RETURN NULL;
END $$;
-- +goose StatementEnd
CREATE TRIGGER ticket_created AFTER INSERT ON tickets FOR EACH ROW EXECUTE FUNCTION omoi_record_ticket();

-- omoi_record_sandbox records a sandbox that runs or is deleted for the bus.
-- +goose StatementBegin
CREATE FUNCTION omoi_record_sandbox() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
    INSERT INTO bus_events (organization_id, event_type, entity_type, entity_id, payload)
    SELECT NEW.organization_id, 'change', 'sandbox', NEW.id, jsonb_build_object('sandbox_id', NEW.id, 'task_id', NEW.task_id,
        'provider', NEW.provider, 'state', NEW.state, 'ticket_id', t.ticket_id, 'phase_id', t.phase_id,
        'validates', EXISTS (SELECT FROM attempts a WHERE a.sandbox_id = NEW.id AND a.kind = 'validation'))
    FROM (SELECT) AS one LEFT JOIN tasks t ON t.id = NEW.task_id;
    RETURN NULL;
END $$;
-- +goose StatementEnd
CREATE TRIGGER sandbox_changed AFTER UPDATE OF state ON sandboxes FOR EACH ROW
    WHEN ((NEW.state = 'running' AND OLD.state IN ('intended', 'creating')) OR (NEW.state = 'gone' AND OLD.state <> 'gone'))
    EXECUTE FUNCTION omoi_record_sandbox();

-- omoi_record_attempt records the end of an attempt for the bus.
-- +goose StatementBegin
CREATE FUNCTION omoi_record_attempt() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
    INSERT INTO bus_events (organization_id, event_type, entity_type, entity_id, payload)
    SELECT s.organization_id, 'change', 'attempt', s.id, jsonb_build_object('sandbox_id', s.id, 'task_id', NEW.task_id, 'outcome', NEW.outcome,
        'reason', NEW.reason, 'stop_reason', NEW.stop_reason, 'state', s.state, 'ended_at', NEW.ended_at,
        'idle_since', coalesce(s.last_work_at, s.started_at, NEW.started_at),
        'transcript_saved', EXISTS (SELECT FROM transcripts t WHERE t.sandbox_id = s.id),
        'progress', (SELECT to_jsonb(p) - ARRAY['phase_data', 'criteria', 'completed'] FROM spec_progress p WHERE p.sandbox_id = s.id))
    FROM sandboxes s WHERE s.id = NEW.sandbox_id;
    RETURN NULL;
END $$;
-- +goose StatementEnd
CREATE TRIGGER attempt_ended AFTER UPDATE OF ended_at ON attempts FOR EACH ROW
    WHEN (OLD.ended_at IS NULL AND NEW.ended_at IS NOT NULL) EXECUTE FUNCTION omoi_record_attempt();

-- omoi_record_message records an accepted message for the bus, with the beginning of its text.
-- +goose StatementBegin
CREATE FUNCTION omoi_record_message() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
    INSERT INTO bus_events (organization_id, event_type, entity_type, entity_id, payload)
    SELECT s.organization_id, 'change', 'message', s.id, jsonb_build_object('message_id', NEW.id, 'content', left(NEW.content, 100), 'kind', NEW.kind)
    FROM sandboxes s WHERE s.id = NEW.sandbox_id;
    RETURN NULL;
END $$;
-- +goose StatementEnd
CREATE TRIGGER message_accepted AFTER INSERT ON messages FOR EACH ROW
    WHEN (NEW.state = 'accepted') EXECUTE FUNCTION omoi_record_message();
