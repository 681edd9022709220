-- +goose Up

-- What runs in each sandbox of a project before its agent, and for how long at most in
-- seconds; 0: the default.
ALTER TABLE projects
    ADD COLUMN setup           text NOT NULL DEFAULT '',
    ADD COLUMN setup_timeout_s integer NOT NULL DEFAULT 0 CHECK (setup_timeout_s BETWEEN 0 AND 14400);

-- +goose Down
ALTER TABLE projects DROP COLUMN setup, DROP COLUMN setup_timeout_s;
