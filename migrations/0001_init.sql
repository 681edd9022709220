-- +goose Up

CREATE TABLE installation (
    one         boolean PRIMARY KEY DEFAULT true CHECK (one),
    id          text NOT NULL,              -- label of every sandbox of ours
    namespace   text NOT NULL DEFAULT '',   -- Temporal namespace that carries our marker
    reaper_rests boolean NOT NULL DEFAULT false,    -- its schedule is paused: who starts a task wakes it
    created_at  timestamptz NOT NULL DEFAULT now()
);

CREATE TABLE organizations (
    id          uuid PRIMARY KEY,
    name        text NOT NULL UNIQUE,
    plan        text NOT NULL DEFAULT 'unlimited',
    max_slots   integer CHECK (max_slots >= 0),   -- null: no limit
    paused      boolean NOT NULL DEFAULT false,
    created_at  timestamptz NOT NULL DEFAULT now()
);

CREATE TABLE api_keys (
    id              uuid PRIMARY KEY,
    organization_id uuid NOT NULL REFERENCES organizations ON DELETE CASCADE,
    name            text NOT NULL,
    prefix          text NOT NULL,
    hash            bytea NOT NULL UNIQUE,   -- SHA-256 of the key
    scopes          text[] NOT NULL DEFAULT '{}',
    created_at      timestamptz NOT NULL DEFAULT now(),
    last_used_at    timestamptz,
    expires_at      timestamptz,
    revoked_at      timestamptz
);

CREATE TABLE projects (
    id              uuid PRIMARY KEY,
    organization_id uuid NOT NULL REFERENCES organizations ON DELETE CASCADE,
    name            text NOT NULL,
    description     text NOT NULL DEFAULT '',
    repo            text NOT NULL DEFAULT '',   -- owner/name, or an absolute path for local git; empty: none
    default_branch  text NOT NULL DEFAULT '',
    max_slots       integer NOT NULL DEFAULT 5 CHECK (max_slots >= 0),
    paused          boolean NOT NULL DEFAULT false,
    autonomous_execution_enabled boolean NOT NULL DEFAULT true,
    settings        jsonb NOT NULL DEFAULT '{}',
    created_at      timestamptz NOT NULL DEFAULT now(),
    updated_at      timestamptz NOT NULL DEFAULT now()
);
CREATE UNIQUE INDEX projects_repo ON projects (organization_id, repo) WHERE repo <> '';

CREATE TABLE tickets (
    id          uuid PRIMARY KEY,
    project_id  uuid NOT NULL REFERENCES projects ON DELETE CASCADE,
    title       text NOT NULL,
    description text NOT NULL DEFAULT '',
    ticket_type text NOT NULL DEFAULT 'feature',
    phase_id    text NOT NULL DEFAULT 'PHASE_IMPLEMENTATION',
    status      text NOT NULL DEFAULT 'backlog',
    priority    text NOT NULL DEFAULT 'MEDIUM',
    context     jsonb NOT NULL DEFAULT '{}',
    created_at  timestamptz NOT NULL DEFAULT now(),
    updated_at  timestamptz NOT NULL DEFAULT now()
);
CREATE INDEX tickets_project ON tickets (project_id, created_at);

