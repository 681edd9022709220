-- +goose Up

CREATE TABLE task_contracts (
    task_id     uuid NOT NULL REFERENCES tasks ON DELETE CASCADE,
    version     integer NOT NULL,
    contract    jsonb NOT NULL,
    author      text NOT NULL CHECK (author IN ('user', 'model')),
    author_name text NOT NULL,
    accepted    boolean NOT NULL,
    created_at  timestamptz NOT NULL DEFAULT now(),
    PRIMARY KEY (task_id, version)
);
COMMENT ON TABLE task_contracts IS 'Versions of task contracts. A task without a row has the contract in its execution_config.';
COMMENT ON COLUMN task_contracts.version IS 'Number of the version in its task, from 1. The newest counts.';
COMMENT ON COLUMN task_contracts.contract IS 'Text of the version (taskcontract.Contract). An absent key is unknown.';
COMMENT ON COLUMN task_contracts.author IS 'user, or model: a model proposed the version.';
COMMENT ON COLUMN task_contracts.author_name IS 'Name of the user or of the model.';
COMMENT ON COLUMN task_contracts.accepted IS 'A user wrote the version, or the project accepts what a model proposes. False: proposed only.';
