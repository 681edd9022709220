-- +goose Up

-- Tables, indexes, constraints and views. Functions, and the triggers that call them, are in 0002_functions.sql.
-- The comments of a table and of its columns follow the table, so that the catalog of the database holds them.

-- ---------------------------------------------------------------------------------------------------------------------
-- Installation and hosts

CREATE TABLE installation (
    one             boolean PRIMARY KEY DEFAULT true CHECK (one),
    id              text NOT NULL,
    reaper_rests    boolean NOT NULL DEFAULT false,
    created_at      timestamptz NOT NULL DEFAULT now(),
    token_key_id    text NOT NULL DEFAULT '',
    token_key_print text NOT NULL DEFAULT ''
);
COMMENT ON TABLE installation IS 'The one row of this database: the installation.';
COMMENT ON COLUMN installation.one IS 'Always true: the primary key allows one row.';
COMMENT ON COLUMN installation.id IS 'Label of every sandbox of this installation.';
COMMENT ON COLUMN installation.reaper_rests IS 'The reaper''s schedule is paused: the relay resumes the schedule when a task starts.';
COMMENT ON COLUMN installation.token_key_id IS 'ID of the key that signs sandbox tokens. A process with another key refuses to start.';
COMMENT ON COLUMN installation.token_key_print IS 'Fingerprint of that key, never the key. Empty: no process has signed a token.';

CREATE TABLE hosts (
    id          text PRIMARY KEY,
    providers   text[] NOT NULL,
    capacity    integer NOT NULL DEFAULT 0,
    seen_at     timestamptz NOT NULL DEFAULT now(),
    lost_at     timestamptz,
    name        text NOT NULL DEFAULT '',
    version     text NOT NULL DEFAULT '',
    agents      text[] NOT NULL DEFAULT '{}'
);
COMMENT ON TABLE hosts IS 'One machine that runs a worker. Its worker writes the row with each host heartbeat.';
COMMENT ON COLUMN hosts.id IS 'May be random; name is the readable one.';
COMMENT ON COLUMN hosts.providers IS 'Sandbox providers that the host offers.';
COMMENT ON COLUMN hosts.capacity IS 'Maximum number of sandboxes. 0: no limit.';
COMMENT ON COLUMN hosts.seen_at IS 'Time of the last host heartbeat.';
COMMENT ON COLUMN hosts.lost_at IS 'When an operator marked the host as lost. Null: not lost; a later host heartbeat clears the mark.';
COMMENT ON COLUMN hosts.name IS 'Host name of the machine. May be empty.';
COMMENT ON COLUMN hosts.version IS 'Version of the worker that sent the last host heartbeat.';
COMMENT ON COLUMN hosts.agents IS 'Agent runtimes whose program the local sandboxes of the host can run, as its worker reports.';

CREATE TABLE component_heartbeats (
    part        text PRIMARY KEY,
    at          timestamptz NOT NULL DEFAULT now()
);
COMMENT ON TABLE component_heartbeats IS 'The last heartbeat of a component of omoi.';
COMMENT ON COLUMN component_heartbeats.part IS 'intake, relay, guardian or conductor.';
COMMENT ON COLUMN component_heartbeats.at IS 'Time of the heartbeat; of guardian and conductor: the end of the last cycle.';

CREATE TABLE outages (
    part        text NOT NULL,
    since       timestamptz NOT NULL,
    until       timestamptz NOT NULL,
    PRIMARY KEY (part, since)
);
COMMENT ON TABLE outages IS 'One period in which a component sent no heartbeat, or in which the sandboxes of this machine were frozen.';
COMMENT ON COLUMN outages.part IS 'intake, relay, or frozen: omoi dev was stopped, and the sandboxes of its machine with it. Frozen time counts '
    'neither against a budget nor as lifetime of a sandbox.';
COMMENT ON COLUMN outages.until IS 'Infinity while sandboxes are frozen.';

CREATE TABLE alerts (
    source text PRIMARY KEY,
    text   text NOT NULL,
    since  timestamptz NOT NULL DEFAULT now(),
    at     timestamptz NOT NULL DEFAULT now()
);
COMMENT ON TABLE alerts IS 'One alert: a condition that the reaper found and that needs an operator. The reaper deletes the row when the condition ends.';
COMMENT ON COLUMN alerts.source IS 'unverified, or a provider and its host.';
COMMENT ON COLUMN alerts.at IS 'Time of the last reaper pass that found the condition. Readers ignore alerts older than an hour.';

-- ---------------------------------------------------------------------------------------------------------------------
-- Organizations, users and projects

CREATE TABLE organizations (
    id          uuid PRIMARY KEY,
    name        text NOT NULL UNIQUE,
    plan        text NOT NULL DEFAULT 'unlimited'
                    CONSTRAINT organizations_plan CHECK (plan IN ('unlimited', 'free', 'pro', 'lifetime', 'team', 'enterprise')),
    plan_slots  integer CHECK (plan_slots >= 0),
    max_slots   integer CHECK (max_slots >= 0),
    paused      boolean NOT NULL DEFAULT false,
    created_at  timestamptz NOT NULL DEFAULT now()
);
COMMENT ON TABLE organizations IS 'One tenant: owner of projects, users, API keys and credentials.';
COMMENT ON COLUMN organizations.plan_slots IS 'Concurrency limit of the plan (task.PlanSlots), written with the plan. Null: no limit.';
COMMENT ON COLUMN organizations.max_slots IS 'Concurrency limit that replaces that of the plan. Null: none. 0: admits no task.';
COMMENT ON COLUMN organizations.paused IS 'Admits no task.';

CREATE TABLE users (
    id              uuid PRIMARY KEY DEFAULT gen_random_uuid(),
    organization_id uuid NOT NULL REFERENCES organizations ON DELETE CASCADE,
    name            text NOT NULL,
    created_at      timestamptz NOT NULL DEFAULT now(),
    UNIQUE (organization_id, name)
);
COMMENT ON TABLE users IS 'One user, or a machine that has credentials of its own. Each organization has the user owner.';

CREATE TABLE api_keys (
    id              uuid PRIMARY KEY,
    organization_id uuid NOT NULL REFERENCES organizations ON DELETE CASCADE,
    name            text NOT NULL,
    prefix          text NOT NULL,
    hash            bytea NOT NULL UNIQUE,
    scopes          text[] NOT NULL DEFAULT '{}',
    created_at      timestamptz NOT NULL DEFAULT now(),
    last_used_at    timestamptz,
    expires_at      timestamptz,
    revoked_at      timestamptz,
    user_id         uuid NOT NULL REFERENCES users ON DELETE CASCADE
);
COMMENT ON TABLE api_keys IS 'One API key of a user, without its secret.';
COMMENT ON COLUMN api_keys.prefix IS 'First characters of the key, to tell keys apart. given: the key comes from outside, and none of its characters are stored.';
COMMENT ON COLUMN api_keys.hash IS 'SHA-256 of the key.';
COMMENT ON COLUMN api_keys.last_used_at IS 'Exact to a minute. Null: never used.';
COMMENT ON COLUMN api_keys.expires_at IS 'Null: never.';
COMMENT ON COLUMN api_keys.revoked_at IS 'Null: not revoked.';
COMMENT ON COLUMN api_keys.user_id IS 'User for whom the key acts.';

CREATE TABLE projects (
    id              uuid PRIMARY KEY,
    organization_id uuid NOT NULL REFERENCES organizations ON DELETE CASCADE,
    name            text NOT NULL,
    description     text NOT NULL DEFAULT '',
    repo            text NOT NULL DEFAULT '',
    default_branch  text NOT NULL DEFAULT '',
    max_slots       integer NOT NULL DEFAULT 5 CHECK (max_slots >= 0),
    paused          boolean NOT NULL DEFAULT false,
    autonomous_execution_enabled boolean NOT NULL DEFAULT true,
    settings        jsonb NOT NULL DEFAULT '{}',
    created_at      timestamptz NOT NULL DEFAULT now(),
    updated_at      timestamptz NOT NULL DEFAULT now(),
    agents_may_message boolean NOT NULL DEFAULT false,
    setup           text NOT NULL DEFAULT '',
    setup_timeout_s integer NOT NULL DEFAULT 0 CHECK (setup_timeout_s BETWEEN 0 AND 14400),
    on_feedback     text NOT NULL DEFAULT 'off' CHECK (on_feedback IN ('off', 'message', 'revise')),
    auto_steering   boolean,
    budget          jsonb NOT NULL DEFAULT '{}',
    deleted_at      timestamptz
);
CREATE UNIQUE INDEX projects_name ON projects (organization_id, name) WHERE deleted_at IS NULL;
CREATE UNIQUE INDEX projects_repo ON projects (organization_id, repo) WHERE repo <> '' AND deleted_at IS NULL;
CREATE INDEX projects_repo_any ON projects (lower(repo)) WHERE repo <> '';
CREATE INDEX projects_budget ON projects (id) WHERE budget <> '{}';
COMMENT ON TABLE projects IS 'One repository with its settings and limits.';
COMMENT ON COLUMN projects.repo IS 'owner/name, or an absolute path for local Git. Empty: none.';
COMMENT ON COLUMN projects.default_branch IS 'Empty: ask the repository.';
COMMENT ON COLUMN projects.max_slots IS 'Concurrency limit. 0: admits no task.';
COMMENT ON COLUMN projects.paused IS 'Admits no task.';
COMMENT ON COLUMN projects.autonomous_execution_enabled IS 'False: admits only tasks that a user requested, and tasks with force_execute.';
COMMENT ON COLUMN projects.settings IS 'Object of further settings, for example validate and model_prices.';
COMMENT ON COLUMN projects.agents_may_message IS 'Agents of the project may send messages to each other.';
COMMENT ON COLUMN projects.setup IS 'Shell command that runs in each sandbox before the agent. Empty: none.';
COMMENT ON COLUMN projects.setup_timeout_s IS 'Limit of the setup command in seconds. 0: the default.';
COMMENT ON COLUMN projects.on_feedback IS 'What reviews and failed checks of pull requests lead to: nothing, a message to the agent, or also a follow-up task.';
COMMENT ON COLUMN projects.auto_steering IS 'The guardian executes interventions. Null: as the installation is configured.';
COMMENT ON COLUMN projects.budget IS 'Limits for all tasks of the project together: tokens, usd, wall_clock_s, sandbox_s. A missing key or 0: no limit.';
COMMENT ON COLUMN projects.deleted_at IS 'Null: not deleted. A deleted project keeps its row, since tasks, deletion receipts and costs refer to the row.';