CREATE TABLE tasks (
    id              uuid PRIMARY KEY,
    organization_id uuid NOT NULL REFERENCES organizations ON DELETE CASCADE,
    project_id      uuid NOT NULL REFERENCES projects ON DELETE CASCADE,
    ticket_id       uuid NOT NULL REFERENCES tickets ON DELETE CASCADE,
    title           text NOT NULL,
    description     text NOT NULL,
    task_type       text NOT NULL DEFAULT 'implementation',
    phase_id        text NOT NULL DEFAULT 'PHASE_IMPLEMENTATION',
    priority        text NOT NULL DEFAULT 'MEDIUM',
    mode            text NOT NULL DEFAULT 'implementation',
    agent           text NOT NULL,
    provider        text NOT NULL,              -- the wire's `sandbox`
    continuous      boolean NOT NULL DEFAULT false,
    person          boolean NOT NULL DEFAULT true,  -- a person asked for it; false: omoi made it itself
    max_retries     integer NOT NULL DEFAULT 3 CHECK (max_retries BETWEEN 0 AND 10),
    execution_config jsonb NOT NULL DEFAULT '{}',
    budget          jsonb NOT NULL DEFAULT '{}',
    deadline_at     timestamptz,

    -- written by the task's workflow only, fenced by first_run_id, run_id and ordinal
    status          text NOT NULL DEFAULT 'pending' CHECK (status IN ('pending', 'assigned', 'running',
                        'pending_validation', 'validating', 'needs_revision', 'completed', 'failed', 'cancelled')),
    blocked_reason  text NOT NULL DEFAULT '',
    sandbox_id      text,
    assigned_agent_id text,
    branch_name     text,
    base_commit     text,
    pull_request_url text,
    pull_request_number integer,
    result          jsonb,
    error_message   text,
    failure_class   text NOT NULL DEFAULT '',
    retry_count     integer NOT NULL DEFAULT 0,
    revision_count  integer NOT NULL DEFAULT 0,
    replacement_count integer NOT NULL DEFAULT 0,
    attempt_count   integer NOT NULL DEFAULT 0,
    first_run_id    text NOT NULL DEFAULT '',
    run_id          text NOT NULL DEFAULT '',
    ordinal         bigint NOT NULL DEFAULT 0,
    assigned_at     timestamptz,
    started_at      timestamptz,
    completed_at    timestamptz,

    -- written by the gate
    queued_at       timestamptz,                -- null: does not ask for a slot
    queue_position  integer,
    queue_reason    text NOT NULL DEFAULT '',
    score           double precision NOT NULL DEFAULT 0,

    created_at      timestamptz NOT NULL DEFAULT now(),
    updated_at      timestamptz NOT NULL DEFAULT now()
) WITH (fillfactor = 80);   -- room for updates of the columns that no index holds
CREATE INDEX tasks_list ON tasks (organization_id, created_at DESC, id DESC);
CREATE INDEX tasks_ticket ON tasks (ticket_id);
CREATE INDEX tasks_sandbox ON tasks (sandbox_id) WHERE sandbox_id IS NOT NULL;
CREATE INDEX tasks_queued ON tasks (organization_id, project_id, queued_at) WHERE queued_at IS NOT NULL;
CREATE INDEX tasks_open ON tasks (status) WHERE status NOT IN ('completed', 'failed', 'cancelled');

CREATE TABLE task_dependencies (
    task_id     uuid NOT NULL REFERENCES tasks ON DELETE CASCADE,
    depends_on  uuid NOT NULL REFERENCES tasks ON DELETE CASCADE,
    PRIMARY KEY (task_id, depends_on),
    CHECK (task_id <> depends_on)
);
CREATE INDEX task_dependencies_reverse ON task_dependencies (depends_on);

CREATE TABLE idempotency_keys (
    organization_id uuid NOT NULL REFERENCES organizations ON DELETE CASCADE,
    key         text NOT NULL,
    body_hash   bytea NOT NULL,
    task_id     uuid NOT NULL REFERENCES tasks ON DELETE CASCADE,
    created_at  timestamptz NOT NULL DEFAULT now(),
    PRIMARY KEY (organization_id, key)
);

-- One row a slot that is held. A slot belongs to the task, not to a run.
CREATE TABLE slots (
    task_id         uuid PRIMARY KEY REFERENCES tasks ON DELETE CASCADE,
    organization_id uuid NOT NULL,
    project_id      uuid NOT NULL,
    granted_at      timestamptz NOT NULL DEFAULT now()
);
CREATE INDEX slots_project ON slots (organization_id, project_id);

CREATE TABLE hosts (
    id          text PRIMARY KEY,
    providers   text[] NOT NULL,
    capacity    integer NOT NULL DEFAULT 0,     -- 0: no limit
    seen_at     timestamptz NOT NULL DEFAULT now(),
    lost_at     timestamptz                     -- declared lost by a person
);

