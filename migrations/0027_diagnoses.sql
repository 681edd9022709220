-- +goose Up

-- Tasks in which something failed, until somebody has looked whether that is to be diagnosed. Written by triggers,
-- in the transaction of the failure, so that none is missed.
CREATE TABLE diagnosis_looks (
    task_id     uuid PRIMARY KEY REFERENCES tasks ON DELETE CASCADE,
    changed     bigint NOT NULL DEFAULT 1,      -- counts failures: a look that began before the newest does not settle it
    due_at      timestamptz NOT NULL DEFAULT now()
);
CREATE INDEX diagnosis_looks_due ON diagnosis_looks (due_at);

-- +goose StatementBegin
CREATE FUNCTION omoi_look_at_failure() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
    INSERT INTO diagnosis_looks (task_id) VALUES (CASE TG_TABLE_NAME WHEN 'tasks' THEN (to_jsonb(NEW) ->> 'id')::uuid ELSE (to_jsonb(NEW) ->> 'task_id')::uuid END)
    ON CONFLICT (task_id) DO UPDATE SET changed = diagnosis_looks.changed + 1, due_at = now();
    RETURN NULL;
END $$;
-- +goose StatementEnd
CREATE TRIGGER attempt_failed AFTER UPDATE OF outcome ON attempts FOR EACH ROW
    WHEN (OLD.outcome IS DISTINCT FROM NEW.outcome AND NEW.outcome = 'failed') EXECUTE FUNCTION omoi_look_at_failure();
CREATE TRIGGER task_failed AFTER UPDATE OF status ON tasks FOR EACH ROW
    WHEN (OLD.status IS DISTINCT FROM NEW.status AND NEW.status = 'failed') EXECUTE FUNCTION omoi_look_at_failure();

-- What failed again and again in a task, and what to do about it. One for each task and newest failed attempt.
CREATE TABLE diagnoses (
    id              uuid PRIMARY KEY,
    organization_id uuid NOT NULL REFERENCES organizations ON DELETE CASCADE,
    project_id      uuid NOT NULL REFERENCES projects ON DELETE CASCADE,
    ticket_id       uuid NOT NULL REFERENCES tickets ON DELETE CASCADE,
    task_id         uuid NOT NULL REFERENCES tasks ON DELETE CASCADE,
    attempt         integer NOT NULL,           -- 0: it failed before the first
    kind            text NOT NULL CHECK (kind IN ('repeated', 'ended')),
    failure_class   text NOT NULL,
    spoken_by       text NOT NULL CHECK (spoken_by IN ('rules', 'model')),
    said            jsonb NOT NULL,             -- all of it
    notice          text NOT NULL CHECK (notice IN ('none', 'held', 'sent')),
    message_id      uuid REFERENCES messages ON DELETE SET NULL,
    created_at      timestamptz NOT NULL DEFAULT now(),
    UNIQUE (task_id, attempt, kind)
);
CREATE INDEX diagnoses_newest ON diagnoses (organization_id, created_at DESC, id DESC);
CREATE INDEX diagnoses_ticket ON diagnoses (ticket_id);
CREATE INDEX diagnoses_project ON diagnoses (project_id);
CREATE INDEX diagnoses_message ON diagnoses (message_id) WHERE message_id IS NOT NULL;
CREATE INDEX diagnoses_held ON diagnoses (task_id) WHERE notice = 'held';

-- Webhooks that are to go out: the row is written with what it tells of, and tried until it is taken.
CREATE TABLE deliveries (
    id              uuid PRIMARY KEY,           -- stays over repeats
    diagnosis_id    uuid NOT NULL UNIQUE REFERENCES diagnoses ON DELETE CASCADE,
    body            text NOT NULL,              -- as it is signed
    state           text NOT NULL DEFAULT 'held' CHECK (state IN ('held', 'done', 'given_up')),
    tries           integer NOT NULL DEFAULT 0,
    error           text NOT NULL DEFAULT '',
    due_at          timestamptz NOT NULL DEFAULT now(),
    delivered_at    timestamptz,
    created_at      timestamptz NOT NULL DEFAULT now()
);
CREATE INDEX deliveries_due ON deliveries (due_at) WHERE state = 'held';

-- +goose Down

DROP TRIGGER attempt_failed ON attempts;
DROP TRIGGER task_failed ON tasks;
DROP FUNCTION omoi_look_at_failure;
DROP TABLE deliveries, diagnoses, diagnosis_looks;
