-- +goose Up
-- The name of the machine, for people: the id may be random.
ALTER TABLE hosts ADD COLUMN name text NOT NULL DEFAULT '';
-- Intake changes none of these columns, so that its updates stay cheap.
CREATE INDEX sandboxes_bare ON sandboxes (id) WHERE provider = 'bare' AND state = 'running';

-- +goose Down
DROP INDEX sandboxes_bare;
ALTER TABLE hosts DROP COLUMN name;