-- The ledger: one row a sandbox, written as intent before it is made. Bare rows
-- (task_id null) hold events of sandboxes that we did not make.
CREATE TABLE sandboxes (
    id              text PRIMARY KEY CHECK (length(id) BETWEEN 1 AND 100),
    birth           date NOT NULL DEFAULT date_trunc('month', now()),  -- partition of its events
    organization_id uuid REFERENCES organizations ON DELETE CASCADE,
    task_id         uuid REFERENCES tasks ON DELETE SET NULL,
    attempt         integer,
    provider        text NOT NULL,              -- local, docker, daytona, external, bare
    provider_id     text,
    host_id         text,
    state           text NOT NULL DEFAULT 'intended'
                        CHECK (state IN ('intended', 'creating', 'running', 'deleting', 'gone', 'lost')),
    isolation       text[] NOT NULL DEFAULT '{}',
    labels          jsonb NOT NULL DEFAULT '{}',
    created_at      timestamptz NOT NULL DEFAULT now(),
    adopted_at      timestamptz,
    started_at      timestamptz,
    ended_at        timestamptz,                -- of the attempt: later events are late
    deleted_at      timestamptz,
    gone_at         timestamptz,
    verified_at     timestamptz,
    salvage         jsonb,                      -- {kind, ref, files, bytes, lost_since}
    cost_usd        double precision NOT NULL DEFAULT 0,
    input_tokens    bigint NOT NULL DEFAULT 0,
    output_tokens   bigint NOT NULL DEFAULT 0,

    -- written by intake, one update a sandbox and transaction
    head            bigint NOT NULL DEFAULT 0,  -- newest sequence; sequences are 1..head
    spool_id        text,                       -- the first numbered sender; others stand in senders
    spool_mark      bigint NOT NULL DEFAULT 0,
    last_event_at   timestamptz,
    last_beat_at    timestamptz,
    last_work_at    timestamptz,
    duplicates      bigint NOT NULL DEFAULT 0,  -- refused repeats
    events_due_at   timestamptz,                -- null: nothing to relay

    -- written by the relayer
    relayed         bigint NOT NULL DEFAULT 0,
    counters        jsonb NOT NULL DEFAULT '{}' -- per type, for 1..relayed
) WITH (fillfactor = 50);
CREATE INDEX sandboxes_task ON sandboxes (task_id, attempt);
CREATE INDEX sandboxes_unverified ON sandboxes (provider, state)
    WHERE verified_at IS NULL AND provider NOT IN ('external', 'bare');

CREATE TABLE attempts (
    task_id     uuid NOT NULL REFERENCES tasks ON DELETE CASCADE,
    number      integer NOT NULL,
    sandbox_id  text NOT NULL UNIQUE REFERENCES sandboxes,
    kind        text NOT NULL DEFAULT 'first',  -- first, retry, revision, replacement, resumed
    run_id      text NOT NULL,
    ordinal     bigint NOT NULL,
    started_at  timestamptz NOT NULL DEFAULT now(),
    assigned_at timestamptz,
    ended_at    timestamptz,
    outcome     text NOT NULL DEFAULT '',
    failure_class text NOT NULL DEFAULT '',
    reason      text NOT NULL DEFAULT '',
    stop_reason text NOT NULL DEFAULT '',
    feedback_id uuid,
    head_commit text,
    PRIMARY KEY (task_id, number),
    UNIQUE (task_id, run_id, ordinal)
);

CREATE TABLE senders (
    sandbox_id  text NOT NULL REFERENCES sandboxes ON DELETE CASCADE,
    spool_id    text NOT NULL,
    mark        bigint NOT NULL DEFAULT 0,      -- its numbers 1..mark are stored
    PRIMARY KEY (sandbox_id, spool_id)
);

