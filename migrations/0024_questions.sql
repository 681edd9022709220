-- +goose Up

CREATE TABLE questions (
    id              uuid PRIMARY KEY,
    organization_id uuid NOT NULL REFERENCES organizations ON DELETE CASCADE,
    task_id         uuid NOT NULL REFERENCES tasks ON DELETE CASCADE,
    sandbox_id      text NOT NULL,
    attempt         integer NOT NULL,
    sequence        bigint NOT NULL,
    kind            text NOT NULL CHECK (kind IN ('question', 'permission')),
    text            text NOT NULL,
    options         jsonb NOT NULL,
    state           text NOT NULL DEFAULT 'open' CHECK (state IN ('open', 'answered', 'cancelled', 'expired')),
    reason          text NOT NULL DEFAULT '',
    answer          text NOT NULL DEFAULT '',
    answered_by     text NOT NULL DEFAULT '',
    channel         text NOT NULL DEFAULT '',
    asked_at        timestamptz NOT NULL,
    suspended_at    timestamptz,
    settled_at      timestamptz
);
COMMENT ON TABLE questions IS 'One question of an agent to a user.';
COMMENT ON COLUMN questions.sandbox_id IS 'Sandbox whose agent asked last; sequence is the number of that event, attempt the attempt of the sandbox.';
COMMENT ON COLUMN questions.kind IS 'permission asks whether the agent may do something.';
COMMENT ON COLUMN questions.reason IS 'Why the question was cancelled or has expired. Empty: neither.';
COMMENT ON COLUMN questions.channel IS 'How the answer came: api, or message for a message to the waiting agent. Empty: no answer.';
COMMENT ON COLUMN questions.suspended_at IS 'When the task was suspended for the question. Null: not yet.';
COMMENT ON COLUMN questions.settled_at IS 'When state left open. Null: open.';
CREATE UNIQUE INDEX questions_open ON questions (task_id) WHERE state = 'open';
CREATE INDEX questions_task ON questions (task_id, asked_at);
CREATE INDEX questions_list ON questions (organization_id, asked_at, id);
CREATE INDEX questions_expiry ON questions (asked_at) WHERE state = 'open';