-- ---------------------------------------------------------------------------------------------------------------------
-- Tickets and tasks

CREATE TABLE tickets (
    id          uuid PRIMARY KEY,
    project_id  uuid NOT NULL REFERENCES projects ON DELETE CASCADE,
    title       text NOT NULL,
    description text NOT NULL DEFAULT '',
    ticket_type text NOT NULL DEFAULT 'feature',
    phase_id    text NOT NULL DEFAULT 'PHASE_IMPLEMENTATION',
    priority    text NOT NULL DEFAULT 'MEDIUM',
    context     jsonb NOT NULL DEFAULT '{}',
    created_at  timestamptz NOT NULL DEFAULT now(),
    updated_at  timestamptz NOT NULL DEFAULT now()
);
CREATE INDEX tickets_project ON tickets (project_id, created_at);
COMMENT ON TABLE tickets IS 'One work item of a user: one or more tasks, of which its status follows (task.TicketStatus).';
COMMENT ON COLUMN tickets.context IS 'Object that the creator of the ticket passed.';

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
    provider        text NOT NULL,
    continuous      boolean NOT NULL DEFAULT false,
    user_requested          boolean NOT NULL DEFAULT true,
    max_retries     integer NOT NULL DEFAULT 3 CHECK (max_retries BETWEEN 0 AND 10),
    execution_config jsonb NOT NULL DEFAULT '{}',
    budget          jsonb NOT NULL DEFAULT '{}',
    deadline_at     timestamptz,

    -- The task's workflow alone writes these, fenced by first_run_id, run_id and ordinal.
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
    end_reason      jsonb,
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

    -- The queue: API and workflow set queued_at; admission clears queued_at and writes the other columns.
    queued_at       timestamptz,
    queue_position  integer,
    queue_reason    jsonb,
    score           double precision NOT NULL DEFAULT 0,

    created_at      timestamptz NOT NULL DEFAULT now(),
    updated_at      timestamptz NOT NULL DEFAULT now(),
    waiting         jsonb,
    waiting_at      timestamptz,
    user_id         uuid REFERENCES users ON DELETE SET NULL,
    validation_rounds integer NOT NULL DEFAULT 0 CHECK (validation_rounds BETWEEN 0 AND 10)
) WITH (fillfactor = 80);   -- leaves room for updates of columns that no index holds
CREATE INDEX tasks_list ON tasks (organization_id, created_at DESC, id DESC);
CREATE INDEX tasks_project ON tasks (project_id);
CREATE INDEX tasks_ticket ON tasks (ticket_id);
CREATE INDEX tasks_user ON tasks (user_id) WHERE user_id IS NOT NULL;
CREATE INDEX tasks_sandbox ON tasks (sandbox_id) WHERE sandbox_id IS NOT NULL;
CREATE INDEX tasks_pull ON tasks (project_id, pull_request_number) WHERE pull_request_number IS NOT NULL;
CREATE INDEX tasks_branch ON tasks (project_id, branch_name) WHERE branch_name IS NOT NULL;
CREATE INDEX tasks_open ON tasks (status) WHERE status NOT IN ('completed', 'failed', 'cancelled');
CREATE INDEX tasks_queued ON tasks (organization_id, project_id, queued_at) WHERE queued_at IS NOT NULL;
-- Queued tasks that admission has not evaluated.
CREATE INDEX tasks_fresh ON tasks (organization_id) WHERE queued_at IS NOT NULL AND queue_reason IS NULL;
-- Queued tasks that lack a slot only, the most urgent first.
CREATE INDEX tasks_ready ON tasks (project_id, score DESC, created_at, id)
    WHERE queued_at IS NOT NULL AND score > 0 AND queue_reason IS NOT NULL;
-- Empty where no budget is set: the search for one costs nothing.
CREATE INDEX tasks_budget ON tasks (id) WHERE budget <> '{}' AND status NOT IN ('completed', 'failed', 'cancelled');
COMMENT ON TABLE tasks IS 'One durable unit of agent work: one workflow, one branch, one pull request.';
COMMENT ON COLUMN tasks.agent IS 'Agent runtime.';
COMMENT ON COLUMN tasks.provider IS 'Sandbox provider; the field sandbox of the API.';
COMMENT ON COLUMN tasks.continuous IS 'Continuous mode: the agent repeats its work until the checks pass.';
COMMENT ON COLUMN tasks.user_requested IS 'A user requested the task. False: omoi created the task.';
COMMENT ON COLUMN tasks.execution_config IS 'Object of options of the creator, for example credentials, env, validator and force_execute. '
    'Values of env are encrypted.';
COMMENT ON COLUMN tasks.budget IS 'Limits of the task: tokens, usd, wall_clock_s, sandbox_s. A missing key or 0: no limit.';
COMMENT ON COLUMN tasks.deadline_at IS 'Raises the score as the time comes near. Null: none.';
COMMENT ON COLUMN tasks.blocked_reason IS 'Why a pending task is suspended or blocked. Empty: neither. The workflow writes the reason of a suspended task, '
    'admission that of a queued one.';
COMMENT ON COLUMN tasks.sandbox_id IS 'Sandbox of the running attempt; of an ended task the last one. Null: none.';
COMMENT ON COLUMN tasks.assigned_agent_id IS 'ID that the agent reported at its start. Null: none.';
COMMENT ON COLUMN tasks.base_commit IS 'Commit from which the branch starts.';
COMMENT ON COLUMN tasks.error_message IS 'Sentence for the public. Null: the task has not failed.';
COMMENT ON COLUMN tasks.failure_class IS 'Empty: none.';
COMMENT ON COLUMN tasks.end_reason IS 'Why the task ended or is suspended: a code with its numbers (task.Reason). '
    'Null: no code is known, error_message says it alone.';
COMMENT ON COLUMN tasks.retry_count IS 'Retries that count against max_retries.';
COMMENT ON COLUMN tasks.replacement_count IS 'Attempts that the guardian replaced.';
COMMENT ON COLUMN tasks.attempt_count IS 'Number of the newest attempt. 0: none.';
COMMENT ON COLUMN tasks.first_run_id IS 'First run of the chain of runs that owns the task; continue-as-new and reset keep the ID. Empty: no run has loaded the task.';
COMMENT ON COLUMN tasks.run_id IS 'Run that may write the row. Empty: none.';
COMMENT ON COLUMN tasks.ordinal IS 'Number of the last write of that run. A write with a lower number is outdated.';
COMMENT ON COLUMN tasks.completed_at IS 'When the task ended, completed or not. Null: not ended.';
COMMENT ON COLUMN tasks.queued_at IS 'Since when the task waits for a slot. Null: the task does not wait for a slot.';
COMMENT ON COLUMN tasks.queue_position IS 'From 1, for the first 20 of a project. Null: further back, or not ready.';
COMMENT ON COLUMN tasks.queue_reason IS 'Why the task waits in the queue: a code with its numbers (task.Reason). '
    'Null: the task is not queued, or admission has not evaluated it.';
COMMENT ON COLUMN tasks.score IS 'Urgency in whole hundredths, see omoi_score. Above 0: the task lacks a slot only.';
COMMENT ON COLUMN tasks.waiting IS 'What a task outside the queue waits for: a code with its numbers (task.Reason). Null: nothing. Activities write the reason.';
COMMENT ON COLUMN tasks.user_id IS 'User who requested the task. Null: unknown.';
COMMENT ON COLUMN tasks.validation_rounds IS 'Maximum number of validation rounds. 0: no validation.';

CREATE TABLE task_dependencies (
    task_id     uuid NOT NULL REFERENCES tasks ON DELETE CASCADE,
    depends_on  uuid NOT NULL REFERENCES tasks ON DELETE CASCADE,
    PRIMARY KEY (task_id, depends_on),
    CHECK (task_id <> depends_on)
);
CREATE INDEX task_dependencies_reverse ON task_dependencies (depends_on);
COMMENT ON TABLE task_dependencies IS 'One dependency: task_id starts after depends_on is completed.';

CREATE TABLE idempotency_keys (
    organization_id uuid NOT NULL REFERENCES organizations ON DELETE CASCADE,
    key         text NOT NULL,
    body_hash   bytea NOT NULL,
    task_id     uuid NOT NULL REFERENCES tasks ON DELETE CASCADE,
    created_at  timestamptz NOT NULL DEFAULT now(),
    PRIMARY KEY (organization_id, key)
);
COMMENT ON TABLE idempotency_keys IS 'One key with which a client created a task: a second request with the key returns that task.';
COMMENT ON COLUMN idempotency_keys.body_hash IS 'Hash of the request. The same key with another request is rejected.';

CREATE TABLE stored_texts (
    id          uuid PRIMARY KEY,
    task_id     uuid REFERENCES tasks ON DELETE CASCADE,
    kind        text NOT NULL,
    content     text NOT NULL,
    created_at  timestamptz NOT NULL DEFAULT now()
);
COMMENT ON TABLE stored_texts IS 'One long text that stays out of workflow histories; payloads hold its ID.';
COMMENT ON COLUMN stored_texts.kind IS 'error, feedback, patch, patch_base64 or bundle_base64.';

-- ---------------------------------------------------------------------------------------------------------------------
-- Sandboxes