CREATE TABLE sandbox_events (
    sandbox_id  text NOT NULL,
    sequence    bigint NOT NULL,
    birth       date NOT NULL,
    event_type  text NOT NULL,
    source      text NOT NULL DEFAULT 'agent',
    event_data  jsonb NOT NULL DEFAULT '{}',
    late        boolean NOT NULL DEFAULT false, -- came after the attempt's end
    created_at  timestamptz NOT NULL DEFAULT now(),
    PRIMARY KEY (birth, sandbox_id, sequence)
) PARTITION BY RANGE (birth);
CREATE TABLE sandbox_events_default PARTITION OF sandbox_events DEFAULT;

CREATE TABLE event_keys (
    sandbox_id  text NOT NULL REFERENCES sandboxes ON DELETE CASCADE,
    key         text NOT NULL,
    sequence    bigint NOT NULL,
    PRIMARY KEY (sandbox_id, key)
);

CREATE TABLE messages (
    id          uuid PRIMARY KEY,
    sandbox_id  text NOT NULL REFERENCES sandboxes ON DELETE CASCADE,
    ordinal     bigint GENERATED ALWAYS AS IDENTITY,
    kind        text NOT NULL CHECK (kind IN ('user_message', 'interrupt', 'guardian_nudge', 'system')),
    content     text NOT NULL,
    sender_kind text NOT NULL DEFAULT 'person' CHECK (sender_kind IN ('person', 'guardian', 'system', 'agent')),
    sender_id   text,
    state       text NOT NULL DEFAULT 'accepted'
                    CHECK (state IN ('accepted', 'delivered', 'taken_up', 'answered', 'expired', 'refused')),
    accepted_at timestamptz NOT NULL DEFAULT now(),
    delivered_at timestamptz,
    lease_until timestamptz,
    deliveries  integer NOT NULL DEFAULT 0,
    settled_at  timestamptz,
    reason      text NOT NULL DEFAULT ''
);
CREATE INDEX messages_open ON messages (sandbox_id, ordinal) WHERE state IN ('accepted', 'delivered');

CREATE TABLE commands (
    id          uuid PRIMARY KEY,
    task_id     uuid NOT NULL REFERENCES tasks ON DELETE CASCADE,
    ordinal     bigint GENERATED ALWAYS AS IDENTITY,
    kind        text NOT NULL CHECK (kind IN ('start', 'retry', 'cancel', 'fail', 'complete', 'verdict')),
    args        jsonb NOT NULL DEFAULT '{}',
    sender      text NOT NULL DEFAULT '',       -- who asked: a key's name, a sandbox, the temporal CLI
    state       text NOT NULL DEFAULT 'accepted'
                    CHECK (state IN ('accepted', 'carried_out', 'too_late', 'refused')),
    reason      text NOT NULL DEFAULT '',
    claimed_by  text,                           -- first run id of the chain that carries out a start
    created_at  timestamptz NOT NULL DEFAULT now(),
    sent_at     timestamptz,
    settled_at  timestamptz
);
CREATE INDEX commands_task ON commands (task_id, ordinal);
CREATE INDEX commands_unsent ON commands (task_id, ordinal) WHERE sent_at IS NULL AND state = 'accepted';
CREATE INDEX commands_unclaimed ON commands (sent_at)
    WHERE state = 'accepted' AND claimed_by IS NULL AND kind IN ('start', 'retry');

-- One row a task: what a relayer has to send, and who is sending.
CREATE TABLE relay (
    task_id     uuid PRIMARY KEY REFERENCES tasks ON DELETE CASCADE,
    sandbox_id  text,                           -- of the current attempt: only its events are relayed
    due_at      timestamptz,                    -- null: nothing to send
    admit       boolean NOT NULL DEFAULT false, -- a granted slot is to be signalled
    lease_until timestamptz,
    leased_by   text NOT NULL DEFAULT '',
    failures    integer NOT NULL DEFAULT 0,
    bucket      double precision NOT NULL DEFAULT 3,
    bucket_at   timestamptz NOT NULL DEFAULT now(),
    digests     integer NOT NULL DEFAULT 0,     -- sent since window_at
    window_at   timestamptz NOT NULL DEFAULT now(),
    error       text NOT NULL DEFAULT ''
);
CREATE INDEX relay_due ON relay (due_at) WHERE due_at IS NOT NULL;
CREATE INDEX relay_sandbox ON relay (sandbox_id) WHERE sandbox_id IS NOT NULL;
CREATE INDEX relay_leased ON relay (lease_until) WHERE lease_until IS NOT NULL;
CREATE INDEX sandboxes_due ON sandboxes (events_due_at) WHERE events_due_at IS NOT NULL;

