-- +goose Up

-- A task that has failed may be retried and fail again without a new attempt: each end has its diagnosis. And a ticket
-- has one when its tasks fail one after the other.
ALTER TABLE diagnoses ADD COLUMN ended_at timestamptz NOT NULL DEFAULT 'epoch',    -- completed_at of that end; epoch: the task went on
    DROP CONSTRAINT diagnoses_task_id_attempt_kind_key,
    ADD CONSTRAINT diagnoses_of_an_end UNIQUE (task_id, attempt, kind, ended_at),
    DROP CONSTRAINT diagnoses_kind_check,
    ADD CONSTRAINT diagnoses_kind_check CHECK (kind IN ('repeated', 'ended', 'ticket'));
DROP INDEX diagnoses_ticket;
CREATE INDEX diagnoses_ticket ON diagnoses (ticket_id, created_at DESC, id DESC);

-- +goose Down

DELETE FROM diagnoses d WHERE d.kind = 'ticket'
    OR EXISTS (SELECT FROM diagnoses o WHERE o.task_id = d.task_id AND o.attempt = d.attempt AND o.kind = d.kind AND o.ended_at > d.ended_at);
DROP INDEX diagnoses_ticket;
CREATE INDEX diagnoses_ticket ON diagnoses (ticket_id);
ALTER TABLE diagnoses DROP CONSTRAINT diagnoses_of_an_end, DROP COLUMN ended_at,
    ADD CONSTRAINT diagnoses_task_id_attempt_kind_key UNIQUE (task_id, attempt, kind),
    DROP CONSTRAINT diagnoses_kind_check,
    ADD CONSTRAINT diagnoses_kind_check CHECK (kind IN ('repeated', 'ended'));