-- A CHECK of this table would run in each update of ingest, whatever the update sets. The trigger sandbox_state guards
-- the state; the API and the creators of IDs guard the length of an ID.
CREATE TABLE sandboxes (
    id              text PRIMARY KEY,
    partition_month           date NOT NULL DEFAULT date_trunc('month', now()),
    organization_id uuid REFERENCES organizations ON DELETE CASCADE,
    task_id         uuid REFERENCES tasks ON DELETE SET NULL,
    attempt         integer,
    provider        text NOT NULL,
    host_bound      boolean NOT NULL DEFAULT false,
    machine         boolean NOT NULL DEFAULT false,
    provider_id     text,
    host_id         text,
    state           text NOT NULL DEFAULT 'intended',
    isolation       text[] NOT NULL DEFAULT '{}',
    labels          jsonb NOT NULL DEFAULT '{}',
    created_at      timestamptz NOT NULL DEFAULT now(),
    adopted_at      timestamptz,
    started_at      timestamptz,
    ended_at        timestamptz,
    deleted_at      timestamptz,
    gone_at         timestamptz,
    verified_at     timestamptz,
    salvage         jsonb,
    cost_usd        double precision NOT NULL DEFAULT 0,
    input_tokens    bigint NOT NULL DEFAULT 0,
    output_tokens   bigint NOT NULL DEFAULT 0,

    -- Ingest writes these, in one update per sandbox and transaction.
    last_sequence            bigint NOT NULL DEFAULT 0,
    spool_id        text,
    spool_watermark      bigint NOT NULL DEFAULT 0,
    last_event_at   timestamptz,
    last_work_at    timestamptz,
    duplicates      bigint NOT NULL DEFAULT 0,
    events_due_at   timestamptz,

    -- The relay writes these.
    relayed         bigint NOT NULL DEFAULT 0,
    counters        jsonb NOT NULL DEFAULT '{}',

    made_at          timestamptz,
    price_per_second double precision,
    price_currency   text,
    transport        text NOT NULL DEFAULT '',
    read_at          timestamptz,
    unsent           boolean NOT NULL DEFAULT false,
    metered          bigint NOT NULL DEFAULT 0,
    cost_unknown     boolean NOT NULL DEFAULT false
) WITH (fillfactor = 50);
CREATE INDEX sandboxes_task ON sandboxes (task_id, attempt);
CREATE INDEX sandboxes_unverified ON sandboxes (provider, state)
    WHERE verified_at IS NULL AND machine;
-- Ingest writes no column of this index, so that its updates stay cheap.
CREATE INDEX sandboxes_bare ON sandboxes (id) WHERE provider = 'bare' AND state = 'running';
CREATE INDEX sandboxes_verified ON sandboxes (verified_at) WHERE machine AND NOT host_bound;
CREATE INDEX sandboxes_due ON sandboxes (events_due_at) WHERE events_due_at IS NOT NULL;
COMMENT ON TABLE sandboxes IS 'The sandbox ledger: one sandbox that was ever requested, written before its creation. The first event of an unknown '
    'sandbox ID adds an unmanaged sandbox.';
COMMENT ON COLUMN sandboxes.partition_month IS 'First day of the month of the row: partition of its events.';
COMMENT ON COLUMN sandboxes.organization_id IS 'Null: unmanaged.';
COMMENT ON COLUMN sandboxes.task_id IS 'Null: unmanaged, or of an unknown task.';
COMMENT ON COLUMN sandboxes.attempt IS 'Number of the attempt in its task. Null: unmanaged.';
COMMENT ON COLUMN sandboxes.provider IS 'Sandbox provider, or bare: unmanaged.';
COMMENT ON COLUMN sandboxes.host_bound IS 'The sandbox lives on one host; written with the intent, as machine.';
COMMENT ON COLUMN sandboxes.machine IS 'omoi creates, deletes and verifies the sandbox. False: its agent runs elsewhere.';
COMMENT ON COLUMN sandboxes.provider_id IS 'ID at the provider. Null: the provider has given none.';
COMMENT ON COLUMN sandboxes.host_id IS 'Host of a local or Docker sandbox. Null: bound to no host.';
COMMENT ON COLUMN sandboxes.state IS 'intended, creating, running, deleting, gone or lost.';
COMMENT ON COLUMN sandboxes.isolation IS 'Active isolation features, as the provider reports.';
COMMENT ON COLUMN sandboxes.labels IS 'Labels that the provider was given.';
COMMENT ON COLUMN sandboxes.created_at IS 'When the sandbox was requested.';
COMMENT ON COLUMN sandboxes.adopted_at IS 'When an existing sandbox was adopted; after deleted_at: when a sandbox whose deletion was verified reappeared.';
COMMENT ON COLUMN sandboxes.started_at IS 'When the agent started. Null: not started.';
COMMENT ON COLUMN sandboxes.ended_at IS 'End of the attempt. Later events are late. Null: the attempt runs.';
COMMENT ON COLUMN sandboxes.deleted_at IS 'First request to delete.';
COMMENT ON COLUMN sandboxes.gone_at IS 'First absence check that found no sandbox. Null: may exist.';
COMMENT ON COLUMN sandboxes.verified_at IS 'Second absence check: deletion verified. Null: not verified. Stays null for external and bare.';
COMMENT ON COLUMN sandboxes.salvage IS 'How uncommitted changes were saved: kind (none, ref, patch, lost), ref, files, bytes, lost_since, head, notes. '
    'Null: not yet known.';
COMMENT ON COLUMN sandboxes.cost_usd IS 'Cost of models in USD, as the agent reports. 0: none, or unknown. event.Metered sums up cost and tokens.';
COMMENT ON COLUMN sandboxes.last_sequence IS 'Last sequence: events have the numbers 1 to last_sequence. 0: no event.';
COMMENT ON COLUMN sandboxes.spool_id IS 'First spool that sent numbered events; further ones are in event_spools. Null: none.';
COMMENT ON COLUMN sandboxes.spool_watermark IS 'Watermark of that spool.';
COMMENT ON COLUMN sandboxes.last_event_at IS 'Time of the newest event, and so of the last heartbeat: every event counts as one. Null: no event.';
COMMENT ON COLUMN sandboxes.last_work_at IS 'Time of the newest event that counts as work. Null: none.';
COMMENT ON COLUMN sandboxes.duplicates IS 'Number of rejected duplicates.';
COMMENT ON COLUMN sandboxes.events_due_at IS 'When the relay has to send a digest. Null: nothing to send.';
COMMENT ON COLUMN sandboxes.relayed IS 'Last sequence that a digest covers.';
COMMENT ON COLUMN sandboxes.counters IS 'Number of events 1 to relayed by type.';
COMMENT ON COLUMN sandboxes.made_at IS 'When the provider created the sandbox, as the provider says, else when the provider answered first. '
    'Null: the sandbox was never seen.';
COMMENT ON COLUMN sandboxes.price_per_second IS 'Configured price at that time, so that a later price changes no receipt. Null: no price.';
COMMENT ON COLUMN sandboxes.transport IS 'push or pull. Empty: creation has not begun.';
COMMENT ON COLUMN sandboxes.read_at IS 'When a worker had read the spool to its end. Null: not read to its end, or push.';
COMMENT ON COLUMN sandboxes.unsent IS 'The spool held unsent events when the sandbox ended; these events are lost.';
COMMENT ON COLUMN sandboxes.metered IS 'Last sequence that cost and tokens cover.';
COMMENT ON COLUMN sandboxes.cost_unknown IS 'The agent used a model without a known price: cost_usd holds nothing for that model.';

CREATE TABLE agent_shutdowns (
    sandbox_id  text PRIMARY KEY REFERENCES sandboxes ON DELETE CASCADE,
    left_at     timestamptz NOT NULL
);
COMMENT ON TABLE agent_shutdowns IS 'One sandbox whose agent has shut down. Ingest deletes the row when the agent starts again.';

CREATE TABLE log_requests (
    sandbox_id   text PRIMARY KEY REFERENCES sandboxes ON DELETE CASCADE,
    wanted_until timestamptz,
    looked_at    timestamptz,
    kept_at      timestamptz
);
CREATE INDEX log_requests_wanted ON log_requests (wanted_until) WHERE kept_at IS NULL;
COMMENT ON TABLE log_requests IS 'One sandbox log that a reader requested, or that is stored for good.';
COMMENT ON COLUMN log_requests.wanted_until IS 'A reader follows the log until then; a worker reads the log meanwhile. Null: no reader.';
COMMENT ON COLUMN log_requests.looked_at IS 'When a worker had last read to the end. Null: never.';
COMMENT ON COLUMN log_requests.kept_at IS 'When the final end was stored: the log grows no more. Null: not final.';

CREATE TABLE log_parts (
    sandbox_id text NOT NULL REFERENCES log_requests ON DELETE CASCADE,
    first      bigint NOT NULL,
    last       bigint NOT NULL,
    content    bytea NOT NULL,
    PRIMARY KEY (sandbox_id, first)
);
COMMENT ON TABLE log_parts IS 'One part of a sandbox log.';
COMMENT ON COLUMN log_parts.first IS 'Bytes of the log before this part.';
COMMENT ON COLUMN log_parts.last IS 'Bytes of the log up to the end of this part.';
COMMENT ON COLUMN log_parts.content IS 'Without secrets, so that its length differs from last - first.';

CREATE TABLE access_sessions (
    id              uuid PRIMARY KEY,
    organization_id uuid REFERENCES organizations ON DELETE CASCADE,
    sandbox_id      text NOT NULL,
    visitor         text NOT NULL,
    kind            text NOT NULL CHECK (kind IN ('shell', 'exec', 'copy_in', 'copy_out')),
    what            text NOT NULL,
    began_at        timestamptz NOT NULL DEFAULT now(),
    ended_at        timestamptz,
    outcome         text NOT NULL DEFAULT ''
);
CREATE INDEX access_sessions_sandbox ON access_sessions (sandbox_id, began_at);
COMMENT ON TABLE access_sessions IS 'One access session: a shell, exec or copy of an operator in a sandbox.';
COMMENT ON COLUMN access_sessions.sandbox_id IS 'Stays when the row of the sandbox is deleted.';
COMMENT ON COLUMN access_sessions.visitor IS 'Name of the user.';
COMMENT ON COLUMN access_sessions.what IS 'Command or path, without secrets.';
COMMENT ON COLUMN access_sessions.ended_at IS 'Null: open, or the end was never reported.';
COMMENT ON COLUMN access_sessions.outcome IS 'Empty: none reported.';