-- What WebSocket readers are told besides the events of sandboxes, oldest first by (xid, id):
-- a row counts once no older transaction is open, so that none is passed over.
CREATE TABLE bus_events (
    id              bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
    xid             bigint NOT NULL DEFAULT pg_current_xact_id()::text::bigint,
    organization_id uuid,                       -- null: of a sandbox that nobody made
    event_type      text NOT NULL,
    entity_type     text NOT NULL,
    entity_id       text NOT NULL,
    payload         jsonb NOT NULL DEFAULT '{}',
    created_at      timestamptz NOT NULL DEFAULT now()
);
CREATE INDEX bus_events_order ON bus_events (xid, id);

CREATE TABLE outages (
    part        text NOT NULL,                  -- intake, relay
    since       timestamptz NOT NULL,
    until       timestamptz NOT NULL,
    PRIMARY KEY (part, since)
);
CREATE TABLE pulses (
    part        text PRIMARY KEY,               -- intake, relay
    at          timestamptz NOT NULL DEFAULT now()
);

CREATE TABLE transcripts (
    run_key     text NOT NULL,                  -- one per agent run id
    task_id     uuid REFERENCES tasks ON DELETE CASCADE,
    sandbox_id  text NOT NULL,
    metadata    jsonb NOT NULL DEFAULT '{}',
    content     bytea NOT NULL,
    updated_at  timestamptz NOT NULL DEFAULT now(),
    PRIMARY KEY (run_key)
);

-- Long texts that must not travel in histories: errors, feedback, salvage patches.
CREATE TABLE texts (
    id          uuid PRIMARY KEY,
    task_id     uuid REFERENCES tasks ON DELETE CASCADE,
    kind        text NOT NULL,                  -- error, feedback, patch
    content     text NOT NULL,
    created_at  timestamptz NOT NULL DEFAULT now()
);

-- Makes the partition of the month of day if it is missing. Where the default partition
-- holds rows of that month already they stay there: nothing is lost, and nothing is moved.
-- +goose StatementBegin
CREATE FUNCTION omoi_partition(day date) RETURNS void LANGUAGE plpgsql AS $$
DECLARE
    first date := date_trunc('month', day);
    name  text := 'sandbox_events_' || to_char(day, 'YYYYMM');
BEGIN
    IF to_regclass(name) IS NOT NULL OR EXISTS (SELECT FROM sandbox_events_default
            WHERE birth >= first AND birth < first + interval '1 month') THEN
        RETURN;
    END IF;
    EXECUTE format('CREATE TABLE %I PARTITION OF sandbox_events FOR VALUES FROM (%L) TO (%L)',
        name, first, (first + interval '1 month')::date);
EXCEPTION WHEN duplicate_table THEN
    NULL;  -- another process was faster
END $$;
-- +goose StatementEnd

-- The partitions of this month and the next.
-- +goose StatementBegin
CREATE FUNCTION omoi_partitions() RETURNS void LANGUAGE sql AS $$
    SELECT omoi_partition(current_date), omoi_partition((current_date + interval '1 month')::date);
$$;
-- +goose StatementEnd

-- How urgent a task is: 0.45 priority, 0.20 age, 0.15 deadline, 0.15 tasks behind it, 0.05
-- retries left; a quarter more with a deadline in sight; 0.6 at least after two hours. Ages in
-- seconds; slack is the time to the deadline, null without one. One expression, so that the
-- gate's plan takes it in.
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

