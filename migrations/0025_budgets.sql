-- +goose Up

-- Commands that park a task.
ALTER TABLE commands DROP CONSTRAINT commands_kind_check;
ALTER TABLE commands ADD CONSTRAINT commands_kind_check
    CHECK (kind IN ('start', 'retry', 'cancel', 'fail', 'complete', 'verdict', 'replace', 'pause', 'budget'));

-- +goose Down

DELETE FROM commands WHERE kind IN ('pause', 'budget');
ALTER TABLE commands DROP CONSTRAINT commands_kind_check;
ALTER TABLE commands ADD CONSTRAINT commands_kind_check
    CHECK (kind IN ('start', 'retry', 'cancel', 'fail', 'complete', 'verdict', 'replace'));