-- ---------------------------------------------------------------------------------------------------------------------
-- Attempts and validation

CREATE TABLE attempts (
    task_id     uuid NOT NULL REFERENCES tasks ON DELETE CASCADE,
    number      integer NOT NULL,
    sandbox_id  text NOT NULL UNIQUE REFERENCES sandboxes,
    kind        text NOT NULL DEFAULT 'first',
    run_id      text NOT NULL,
    ordinal     bigint NOT NULL,
    started_at  timestamptz NOT NULL DEFAULT now(),
    assigned_at timestamptz,
    ended_at    timestamptz,
    outcome     text NOT NULL DEFAULT '',
    failure_class text NOT NULL DEFAULT '',
    end_reason  jsonb,
    reason      text NOT NULL DEFAULT '',
    stop_reason text NOT NULL DEFAULT '',
    feedback_id uuid,
    head_commit text,
    credential  text NOT NULL DEFAULT '',
    PRIMARY KEY (task_id, number),
    UNIQUE (task_id, run_id, ordinal)
);
CREATE INDEX attempts_open ON attempts (task_id) WHERE ended_at IS NULL;
COMMENT ON TABLE attempts IS 'One execution of a task in one sandbox, written by activities of the task''s workflow.';
COMMENT ON COLUMN attempts.number IS 'From 1.';
COMMENT ON COLUMN attempts.kind IS 'first, retry, revision, replacement, resumed or validation.';
COMMENT ON COLUMN attempts.run_id IS 'Run that began the attempt.';
COMMENT ON COLUMN attempts.ordinal IS 'Number of that write in the run: the activity may run twice and adds one row.';
COMMENT ON COLUMN attempts.assigned_at IS 'When the agent was assigned. Null: not yet.';
COMMENT ON COLUMN attempts.ended_at IS 'Null: running.';
COMMENT ON COLUMN attempts.outcome IS 'completed, failed, cancelled, replaced, revised, rejected (by this validator) or suspended: suspended. Empty: running.';
COMMENT ON COLUMN attempts.failure_class IS 'Empty: none.';
COMMENT ON COLUMN attempts.end_reason IS 'Why the attempt ended: a code with its numbers (task.Reason). '
    'Null: no code is known, reason says it alone.';
COMMENT ON COLUMN attempts.reason IS 'Sentence for the public.';
COMMENT ON COLUMN attempts.stop_reason IS 'Why the agent stopped, as the agent reports; stuck_running or idle_timeout where omoi ended an idle agent.';
COMMENT ON COLUMN attempts.feedback_id IS 'Text on which the attempt works, in stored_texts. Null: none.';
COMMENT ON COLUMN attempts.head_commit IS 'Newest commit of the attempt that omoi collected. Null: none.';
COMMENT ON COLUMN attempts.credential IS 'Name of the credential that the agent uses (credential.Name). Empty: unknown.';

CREATE TABLE validation_reviews (
    task_id         uuid NOT NULL REFERENCES tasks ON DELETE CASCADE,
    round           integer NOT NULL,
    sandbox_id      text NOT NULL DEFAULT '',
    attempt         integer NOT NULL DEFAULT 0,
    given_by        text NOT NULL DEFAULT '',
    passed          boolean NOT NULL,
    feedback        text NOT NULL DEFAULT '',
    recommendations jsonb NOT NULL DEFAULT '[]',
    created_at      timestamptz NOT NULL DEFAULT now(),
    PRIMARY KEY (task_id, round)
);
COMMENT ON TABLE validation_reviews IS 'One accepted verdict of a validation: the end of a validation round.';
COMMENT ON COLUMN validation_reviews.round IS 'From 1.';
COMMENT ON COLUMN validation_reviews.sandbox_id IS 'Sandbox of the validator. Empty: the verdict came from outside.';
COMMENT ON COLUMN validation_reviews.attempt IS 'Attempt of the validator. 0: none.';
COMMENT ON COLUMN validation_reviews.given_by IS 'Sender of the verdict, as in commands.';

-- ---------------------------------------------------------------------------------------------------------------------
-- Events

CREATE TABLE event_spools (
    sandbox_id  text NOT NULL REFERENCES sandboxes ON DELETE CASCADE,
    spool_id    text NOT NULL,
    watermark   bigint NOT NULL DEFAULT 0,
    PRIMARY KEY (sandbox_id, spool_id)
);
COMMENT ON TABLE event_spools IS 'One spool of a sandbox besides sandboxes.spool_id.';
COMMENT ON COLUMN event_spools.watermark IS 'The numbers 1 to watermark of the spool are stored.';

CREATE TABLE sandbox_events (
    sandbox_id  text NOT NULL,
    sequence    bigint NOT NULL,
    partition_month       date NOT NULL,
    event_type  text NOT NULL,
    source      text NOT NULL DEFAULT 'agent',
    event_data  jsonb NOT NULL DEFAULT '{}',
    late        boolean NOT NULL DEFAULT false,
    created_at  timestamptz NOT NULL DEFAULT now(),
    -- NOT NULL and near the end: rows without large fields do not grow, and their INSERT does not name the column.
    cut         boolean NOT NULL DEFAULT false,
    key         text,
    id          text GENERATED ALWAYS AS (sandbox_id || ':' || sequence::text) STORED,
    PRIMARY KEY (partition_month, sandbox_id, sequence)
) PARTITION BY RANGE (partition_month);
CREATE UNIQUE INDEX sandbox_events_key ON sandbox_events (partition_month, sandbox_id, key) WHERE key IS NOT NULL;
CREATE TABLE sandbox_events_default PARTITION OF sandbox_events DEFAULT;
COMMENT ON TABLE sandbox_events IS 'One event of a sandbox. Partitions hold the sandboxes of one month each.';
COMMENT ON COLUMN sandbox_events.sequence IS 'Number of the event in its sandbox, 1..n without gaps.';
COMMENT ON COLUMN sandbox_events.partition_month IS 'As in sandboxes: the partition.';
COMMENT ON COLUMN sandbox_events.late IS 'Received after the end of the attempt.';
COMMENT ON COLUMN sandbox_events.created_at IS 'When the event was stored, by the clock of the database.';
COMMENT ON COLUMN sandbox_events.cut IS 'event_fields holds large fields of the event.';
COMMENT ON COLUMN sandbox_events.key IS 'ID by which the sender of a single event deduplicates. Null: none.';
COMMENT ON COLUMN sandbox_events.id IS 'Event ID of the API, as ingest.EventID builds the text; legacy SQL selects the column.';

CREATE TABLE event_fields (
    sandbox_id  text NOT NULL,
    sequence    bigint NOT NULL,
    partition_month       date NOT NULL,
    names       text[] NOT NULL,
    fields      jsonb NOT NULL,
    PRIMARY KEY (partition_month, sandbox_id, sequence)
) PARTITION BY RANGE (partition_month);
CREATE TABLE event_fields_default PARTITION OF event_fields DEFAULT;
COMMENT ON TABLE event_fields IS 'The large fields of one event: written with the event, read with the full event, partitioned alike.';
COMMENT ON COLUMN event_fields.names IS 'Names of the fields that the row of the event lacks. *: all of them.';
COMMENT ON COLUMN event_fields.fields IS 'A transcript is named, and stored in transcripts. Retention empties the object.';

CREATE TABLE event_counts (
    sandbox_id  text PRIMARY KEY REFERENCES sandboxes ON DELETE CASCADE,
    up_to_sequence        bigint NOT NULL,
    types       jsonb NOT NULL
);
COMMENT ON TABLE event_counts IS 'Counts of the first events of a sandbox by type. A reader writes the row when many events have come since; '
    'what a row says of 1 to up_to_sequence never changes.';
COMMENT ON COLUMN event_counts.up_to_sequence IS 'The counts cover the numbers 1 to up_to_sequence.';
COMMENT ON COLUMN event_counts.types IS 'Type -> {events, first, last}: their number, and the sequences of the first and the last.';

CREATE TABLE spec_progress (
    sandbox_id      text PRIMARY KEY REFERENCES sandboxes ON DELETE CASCADE,
    spec_id         text NOT NULL DEFAULT '',
    status          text NOT NULL DEFAULT 'executing' CHECK (status IN ('executing', 'completed', 'failed')),
    current_phase   text NOT NULL DEFAULT '',
    progress        integer NOT NULL DEFAULT 0,
    phase_data      jsonb NOT NULL DEFAULT '{}',
    started         jsonb NOT NULL DEFAULT '{}',
    completed       jsonb NOT NULL DEFAULT '{}',
    last_completed  text,
    last_completed_at timestamptz,
    execution_completed_at timestamptz,
    execution_failed_at timestamptz,
    criteria        jsonb NOT NULL DEFAULT '{}',
    updated_at      timestamptz NOT NULL DEFAULT now()
);
COMMENT ON TABLE spec_progress IS 'Progress of the spec execution in a sandbox, by its spec.* events. Ingest writes the row with these events, under the lock of the '
    'sandbox row.';
COMMENT ON COLUMN spec_progress.current_phase IS 'Empty: none has started.';
COMMENT ON COLUMN spec_progress.progress IS 'Percent, 0 to 100.';
COMMENT ON COLUMN spec_progress.phase_data IS 'Phase -> output.';
COMMENT ON COLUMN spec_progress.started IS 'Phase -> first start.';
COMMENT ON COLUMN spec_progress.completed IS 'Phase -> first completion.';
COMMENT ON COLUMN spec_progress.last_completed IS 'Newest completed phase. Null: none.';
COMMENT ON COLUMN spec_progress.execution_completed_at IS 'When the agent reported the completion of the whole execution. Null: not reported.';
COMMENT ON COLUMN spec_progress.execution_failed_at IS 'When the agent reported the failure of the whole execution. Null: not reported.';
COMMENT ON COLUMN spec_progress.criteria IS 'Completed criterion -> {requirement_id, at}.';