-- The gate: gives free slots of an organization to tasks that wait, and tells the others why
-- they wait. It runs in every transaction that changes what it looks at, and locks the
-- organization, so that two never give the same slot away.
--
-- Who is first: the project with the smallest share of its own limit in use, counting what
-- this run gives; among equals the higher score. So a project with many tasks cannot starve
-- another, and within a project the score alone decides.
--
-- A task whose row is locked is passed over: whoever holds a waiting task's row runs the gate
-- afterwards. Positions are kept for the first 50 of a project, so that a long queue does not
-- make a release write a thousand rows.
-- +goose StatementBegin
CREATE FUNCTION omoi_grant(org uuid) RETURNS integer LANGUAGE plpgsql AS $$
DECLARE
    granted integer;
BEGIN
    PERFORM pg_advisory_xact_lock(hashtextextended('omoi_grant ' || org, 0));
    IF NOT EXISTS (SELECT FROM tasks WHERE organization_id = org AND queued_at IS NOT NULL) THEN
        RETURN 0;
    END IF;
    WITH held AS (
        SELECT project_id, count(*) AS used FROM slots WHERE organization_id = org GROUP BY project_id
    ), needs AS (   -- what waiting tasks depend on
        SELECT d.task_id, bool_or(o.status IN ('failed', 'cancelled')) AS broken, count(*) AS missing
        FROM tasks w
        JOIN task_dependencies d ON d.task_id = w.id
        JOIN tasks o ON o.id = d.depends_on AND o.status <> 'completed'
        WHERE w.organization_id = org AND w.queued_at IS NOT NULL
        GROUP BY d.task_id
    ), blocks AS (  -- how many pending tasks depend on a waiting one
        SELECT d.depends_on AS task_id, count(*) AS others
        FROM tasks w
        JOIN task_dependencies d ON d.depends_on = w.id
        JOIN tasks o ON o.id = d.task_id AND o.status = 'pending'
        WHERE w.organization_id = org AND w.queued_at IS NOT NULL
        GROUP BY d.depends_on
    ), waiting AS (
        SELECT t.id, t.project_id, t.created_at, p.max_slots AS room, coalesce(h.used, 0) AS used,
            omoi_score(t.priority, extract(epoch FROM now() - t.created_at)::float8,
                extract(epoch FROM t.deadline_at - now())::float8, coalesce(b.others, 0), t.retry_count, t.max_retries) AS score,
            coalesce(n.missing, 0) AS missing,
            CASE WHEN n.broken THEN 'dependency_failed' WHEN n.missing > 0 THEN 'dependency'
                WHEN o.paused OR p.paused THEN 'paused'
                WHEN NOT (p.autonomous_execution_enabled OR t.person
                    OR coalesce(t.execution_config -> 'force_execute' = 'true', false)) THEN 'held' ELSE '' END AS block,
            o.paused AS org_paused, t.blocked_reason, t.queue_position, t.queue_reason
        FROM tasks t
        JOIN projects p ON p.id = t.project_id
        JOIN organizations o ON o.id = t.organization_id
        LEFT JOIN held h ON h.project_id = t.project_id
        LEFT JOIN needs n ON n.task_id = t.id
        LEFT JOIN blocks b ON b.task_id = t.id
        WHERE t.organization_id = org AND t.queued_at IS NOT NULL
    ), placed AS (
        SELECT *, row_number() OVER (PARTITION BY project_id, block = '' ORDER BY score DESC, created_at, id) AS place
        FROM waiting
    ), turns AS (
        SELECT *, row_number() OVER (ORDER BY (used + place - 1) / greatest(room, 1)::float8,
            score DESC, created_at, id) AS turn
        FROM placed WHERE block = '' AND used + place <= room
    ), limits AS (
        SELECT max_slots AS room, (SELECT coalesce(sum(used), 0) FROM held) AS used FROM organizations WHERE id = org
    ), chosen AS (
        SELECT turns.id FROM turns, limits WHERE limits.room IS NULL OR limits.used + turns.turn <= limits.room
    ), given AS (   -- how many of each project are chosen, all in all and alone
        SELECT project_id, count(*) AS given FROM turns JOIN chosen USING (id) GROUP BY project_id
    ), wanted AS (
        SELECT w.id, w.score, w.blocked_reason, w.queue_position, w.queue_reason, c.id IS NOT NULL AS let_in,
            CASE w.block WHEN 'held' THEN '' ELSE w.block END AS block,
            CASE WHEN w.block = '' AND c.id IS NULL AND w.place - coalesce(g.given, 0) <= 50
                THEN w.place - coalesce(g.given, 0) END AS position,
            CASE WHEN c.id IS NOT NULL THEN ''
                WHEN w.block = 'dependency_failed' THEN 'a task that it depends on failed or was cancelled'
                WHEN w.block = 'dependency' AND w.missing = 1 THEN 'waiting for 1 task that it depends on'
                WHEN w.block = 'dependency' THEN format('waiting for %s tasks that it depends on', w.missing)
                WHEN w.block = 'paused' AND w.org_paused THEN 'waiting: the organization is paused'
                WHEN w.block = 'paused' THEN 'waiting: the project is paused'
                WHEN w.block = 'held' THEN 'waiting: autonomous execution is off in this project'
                WHEN w.room = 0 THEN 'waiting: the project takes no tasks now (limit 0)'
                WHEN w.used + coalesce(g.given, 0) >= w.room
                    THEN format('waiting for a slot: %s of %s used in this project', w.used + coalesce(g.given, 0), w.room)
                WHEN l.room = 0 THEN 'waiting: the organization takes no tasks now (limit 0)'
                ELSE format('waiting for a slot: %s of %s used in this organization',
                    l.used + (SELECT count(*) FROM chosen), l.room) END AS reason
        FROM placed w CROSS JOIN limits l
        LEFT JOIN chosen c ON c.id = w.id
        LEFT JOIN given g ON g.project_id = w.project_id
    ), changed AS MATERIALIZED (
        SELECT * FROM wanted w WHERE w.let_in OR w.blocked_reason <> w.block OR w.queue_reason <> w.reason
            OR w.queue_position IS DISTINCT FROM w.position
    ), taken AS MATERIALIZED (
        SELECT t.id FROM tasks t WHERE t.id = ANY (ARRAY(SELECT id FROM changed)) AND t.queued_at IS NOT NULL
        FOR NO KEY UPDATE SKIP LOCKED
    ), written AS (
        UPDATE tasks t SET score = n.score, blocked_reason = n.block, queue_position = n.position,
            queue_reason = n.reason, queued_at = CASE WHEN n.let_in THEN NULL ELSE t.queued_at END
        FROM changed n WHERE t.id = n.id AND t.id = ANY (ARRAY(SELECT id FROM taken))
        RETURNING t.id, t.organization_id, t.project_id, n.let_in
    ), opened AS (
        INSERT INTO slots (task_id, organization_id, project_id)
        SELECT id, organization_id, project_id FROM written WHERE let_in
        ON CONFLICT (task_id) DO NOTHING
    ), told AS (
        INSERT INTO relay (task_id, admit, due_at) SELECT id, true, now() FROM written WHERE let_in
        ON CONFLICT (task_id) DO UPDATE SET admit = true, due_at = now()
    )
    SELECT count(*) FILTER (WHERE let_in) INTO granted FROM written;
    RETURN granted;
