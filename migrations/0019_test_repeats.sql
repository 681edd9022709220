-- +goose Up

ALTER TABLE attempts ADD COLUMN tests_sandbox text UNIQUE REFERENCES sandboxes, ADD COLUMN test_repeat jsonb;
COMMENT ON COLUMN attempts.tests_sandbox IS 'Newest sandbox in which omoi repeats the test command; no agent runs in it. Null: none.';
COMMENT ON COLUMN attempts.test_repeat IS 'Result of the repeat (task.TestRepeat). Null: none.';