CREATE TABLE transcripts (
    run_key     text NOT NULL,
    task_id     uuid REFERENCES tasks ON DELETE CASCADE,
    sandbox_id  text NOT NULL,
    metadata    jsonb NOT NULL DEFAULT '{}',
    content     bytea NOT NULL,
    updated_at  timestamptz NOT NULL DEFAULT now(),
    session_id  text NOT NULL DEFAULT '',
    received    bigint NOT NULL DEFAULT 0,
    sum         bigint NOT NULL DEFAULT 0,
    cut         bigint NOT NULL DEFAULT 0,
    created_at  timestamptz NOT NULL DEFAULT now(),
    PRIMARY KEY (run_key)
);
CREATE INDEX transcripts_of_sandbox ON transcripts (sandbox_id, updated_at);
CREATE INDEX transcripts_of_task ON transcripts (task_id, updated_at);
COMMENT ON TABLE transcripts IS 'The session file of an agent in one attempt. omoi-agent sends the file in pieces; a piece must continue the text that received and sum '
    'describe.';
COMMENT ON COLUMN transcripts.run_key IS 'The run_id that omoi-agent sends; of a transcript inside an event: session- and a derived ID.';
COMMENT ON COLUMN transcripts.metadata IS 'What the event with the transcript said about the session.';
COMMENT ON COLUMN transcripts.content IS 'Empty after retention removed the text.';
COMMENT ON COLUMN transcripts.session_id IS 'Session that a later attempt resumes. Empty: the run key.';
COMMENT ON COLUMN transcripts.received IS 'Bytes received, including bytes that were cut.';
COMMENT ON COLUMN transcripts.sum IS 'CRC-32C of the received bytes.';
COMMENT ON COLUMN transcripts.cut IS 'Number of the oldest bytes that are no longer stored.';

-- ---------------------------------------------------------------------------------------------------------------------
-- Messages

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
    reason      text NOT NULL DEFAULT '',
    taker       text NOT NULL DEFAULT '',
    injected    boolean NOT NULL DEFAULT false,
    answered_at timestamptz,
    key_scope       text,
    idempotency_key text,
    body_hash       bytea,
    leased_by       text NOT NULL DEFAULT ''
);
CREATE INDEX messages_open ON messages (sandbox_id, ordinal) WHERE state IN ('accepted', 'delivered');
-- Acknowledged messages without an answer: each agent.waiting event reads them.
CREATE INDEX messages_unanswered ON messages (sandbox_id) WHERE state = 'taken_up' AND injected;
CREATE INDEX messages_newest ON messages (sandbox_id, ordinal DESC);
CREATE UNIQUE INDEX messages_key ON messages (key_scope, idempotency_key) WHERE idempotency_key IS NOT NULL;
COMMENT ON TABLE messages IS 'One text sent to a running agent.';
COMMENT ON COLUMN messages.ordinal IS 'Order of delivery; interrupts are first.';
COMMENT ON COLUMN messages.sender_id IS 'Null: unknown.';
COMMENT ON COLUMN messages.state IS 'Delivery status. taken_up: acknowledged. refused: rejected.';
COMMENT ON COLUMN messages.delivered_at IS 'Last delivery. Null: none.';
COMMENT ON COLUMN messages.lease_until IS 'End of the lease: then the message is delivered again. Null: not leased.';
COMMENT ON COLUMN messages.deliveries IS 'Number of deliveries.';
COMMENT ON COLUMN messages.settled_at IS 'When the delivery status became final; of a delivered message: when a legacy worker is known to acknowledge no more. '
    'Null: open.';
COMMENT ON COLUMN messages.reason IS 'Why the message expired or was rejected. Empty: neither.';
COMMENT ON COLUMN messages.taker IS 'Consumer that acknowledged the message, by its own name: that consumer may acknowledge again. Empty: unnamed.';
COMMENT ON COLUMN messages.injected IS 'An event reports that the agent has the message.';
COMMENT ON COLUMN messages.key_scope IS 'Scope of the idempotency key: inbox:<sandbox> or outbox:<sandbox>. Null: no key.';
COMMENT ON COLUMN messages.idempotency_key IS 'Key of the sender: a second request with the key returns this message. Null: none.';
COMMENT ON COLUMN messages.body_hash IS 'Hash of the request with the key.';
COMMENT ON COLUMN messages.leased_by IS 'Holder of the newest lease: one poll of omoi-agent or of a client that waits. Empty: a legacy worker.';

-- ---------------------------------------------------------------------------------------------------------------------
-- Commands, relay and the event bus

CREATE TABLE commands (
    id          uuid PRIMARY KEY,
    task_id     uuid NOT NULL REFERENCES tasks ON DELETE CASCADE,
    ordinal     bigint GENERATED ALWAYS AS IDENTITY,
    kind        text NOT NULL CHECK (kind IN ('start', 'retry', 'cancel', 'fail', 'complete', 'verdict', 'replace', 'pause', 'budget')),
    args        jsonb NOT NULL DEFAULT '{}',
    sender      text NOT NULL DEFAULT '',
    state       text NOT NULL DEFAULT 'accepted'
                    CHECK (state IN ('accepted', 'carried_out', 'too_late', 'refused')),
    reason      text NOT NULL DEFAULT '',
    claimed_by  text,
    created_at  timestamptz NOT NULL DEFAULT now(),
    sent_at     timestamptz,
    settled_at  timestamptz
);
CREATE INDEX commands_task ON commands (task_id, ordinal);
CREATE INDEX commands_unsent ON commands (task_id, ordinal) WHERE sent_at IS NULL AND state = 'accepted';
CREATE INDEX commands_unclaimed ON commands (sent_at)
    WHERE state = 'accepted' AND claimed_by IS NULL AND kind IN ('start', 'retry');
COMMENT ON TABLE commands IS 'One command: a recorded request to change a task. The row is also the command receipt.';
COMMENT ON COLUMN commands.ordinal IS 'Order in which the commands of a task are sent.';
COMMENT ON COLUMN commands.kind IS 'pause and budget suspend a task; replace comes from the guardian.';
COMMENT ON COLUMN commands.args IS 'Object by kind, for example reason, ok, sandbox_id and traceparent.';
COMMENT ON COLUMN commands.sender IS 'Name of an API key, a sandbox, the guardian, omoi, or the temporal CLI.';
COMMENT ON COLUMN commands.state IS 'carried_out: applied. refused: rejected.';
COMMENT ON COLUMN commands.reason IS 'Why the command was rejected or too late.';
COMMENT ON COLUMN commands.claimed_by IS 'First run ID of the chain of runs that applies a start or retry. Null: no run has claimed the command.';
COMMENT ON COLUMN commands.sent_at IS 'When the relay signaled the workflow. Null: not sent.';
COMMENT ON COLUMN commands.settled_at IS 'When the state became final. Null: accepted.';

CREATE TABLE task_outbox (
    task_id     uuid PRIMARY KEY REFERENCES tasks ON DELETE CASCADE,
    sandbox_id  text,
    due_at      timestamptz,
    admit       boolean NOT NULL DEFAULT false,
    lease_until timestamptz,
    leased_by   text NOT NULL DEFAULT '',
    failures    integer NOT NULL DEFAULT 0,
    bucket      double precision NOT NULL DEFAULT 3,
    bucket_at   timestamptz NOT NULL DEFAULT now(),
    digests     integer NOT NULL DEFAULT 0,
    window_at   timestamptz NOT NULL DEFAULT now(),
    error       text NOT NULL DEFAULT ''
);
CREATE INDEX task_outbox_due ON task_outbox (due_at) WHERE due_at IS NOT NULL;
CREATE INDEX task_outbox_sandbox ON task_outbox (sandbox_id) WHERE sandbox_id IS NOT NULL;
CREATE INDEX task_outbox_leased ON task_outbox (lease_until) WHERE lease_until IS NOT NULL;
COMMENT ON TABLE task_outbox IS 'The outbox of one task: what a relay has to send to its workflow, and which relay sends.';
COMMENT ON COLUMN task_outbox.sandbox_id IS 'Sandbox of the running attempt: only its events are relayed. Null: none.';
COMMENT ON COLUMN task_outbox.due_at IS 'When a command or an admission is due. Null: nothing to send.';
COMMENT ON COLUMN task_outbox.admit IS 'The workflow has to be signaled that the task holds a slot.';
COMMENT ON COLUMN task_outbox.lease_until IS 'End of the lease; without leased_by: end of a pause after a failure. Null: neither.';
COMMENT ON COLUMN task_outbox.leased_by IS 'Relay that holds the lease. Empty: none.';
COMMENT ON COLUMN task_outbox.failures IS 'Failures in a row. 0: the last attempt to send succeeded.';
COMMENT ON COLUMN task_outbox.bucket IS 'Tokens of the token bucket that limits digests, at bucket_at.';
COMMENT ON COLUMN task_outbox.digests IS 'Digests sent since window_at. Above a limit the bucket fills more slowly.';
COMMENT ON COLUMN task_outbox.error IS 'Error of the last failure. Empty: none.';

CREATE TABLE bus_events (
    id              bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
    xid             bigint NOT NULL DEFAULT pg_current_xact_id()::text::bigint,
    organization_id uuid,
    event_type      text NOT NULL,
    entity_type     text NOT NULL,
    entity_id       text NOT NULL,
    payload         jsonb NOT NULL DEFAULT '{}',
    created_at      timestamptz NOT NULL DEFAULT now()
);
CREATE INDEX bus_events_order ON bus_events (xid, id);
COMMENT ON TABLE bus_events IS 'One frame for WebSocket readers besides sandbox events, under its legacy name, or one change of an entity of which readers make frames (ingest.Frames). Readers read in the order (xid, id), '
    'below omoi_bus_bound, so that no row is skipped.';