END $$;
-- +goose StatementEnd

-- Wakes the relays of all processes when something is due to be sent, after the commit.
-- Events do not come this way: intake wakes the relay of its own process.
-- +goose StatementBegin
CREATE FUNCTION omoi_relay_due() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
    PERFORM pg_notify('omoi_relay', '');
    RETURN NULL;
END $$;
-- +goose StatementEnd
CREATE TRIGGER relay_due AFTER INSERT OR UPDATE OF due_at ON relay FOR EACH ROW
    WHEN (NEW.due_at IS NOT NULL AND NEW.due_at <= now()) EXECUTE FUNCTION omoi_relay_due();

-- Writes down what happened to a task under the names of the replaced system.
-- +goose StatementBegin
CREATE FUNCTION omoi_task_bus() RETURNS trigger LANGUAGE plpgsql AS $$
DECLARE
    was text := CASE WHEN TG_OP = 'UPDATE' THEN OLD.status END;
    body jsonb := jsonb_build_object('task_id', NEW.id, 'ticket_id', NEW.ticket_id, 'phase_id', NEW.phase_id,
        'task_type', NEW.task_type, 'status', NEW.status, 'priority', NEW.priority, 'old_status', was,
        'error_message', NEW.error_message, 'has_result', NEW.result IS NOT NULL);
    own text := CASE WHEN was IS NULL THEN 'TASK_CREATED' ELSE CASE NEW.status WHEN 'assigned' THEN 'TASK_ASSIGNED'
        WHEN 'running' THEN 'TASK_STARTED' WHEN 'completed' THEN 'TASK_COMPLETED' WHEN 'failed' THEN 'TASK_FAILED'
        WHEN 'cancelled' THEN 'TASK_CANCELLED' END END;
