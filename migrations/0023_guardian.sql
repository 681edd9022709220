-- +goose Up

-- null: as the installation says
ALTER TABLE projects ADD COLUMN auto_steering boolean;

ALTER TABLE commands DROP CONSTRAINT commands_kind_check;
ALTER TABLE commands ADD CONSTRAINT commands_kind_check
    CHECK (kind IN ('start', 'retry', 'cancel', 'fail', 'complete', 'verdict', 'replace'));

-- One run of the guardian over all active sandboxes.
CREATE TABLE guardian_cycles (
    id          text PRIMARY KEY,               -- first run id of its workflow
    started_at  timestamptz NOT NULL DEFAULT now(),
    ended_at    timestamptz,                    -- null: under way, or nobody brought it to its end
    active      integer NOT NULL DEFAULT 0,
    judged      integer NOT NULL DEFAULT 0,
    standing    integer NOT NULL DEFAULT 0,     -- whose last judgement still stands
    failed      integer NOT NULL DEFAULT 0,     -- that could not be judged
    acted       integer NOT NULL DEFAULT 0
);
CREATE INDEX guardian_cycles_newest ON guardian_cycles (started_at DESC);

-- What the guardian thought of an attempt, and all that is needed to judge it again: the events
-- first_seen..last_seen, which never change, and the rest of what it was told.
CREATE TABLE guardian_analyses (
    id              uuid PRIMARY KEY,
    cycle_id        text NOT NULL,              -- of a cycle, or of somebody who asked
    sandbox_id      text NOT NULL REFERENCES sandboxes ON DELETE CASCADE,
    organization_id uuid NOT NULL REFERENCES organizations ON DELETE CASCADE,
    task_id         uuid NOT NULL REFERENCES tasks ON DELETE CASCADE,
    attempt         integer NOT NULL,
    spoken_by       text NOT NULL CHECK (spoken_by IN ('rules', 'model', 'none')),
    verdict         text NOT NULL CHECK (verdict IN ('healthy', 'steer', 'unknown')),
    alignment_score double precision,           -- null: nobody can say
    needs_steering  boolean NOT NULL,
    steering_type   text NOT NULL DEFAULT '',
    current_focus   text NOT NULL DEFAULT '',
    confidence      double precision NOT NULL,
    first_seen      bigint NOT NULL,            -- sequence; 0: no event
    last_seen       bigint NOT NULL,
    analysis        jsonb NOT NULL,
    subject         jsonb NOT NULL,             -- without its events
    rules           jsonb NOT NULL,             -- the numbers that the rules went by
    judged_at       timestamptz NOT NULL,       -- ages are counted from here
    UNIQUE (cycle_id, sandbox_id)
);
CREATE INDEX guardian_analyses_sandbox ON guardian_analyses (sandbox_id, judged_at DESC);
CREATE INDEX guardian_analyses_task ON guardian_analyses (task_id, judged_at DESC);
CREATE INDEX guardian_analyses_newest ON guardian_analyses (organization_id, judged_at DESC);

-- What was decided about an attempt. In shadow nobody is told.
CREATE TABLE interventions (
    id              uuid PRIMARY KEY,           -- also the key of its message and of its command
    analysis_id     uuid NOT NULL UNIQUE REFERENCES guardian_analyses ON DELETE CASCADE,
    organization_id uuid NOT NULL REFERENCES organizations ON DELETE CASCADE,
    task_id         uuid NOT NULL REFERENCES tasks ON DELETE CASCADE,
    sandbox_id      text NOT NULL REFERENCES sandboxes ON DELETE CASCADE,
    attempt         integer NOT NULL,
    level           text NOT NULL CHECK (level IN ('observe', 'nudge', 'interrupt', 'replace')),
    steering_type   text NOT NULL,
    content         text NOT NULL,              -- what the agent is told
    confidence      double precision NOT NULL,
    shadow          boolean NOT NULL,
    state           text NOT NULL DEFAULT 'planned'
                        CHECK (state IN ('planned', 'recorded', 'sent', 'refused', 'expired', 'withdrawn')),
    reason          text NOT NULL DEFAULT '',   -- why this step, and what became of it
    message_id      uuid REFERENCES messages ON DELETE SET NULL,
    command_id      uuid REFERENCES commands ON DELETE SET NULL,
    planned_at      timestamptz NOT NULL DEFAULT now(),
    settled_at      timestamptz
);
CREATE INDEX interventions_attempt ON interventions (sandbox_id, planned_at DESC);
CREATE INDEX interventions_task ON interventions (task_id, planned_at DESC);
CREATE INDEX interventions_newest ON interventions (organization_id, planned_at DESC);
CREATE INDEX interventions_planned ON interventions (planned_at) WHERE state = 'planned';

-- What a person did by the guardian's routes, with what was before and after.
CREATE TABLE guardian_actions (
    id              uuid PRIMARY KEY,
    organization_id uuid NOT NULL REFERENCES organizations ON DELETE CASCADE,
    action_type     text NOT NULL CHECK (action_type IN ('cancel_task', 'reallocate_capacity', 'override_priority')),
    target_entity   text NOT NULL,
    authority_level integer NOT NULL,
    reason          text NOT NULL,
    initiated_by    text NOT NULL,              -- who it was, not who he said he was
    approved_by     text,
    audit_log       jsonb NOT NULL,
    command_id      uuid REFERENCES commands ON DELETE SET NULL,
    created_at      timestamptz NOT NULL DEFAULT now(),
    executed_at     timestamptz NOT NULL DEFAULT now(),
    reverted_at     timestamptz
);
CREATE INDEX guardian_actions_newest ON guardian_actions (organization_id, created_at DESC, id DESC);

-- +goose Down
DROP TABLE guardian_actions, interventions, guardian_analyses, guardian_cycles;
DELETE FROM commands WHERE kind = 'replace';
ALTER TABLE commands DROP CONSTRAINT commands_kind_check;
ALTER TABLE commands ADD CONSTRAINT commands_kind_check
    CHECK (kind IN ('start', 'retry', 'cancel', 'fail', 'complete', 'verdict'));
ALTER TABLE projects DROP COLUMN auto_steering;