COMMENT ON COLUMN bus_events.xid IS 'Transaction that wrote the row.';
COMMENT ON COLUMN bus_events.organization_id IS 'Null: of an unmanaged sandbox.';
COMMENT ON COLUMN bus_events.event_type IS 'Name of the frame. change: recorded by a trigger.';
COMMENT ON COLUMN bus_events.entity_id IS 'Of changes of attempts and messages: the sandbox.';

-- ---------------------------------------------------------------------------------------------------------------------
-- Admission

CREATE TABLE slots (
    task_id         uuid PRIMARY KEY REFERENCES tasks ON DELETE CASCADE,
    organization_id uuid NOT NULL,
    project_id      uuid NOT NULL,
    granted_at      timestamptz NOT NULL DEFAULT now()
);
CREATE INDEX slots_project ON slots (organization_id, project_id);
COMMENT ON TABLE slots IS 'One slot that a task holds, from admission until publish ends. A slot belongs to the task, not to a run.';

CREATE TABLE project_last_admission (
    project_id  uuid PRIMARY KEY REFERENCES projects ON DELETE CASCADE,
    granted_at  timestamptz NOT NULL
);
COMMENT ON TABLE project_last_admission IS 'The last admission of a project: among equals the project with the oldest one is first. Admission alone writes the row, '
    'under its lock.';

CREATE TABLE admission_queue (
    organization_id uuid NOT NULL,
    task_id     uuid NOT NULL
);
CREATE INDEX admission_queue_organization ON admission_queue (organization_id);
COMMENT ON TABLE admission_queue IS 'One task that admission has to evaluate again, since a task changed on which it depends.';

-- ---------------------------------------------------------------------------------------------------------------------
-- Credentials

CREATE TABLE credentials (
    id              uuid PRIMARY KEY,
    organization_id uuid NOT NULL REFERENCES organizations ON DELETE CASCADE,
    user_id         uuid REFERENCES users ON DELETE CASCADE,
    project_id      uuid REFERENCES projects ON DELETE CASCADE,
    kind            text NOT NULL,
    key_id          text NOT NULL,
    sealed          bytea NOT NULL,
    created_at      timestamptz NOT NULL DEFAULT now(),
    updated_at      timestamptz NOT NULL DEFAULT now(),
    used_at         timestamptz,
    CHECK (user_id IS NULL OR project_id IS NULL)
);
CREATE UNIQUE INDEX credentials_place ON credentials (organization_id, coalesce(user_id, project_id, organization_id), kind);
CREATE INDEX credentials_user ON credentials (user_id) WHERE user_id IS NOT NULL;
CREATE INDEX credentials_project ON credentials (project_id) WHERE project_id IS NOT NULL;
COMMENT ON TABLE credentials IS 'One encrypted key or token of a user, of a project, or, with neither, of the organization.';
COMMENT ON COLUMN credentials.key_id IS 'ID of the encryption key of the installation, never the key.';
COMMENT ON COLUMN credentials.sealed IS 'Nonce and AES-GCM, bound to organization, user, project, kind and key_id.';
COMMENT ON COLUMN credentials.updated_at IS 'When the secret was set. Re-encryption keeps the time.';
COMMENT ON COLUMN credentials.used_at IS 'When a task last received the credential, exact to a minute. Null: never.';

CREATE TABLE credential_cooldowns (
    organization_id uuid NOT NULL REFERENCES organizations ON DELETE CASCADE,
    credential  text NOT NULL,
    since       timestamptz NOT NULL DEFAULT clock_timestamp(),
    until       timestamptz NOT NULL,
    stagger     interval NOT NULL,
    probe       uuid,
    probed_at   timestamptz,
    early       boolean NOT NULL DEFAULT false,
    proven_at   timestamptz,
    next_at     timestamptz NOT NULL,
    PRIMARY KEY (organization_id, credential)
);
COMMENT ON TABLE credential_cooldowns IS 'The cooldown of one credential that reached the rate limit of its model provider. Until the reset no task with the credential '
    'is admitted; then one task tries, and after a model answered that task the others follow at intervals. Written under the admission lock of the '
    'organization, and by the activities that prove a credential.';
COMMENT ON COLUMN credential_cooldowns.credential IS 'Row and version of a credential, or installation and its name: nothing that is made of the secret.';
COMMENT ON COLUMN credential_cooldowns.since IS 'Start of the cooldown.';
COMMENT ON COLUMN credential_cooldowns.until IS 'Reset of the limit.';
COMMENT ON COLUMN credential_cooldowns.stagger IS 'Time between two admissions after the reset.';
COMMENT ON COLUMN credential_cooldowns.probe IS 'Task that tries. Null: none.';
COMMENT ON COLUMN credential_cooldowns.probed_at IS 'When that task was admitted.';
COMMENT ON COLUMN credential_cooldowns.early IS 'A user had the credential tried before the reset.';
COMMENT ON COLUMN credential_cooldowns.proven_at IS 'When a model answered. Null: not yet.';
COMMENT ON COLUMN credential_cooldowns.next_at IS 'When admission has to run.';

-- ---------------------------------------------------------------------------------------------------------------------
-- Usage of projects

CREATE TABLE project_usage (
    project_id  uuid PRIMARY KEY REFERENCES projects ON DELETE CASCADE,
    tokens      double precision NOT NULL,
    usd         double precision NOT NULL,
    alive       double precision NOT NULL
);
COMMENT ON TABLE project_usage IS 'The usage of those sandboxes of a project whose usage is final, so that a budget does not sum thousands of rows. '
    'open_usage has the others. omoi_settle_usage alone writes the row.';
COMMENT ON COLUMN project_usage.tokens IS 'Input and output tokens.';
COMMENT ON COLUMN project_usage.alive IS 'Seconds of sandboxes.';

CREATE TABLE open_usage (
    sandbox_id  text PRIMARY KEY REFERENCES sandboxes ON DELETE CASCADE,
    project_id  uuid NOT NULL,
    tokens      double precision NOT NULL,
    usd         double precision NOT NULL,
    alive       double precision NOT NULL
);
CREATE INDEX open_usage_project ON open_usage (project_id);
COMMENT ON TABLE open_usage IS 'One sandbox whose usage may change, with the part of its usage that project_usage holds. A trigger of sandboxes adds the row.';
COMMENT ON COLUMN open_usage.tokens IS 'Input and output tokens that project_usage holds.';
COMMENT ON COLUMN open_usage.alive IS 'Seconds that project_usage holds.';

-- ---------------------------------------------------------------------------------------------------------------------
-- Feedback on pull requests

CREATE TABLE follow_ups (
    task_id     uuid PRIMARY KEY REFERENCES tasks ON DELETE CASCADE,
    root_id     uuid NOT NULL REFERENCES tasks ON DELETE CASCADE,
    follows     uuid NOT NULL REFERENCES tasks ON DELETE CASCADE,
    round       integer NOT NULL,
    UNIQUE (root_id, round)
);
COMMENT ON TABLE follow_ups IS 'One task that continues branch and pull request of a completed task because of feedback. The first task of a pull request, '
    'its root, has no row.';
COMMENT ON COLUMN follow_ups.follows IS 'The task before.';
COMMENT ON COLUMN follow_ups.round IS 'From 1.';

CREATE TABLE feedback (
    id          uuid PRIMARY KEY,
    ordinal     bigint GENERATED ALWAYS AS IDENTITY,
    delivery    text NOT NULL UNIQUE,
    digest      bytea NOT NULL UNIQUE,
    root_id     uuid NOT NULL REFERENCES tasks ON DELETE CASCADE,
    kind        text NOT NULL CHECK (kind IN ('check', 'review', 'comment')),
    subject     text NOT NULL DEFAULT '',
    commit      text NOT NULL DEFAULT '',
    author      text NOT NULL DEFAULT '',
    note        text NOT NULL,
    said        text NOT NULL DEFAULT '',
    url         text NOT NULL DEFAULT '',
    state       text NOT NULL DEFAULT 'held' CHECK (state IN ('held', 'sent', 'heard', 'started', 'ignored')),
    reason      text NOT NULL DEFAULT '',
    task_id     uuid REFERENCES tasks ON DELETE SET NULL,
    message_id  uuid REFERENCES messages ON DELETE SET NULL,
    due_at      timestamptz NOT NULL,
    created_at  timestamptz NOT NULL DEFAULT now()
);
CREATE UNIQUE INDEX feedback_subject ON feedback (root_id, subject) WHERE subject <> '';
CREATE INDEX feedback_root ON feedback (root_id, ordinal);
CREATE INDEX feedback_task ON feedback (task_id) WHERE task_id IS NOT NULL;
CREATE INDEX feedback_message ON feedback (message_id) WHERE message_id IS NOT NULL;
CREATE INDEX feedback_due ON feedback (due_at) WHERE state = 'held';
CREATE INDEX feedback_sent ON feedback (id) WHERE state = 'sent';
CREATE INDEX feedback_ignored ON feedback (created_at) WHERE state = 'ignored';
COMMENT ON TABLE feedback IS 'One review, comment or failed check of a pull request, from a webhook, and its effect. Also the outbox: the row is updated in the '
    'transaction that writes the message or the follow-up task.';
COMMENT ON COLUMN feedback.delivery IS 'ID of the delivery at the Git host.';
COMMENT ON COLUMN feedback.digest IS 'Hash of what was signed: a replay under another ID is a duplicate.';
COMMENT ON COLUMN feedback.root_id IS 'First task of the pull request.';
COMMENT ON COLUMN feedback.subject IS 'Reported once for each pull request. Empty: reported every time.';
COMMENT ON COLUMN feedback.commit IS 'Commit of a check. Empty: not a check.';
COMMENT ON COLUMN feedback.author IS 'Login. Empty: a machine.';
COMMENT ON COLUMN feedback.note IS 'One line: author, kind and location.';
COMMENT ON COLUMN feedback.said IS 'Text of the review or comment. May be empty.';
COMMENT ON COLUMN feedback.state IS 'held: pending. sent: message sent. heard: acknowledged. started: follow-up task created. ignored: no effect.';
COMMENT ON COLUMN feedback.task_id IS 'Task whose agent was sent the message, or that was created. Null: none.';
COMMENT ON COLUMN feedback.due_at IS 'When pending feedback is handled next.';

