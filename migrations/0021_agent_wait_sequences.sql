-- +goose Up

ALTER TABLE agent_waits ADD COLUMN sequence bigint;
COMMENT ON COLUMN agent_waits.sequence IS 'Sequence of the event by which the agent said that it waits. Null: a version without this column noted it.';
