-- +goose Up

ALTER TABLE commands DROP CONSTRAINT commands_kind_check, ADD CONSTRAINT commands_kind_check
    CHECK (kind IN ('start', 'retry', 'cancel', 'fail', 'complete', 'verdict', 'replace', 'pause', 'budget', 'suspend'));
COMMENT ON COLUMN commands.kind IS 'pause, budget and suspend suspend a task; suspend comes from a user, replace from the guardian.';