CREATE TABLE pull_request_states (
    root_id     uuid PRIMARY KEY REFERENCES tasks ON DELETE CASCADE,
    state       text NOT NULL CHECK (state IN ('open', 'closed', 'merged')),
    at          timestamptz NOT NULL
);
COMMENT ON TABLE pull_request_states IS 'The state of a pull request that the Git host reported last.';
COMMENT ON COLUMN pull_request_states.root_id IS 'First task of the pull request.';
COMMENT ON COLUMN pull_request_states.at IS 'By the clock of the Git host. An older report changes nothing.';

-- ---------------------------------------------------------------------------------------------------------------------
-- Guardian

CREATE TABLE guardian_cycles (
    id          text PRIMARY KEY,
    started_at  timestamptz NOT NULL DEFAULT now(),
    ended_at    timestamptz,
    active      integer NOT NULL DEFAULT 0,
    judged      integer NOT NULL DEFAULT 0,
    standing    integer NOT NULL DEFAULT 0,
    failed      integer NOT NULL DEFAULT 0,
    acted       integer NOT NULL DEFAULT 0
);
CREATE INDEX guardian_cycles_newest ON guardian_cycles (started_at DESC);
COMMENT ON TABLE guardian_cycles IS 'One cycle of the guardian over all active sandboxes.';
COMMENT ON COLUMN guardian_cycles.id IS 'First run ID of its workflow.';
COMMENT ON COLUMN guardian_cycles.ended_at IS 'Null: running or interrupted.';
COMMENT ON COLUMN guardian_cycles.active IS 'Number of active sandboxes.';
COMMENT ON COLUMN guardian_cycles.judged IS 'Number of new analyses.';
COMMENT ON COLUMN guardian_cycles.standing IS 'Number of sandboxes whose last analysis is still valid.';
COMMENT ON COLUMN guardian_cycles.failed IS 'Number of sandboxes whose analysis failed.';
COMMENT ON COLUMN guardian_cycles.acted IS 'Number of interventions.';

CREATE TABLE guardian_analyses (
    id              uuid PRIMARY KEY,
    cycle_id        text NOT NULL,
    sandbox_id      text NOT NULL REFERENCES sandboxes ON DELETE CASCADE,
    organization_id uuid NOT NULL REFERENCES organizations ON DELETE CASCADE,
    task_id         uuid NOT NULL REFERENCES tasks ON DELETE CASCADE,
    attempt         integer NOT NULL,
    spoken_by       text NOT NULL CHECK (spoken_by IN ('rules', 'model', 'none')),
    verdict         text NOT NULL CHECK (verdict IN ('healthy', 'steer', 'unknown')),
    alignment_score double precision,
    needs_steering  boolean NOT NULL,
    steering_type   text NOT NULL DEFAULT '',
    current_focus   text NOT NULL DEFAULT '',
    confidence      double precision NOT NULL,
    first_seen      bigint NOT NULL,
    last_seen       bigint NOT NULL,
    analysis        jsonb NOT NULL,
    subject         jsonb NOT NULL,
    rules           jsonb NOT NULL,
    judged_at       timestamptz NOT NULL,
    UNIQUE (cycle_id, sandbox_id)
);
CREATE INDEX guardian_analyses_sandbox ON guardian_analyses (sandbox_id, judged_at DESC);
CREATE INDEX guardian_analyses_task ON guardian_analyses (task_id, judged_at DESC);
CREATE INDEX guardian_analyses_newest ON guardian_analyses (organization_id, judged_at DESC);
COMMENT ON TABLE guardian_analyses IS 'One analysis of an attempt by the guardian, with all input that is needed to repeat the analysis: subject, rules, and the events '
    'first_seen to last_seen, which never change.';
COMMENT ON COLUMN guardian_analyses.cycle_id IS 'ID of a cycle, or of a request of a user.';
COMMENT ON COLUMN guardian_analyses.spoken_by IS 'Source of the verdict.';
COMMENT ON COLUMN guardian_analyses.alignment_score IS '0 to 1. Null: unknown.';
COMMENT ON COLUMN guardian_analyses.steering_type IS 'guidance, correction or emergency. Empty: none.';
COMMENT ON COLUMN guardian_analyses.confidence IS '0 to 1.';
COMMENT ON COLUMN guardian_analyses.first_seen IS 'Sequence of the first event read. 0: no event.';
COMMENT ON COLUMN guardian_analyses.last_seen IS 'Sequence of the last event read.';
COMMENT ON COLUMN guardian_analyses.analysis IS 'The whole analysis with its findings and evidence.';
COMMENT ON COLUMN guardian_analyses.subject IS 'Input without the events.';
COMMENT ON COLUMN guardian_analyses.rules IS 'Limits that the rules used.';
COMMENT ON COLUMN guardian_analyses.judged_at IS 'Time to which ages in the input relate.';

CREATE TABLE interventions (
    id              uuid PRIMARY KEY,
    analysis_id     uuid NOT NULL UNIQUE REFERENCES guardian_analyses ON DELETE CASCADE,
    organization_id uuid NOT NULL REFERENCES organizations ON DELETE CASCADE,
    task_id         uuid NOT NULL REFERENCES tasks ON DELETE CASCADE,
    sandbox_id      text NOT NULL REFERENCES sandboxes ON DELETE CASCADE,
    attempt         integer NOT NULL,
    level           text NOT NULL CHECK (level IN ('observe', 'nudge', 'interrupt', 'replace')),
    steering_type   text NOT NULL,
    content         text NOT NULL,
    confidence      double precision NOT NULL,
    shadow          boolean NOT NULL,
    state           text NOT NULL DEFAULT 'planned'
                        CHECK (state IN ('planned', 'recorded', 'sent', 'refused', 'expired', 'withdrawn')),
    reason          text NOT NULL DEFAULT '',
    message_id      uuid REFERENCES messages ON DELETE SET NULL,
    command_id      uuid REFERENCES commands ON DELETE SET NULL,
    planned_at      timestamptz NOT NULL DEFAULT now(),
    settled_at      timestamptz
);
CREATE INDEX interventions_attempt ON interventions (sandbox_id, planned_at DESC);
CREATE INDEX interventions_task ON interventions (task_id, planned_at DESC);
CREATE INDEX interventions_newest ON interventions (organization_id, planned_at DESC);
CREATE INDEX interventions_planned ON interventions (planned_at) WHERE state = 'planned';
COMMENT ON TABLE interventions IS 'One intervention that the guardian decided for an attempt.';
COMMENT ON COLUMN interventions.id IS 'Also the key of its message and of its command.';
COMMENT ON COLUMN interventions.content IS 'Text for the agent.';
COMMENT ON COLUMN interventions.confidence IS '0 to 1.';
COMMENT ON COLUMN interventions.shadow IS 'Shadow mode: recorded, not executed.';
COMMENT ON COLUMN interventions.reason IS 'Why this level, then the outcome.';
COMMENT ON COLUMN interventions.message_id IS 'Message of a nudge or an interrupt. Null: none.';
COMMENT ON COLUMN interventions.command_id IS 'Command of a replacement. Null: none.';
COMMENT ON COLUMN interventions.settled_at IS 'When the state became final. Null: planned.';

CREATE TABLE guardian_actions (
    id              uuid PRIMARY KEY,
    organization_id uuid NOT NULL REFERENCES organizations ON DELETE CASCADE,
    action_type     text NOT NULL CHECK (action_type IN ('cancel_task', 'reallocate_capacity', 'override_priority')),
    target_entity   text NOT NULL,
    authority_level integer NOT NULL,
    reason          text NOT NULL,
    initiated_by    text NOT NULL,
    approved_by     text,
    audit_log       jsonb NOT NULL,
    command_id      uuid REFERENCES commands ON DELETE SET NULL,
    created_at      timestamptz NOT NULL DEFAULT now(),
    executed_at     timestamptz NOT NULL DEFAULT now(),
    reverted_at     timestamptz
);
CREATE INDEX guardian_actions_newest ON guardian_actions (organization_id, created_at DESC, id DESC);
COMMENT ON TABLE guardian_actions IS 'One action of a user through the guardian''s routes.';
COMMENT ON COLUMN guardian_actions.authority_level IS '1 worker, 2 watchdog, 3 monitor, 4 guardian, 5 system.';
COMMENT ON COLUMN guardian_actions.initiated_by IS 'The authenticated sender, not the name in the request.';
COMMENT ON COLUMN guardian_actions.approved_by IS 'Null: none.';
COMMENT ON COLUMN guardian_actions.audit_log IS 'Values before and after.';
COMMENT ON COLUMN guardian_actions.reverted_at IS 'Null: not reverted.';

-- ---------------------------------------------------------------------------------------------------------------------
-- Conductor

