-- +goose Up

-- A CHECK of a table is read anew by each statement that updates it, whatever it updates; the
-- intake would pay for that with each commit. A trigger is asked where a state is set. That an
-- id is neither empty nor long is seen to by the API and by those who make ids.
ALTER TABLE sandboxes DROP CONSTRAINT sandboxes_id_check, DROP CONSTRAINT sandboxes_state_check;
-- +goose StatementBegin
CREATE FUNCTION omoi_sandbox_state() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
    RAISE check_violation USING MESSAGE = format('sandbox %s cannot be %L', NEW.id, NEW.state);
END $$;
-- +goose StatementEnd
CREATE TRIGGER sandbox_state BEFORE INSERT OR UPDATE OF state ON sandboxes FOR EACH ROW
    WHEN (NEW.state NOT IN ('intended', 'creating', 'running', 'deleting', 'gone', 'lost')) EXECUTE FUNCTION omoi_sandbox_state();

-- +goose Down

DROP TRIGGER sandbox_state ON sandboxes;
DROP FUNCTION omoi_sandbox_state;
ALTER TABLE sandboxes
    ADD CONSTRAINT sandboxes_state_check CHECK (state IN ('intended', 'creating', 'running', 'deleting', 'gone', 'lost')),
    ADD CONSTRAINT sandboxes_id_check CHECK (length(id) BETWEEN 1 AND 100);