BEGIN
    INSERT INTO bus_events (organization_id, event_type, entity_type, entity_id, payload)
    SELECT NEW.organization_id, name, 'task', NEW.id::text, body
    FROM unnest(ARRAY[own, CASE WHEN was IS NOT NULL THEN 'TASK_STATUS_CHANGED' END]) AS name WHERE name IS NOT NULL;
    -- each new task takes away more than it will write
    IF was IS NULL AND (SELECT created_at FROM bus_events ORDER BY id LIMIT 1) < now() - interval '1 day' THEN
        DELETE FROM bus_events WHERE id = ANY (ARRAY(
            SELECT id FROM (SELECT id, created_at FROM bus_events ORDER BY id LIMIT 50 FOR UPDATE SKIP LOCKED) AS oldest
            WHERE created_at < now() - interval '1 day'));
    END IF;
    RETURN NULL;
END $$;
-- +goose StatementEnd
CREATE TRIGGER task_made AFTER INSERT ON tasks FOR EACH ROW EXECUTE FUNCTION omoi_task_bus();
CREATE TRIGGER task_moved AFTER UPDATE OF status ON tasks FOR EACH ROW
    WHEN (OLD.status IS DISTINCT FROM NEW.status) EXECUTE FUNCTION omoi_task_bus();

-- +goose StatementBegin
CREATE FUNCTION omoi_message_bus() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
    INSERT INTO bus_events (organization_id, event_type, entity_type, entity_id, payload)
    SELECT s.organization_id, 'SANDBOX_MESSAGE_QUEUED', 'sandbox', NEW.sandbox_id,
        jsonb_build_object('message_id', NEW.id, 'content', left(NEW.content, 100), 'message_type', NEW.kind,
            'priority', CASE NEW.kind WHEN 'interrupt' THEN 'high' ELSE 'normal' END)
    FROM sandboxes s WHERE s.id = NEW.sandbox_id;
    RETURN NULL;
END $$;
-- +goose StatementEnd
CREATE TRIGGER message_queued AFTER INSERT ON messages FOR EACH ROW
    WHEN (NEW.state = 'accepted') EXECUTE FUNCTION omoi_message_bus();

-- +goose Down
DROP TRIGGER relay_due ON relay;
DROP TRIGGER task_made ON tasks;
DROP TRIGGER task_moved ON tasks;
DROP TRIGGER message_queued ON messages;
DROP FUNCTION omoi_task_bus, omoi_message_bus;
DROP FUNCTION omoi_relay_due, omoi_grant, omoi_score, omoi_partitions, omoi_partition;
DROP TABLE bus_events, texts, transcripts, pulses, outages, relay, commands, messages, event_keys, sandbox_events, senders,
    attempts, sandboxes, hosts, slots, idempotency_keys, task_dependencies, tasks, tickets, projects, api_keys,
    organizations, installation;