CREATE TABLE conductor_analyses (
    id                  uuid PRIMARY KEY,
    cycle_id            text NOT NULL,
    organization_id     uuid NOT NULL REFERENCES organizations ON DELETE CASCADE,
    coherence_score     double precision,
    coherence_at_most   double precision NOT NULL,
    system_status       text NOT NULL CHECK (system_status IN
                            ('no_agents', 'critical', 'warning', 'inefficient', 'optimal', 'normal', 'unknown')),
    num_agents          integer NOT NULL,
    judged              integer NOT NULL,
    duplicate_count     integer NOT NULL,
    termination_count   integer NOT NULL,
    coordination_count  integer NOT NULL,
    details             jsonb NOT NULL,
    created_at          timestamptz NOT NULL DEFAULT now(),
    UNIQUE (cycle_id, organization_id)
);
CREATE INDEX conductor_analyses_newest ON conductor_analyses (organization_id, created_at DESC, id DESC);
CREATE INDEX conductor_analyses_age ON conductor_analyses (created_at);
COMMENT ON TABLE conductor_analyses IS 'One analysis of all active agents of an organization, per cycle of the conductor.';
COMMENT ON COLUMN conductor_analyses.cycle_id IS 'First run ID of the workflow.';
COMMENT ON COLUMN conductor_analyses.coherence_score IS '0 to 1. Null: too few agents are analyzed.';
COMMENT ON COLUMN conductor_analyses.coherence_at_most IS 'Score if every agent without an analysis does perfectly.';
COMMENT ON COLUMN conductor_analyses.judged IS 'Number of agents with a guardian analysis that is not unknown.';
COMMENT ON COLUMN conductor_analyses.termination_count IS 'Number of agents whose work is done and whose sandbox runs.';
COMMENT ON COLUMN conductor_analyses.coordination_count IS 'Number of files that several agents change at the same time.';
COMMENT ON COLUMN conductor_analyses.details IS 'Phases, projects, load and recommendations.';

CREATE TABLE detected_duplicates (
    id                    uuid PRIMARY KEY,
    conductor_analysis_id uuid REFERENCES conductor_analyses ON DELETE SET NULL,
    organization_id       uuid NOT NULL REFERENCES organizations ON DELETE CASCADE,
    task1_id              uuid NOT NULL REFERENCES tasks ON DELETE CASCADE,
    task2_id              uuid NOT NULL REFERENCES tasks ON DELETE CASCADE,
    agent1_id             text NOT NULL,
    agent2_id             text NOT NULL,
    is_duplicate          boolean NOT NULL,
    spoken_by             text NOT NULL CHECK (spoken_by IN ('words', 'model')),
    similarity_score      double precision NOT NULL,
    work_description      text NOT NULL DEFAULT '',
    resources             jsonb NOT NULL DEFAULT '{}',
    cycles                integer NOT NULL DEFAULT 1,
    created_at            timestamptz NOT NULL DEFAULT now(),
    seen_at               timestamptz NOT NULL DEFAULT now(),
    UNIQUE (task1_id, task2_id),
    CHECK (task1_id < task2_id)
);
CREATE INDEX detected_duplicates_newest ON detected_duplicates (organization_id, seen_at DESC, id DESC);
CREATE INDEX detected_duplicates_second ON detected_duplicates (task2_id);
CREATE INDEX detected_duplicates_analysis ON detected_duplicates (conductor_analysis_id);
COMMENT ON TABLE detected_duplicates IS 'One pair of tasks with similar work. A pair that a model called different stays, so that the model is asked once.';
COMMENT ON COLUMN detected_duplicates.conductor_analysis_id IS 'Newest analysis that found the pair. Null: deleted by retention.';
COMMENT ON COLUMN detected_duplicates.agent1_id IS 'Sandbox of task1 at that time.';
COMMENT ON COLUMN detected_duplicates.agent2_id IS 'Sandbox of task2 at that time.';
COMMENT ON COLUMN detected_duplicates.spoken_by IS 'Source of the decision. Words do not change what a model decided.';
COMMENT ON COLUMN detected_duplicates.similarity_score IS '0 to 1.';
COMMENT ON COLUMN detected_duplicates.resources IS 'Files that both tasks changed.';
COMMENT ON COLUMN detected_duplicates.cycles IS 'Number of cycles that found the pair.';
COMMENT ON COLUMN detected_duplicates.seen_at IS 'Time of the last cycle that found the pair.';

-- ---------------------------------------------------------------------------------------------------------------------
-- Diagnoses

CREATE TABLE diagnosis_queue (
    task_id     uuid PRIMARY KEY REFERENCES tasks ON DELETE CASCADE,
    changed     bigint NOT NULL DEFAULT 1,
    due_at      timestamptz NOT NULL DEFAULT now()
);
CREATE INDEX diagnosis_queue_due ON diagnosis_queue (due_at);
COMMENT ON TABLE diagnosis_queue IS 'One task with a failure that may need a diagnosis. Triggers add the row in the transaction of the failure, so that none is missed.';
COMMENT ON COLUMN diagnosis_queue.changed IS 'Counts failures: a check that began before the newest failure does not delete the row.';

CREATE TABLE diagnoses (
    id              uuid PRIMARY KEY,
    organization_id uuid NOT NULL REFERENCES organizations ON DELETE CASCADE,
    project_id      uuid NOT NULL REFERENCES projects ON DELETE CASCADE,
    ticket_id       uuid NOT NULL REFERENCES tickets ON DELETE CASCADE,
    task_id         uuid NOT NULL REFERENCES tasks ON DELETE CASCADE,
    attempt         integer NOT NULL,
    kind            text NOT NULL CHECK (kind IN ('repeated', 'ended', 'ticket')),
    said            jsonb NOT NULL,
    notice          text NOT NULL CHECK (notice IN ('none', 'held', 'sent')),
    message_id      uuid REFERENCES messages ON DELETE SET NULL,
    created_at      timestamptz NOT NULL DEFAULT now(),
    ended_at        timestamptz NOT NULL DEFAULT 'epoch',
    CONSTRAINT diagnoses_of_an_end UNIQUE (task_id, attempt, kind, ended_at)
);
CREATE INDEX diagnoses_newest ON diagnoses (organization_id, created_at DESC, id DESC);
CREATE INDEX diagnoses_ticket ON diagnoses (ticket_id, created_at DESC, id DESC);
CREATE INDEX diagnoses_project ON diagnoses (project_id);
CREATE INDEX diagnoses_message ON diagnoses (message_id) WHERE message_id IS NOT NULL;
CREATE INDEX diagnoses_held ON diagnoses (task_id) WHERE notice = 'held';
COMMENT ON TABLE diagnoses IS 'One diagnosis: root cause and advice for repeated failures of a task, for its failed end, or for a ticket whose tasks failed in a row.';
COMMENT ON COLUMN diagnoses.attempt IS 'Newest failed attempt. 0: the task failed before the first attempt.';
COMMENT ON COLUMN diagnoses.said IS 'The whole diagnosis.';
COMMENT ON COLUMN diagnoses.notice IS 'Message to the agent of the next attempt: none, held (pending) or sent.';
COMMENT ON COLUMN diagnoses.message_id IS 'That message. Null: none was sent.';
COMMENT ON COLUMN diagnoses.ended_at IS 'completed_at of that end, since a retried task may fail again without a new attempt. Epoch: the task continued.';

CREATE TABLE deliveries (
    id              uuid PRIMARY KEY,
    diagnosis_id    uuid NOT NULL UNIQUE REFERENCES diagnoses ON DELETE CASCADE,
    body            text NOT NULL,
    state           text NOT NULL DEFAULT 'held' CHECK (state IN ('held', 'done', 'given_up')),
    tries           integer NOT NULL DEFAULT 0,
    error           text NOT NULL DEFAULT '',
    due_at          timestamptz NOT NULL DEFAULT now(),
    delivered_at    timestamptz,
    created_at      timestamptz NOT NULL DEFAULT now()
);
CREATE INDEX deliveries_due ON deliveries (due_at) WHERE state = 'held';
COMMENT ON TABLE deliveries IS 'One outgoing webhook, written with its diagnosis and sent until the receiver accepts.';
COMMENT ON COLUMN deliveries.id IS 'The same in every attempt to deliver.';
COMMENT ON COLUMN deliveries.body IS 'The signed text.';
COMMENT ON COLUMN deliveries.state IS 'held: pending. done: delivered. given_up: failed.';
COMMENT ON COLUMN deliveries.tries IS 'Number of attempts to deliver.';
COMMENT ON COLUMN deliveries.error IS 'Error of the last attempt to deliver. Empty: none.';
COMMENT ON COLUMN deliveries.due_at IS 'Time of the next attempt to deliver.';

-- ---------------------------------------------------------------------------------------------------------------------
-- Retention

CREATE TABLE removals (
    subject     text NOT NULL,
    kind        text NOT NULL,
    removed_at  timestamptz NOT NULL,
    done        boolean NOT NULL DEFAULT false,
    PRIMARY KEY (subject, kind)
);
CREATE INDEX removals_open ON removals (kind, subject) WHERE NOT done;
COMMENT ON TABLE removals IS 'One kind of data that retention removes of a sandbox or a task. The row is written before anything is removed.';
COMMENT ON COLUMN removals.subject IS 'ID of a sandbox; for branches and refs: of a task.';
COMMENT ON COLUMN removals.kind IS 'As in the settings of the group retention.';
COMMENT ON COLUMN removals.done IS 'Nothing is left to remove.';

CREATE VIEW ended_tasks AS
SELECT t.id, t.completed_at AS ended_at FROM tasks t
WHERE t.status IN ('completed', 'failed', 'cancelled') AND t.completed_at IS NOT NULL
    AND NOT EXISTS (SELECT FROM sandboxes o WHERE o.task_id = t.id AND o.verified_at IS NULL AND o.state <> 'lost'
        AND NOT (o.state = 'gone' AND NOT o.machine))
    AND NOT EXISTS (SELECT FROM commands c WHERE c.task_id = t.id AND c.state = 'accepted' AND c.kind IN ('start', 'retry'));
COMMENT ON VIEW ended_tasks IS 'One final task without a pending retry, none of whose sandboxes may exist or send events.';

CREATE VIEW ended_sandboxes AS
SELECT s.id, s.partition_month, s.last_sequence, s.salvage, s.task_id,
    greatest(e.ended_at, s.verified_at, s.gone_at, CASE WHEN s.state = 'lost' THEN s.ended_at END) AS ended_at
FROM sandboxes s LEFT JOIN ended_tasks e ON e.id = s.task_id
WHERE e.id IS NOT NULL OR (s.task_id IS NULL AND (s.verified_at IS NOT NULL OR s.state = 'lost'
    OR (s.state = 'gone' AND NOT s.machine)));
COMMENT ON VIEW ended_sandboxes IS 'One sandbox of an ended task, or one without a task that is deleted or lost.';
