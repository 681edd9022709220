-- +goose Up

ALTER TABLE attempts ADD COLUMN takeover jsonb;
COMMENT ON COLUMN attempts.takeover IS 'Which credential is used in place of the first one of its owner and kind (task.Takeover). Null: the first one, or none.';
COMMENT ON COLUMN attempts.credential IS 'Name of the credential that the agent uses (credential.Choice). Empty: unknown.';
COMMENT ON COLUMN credentials.kind IS 'Kind, and after # the number from 2 on: openai is the first credential of its owner, openai#2 the second.';

ALTER TABLE installation ADD COLUMN several_subscriptions boolean NOT NULL DEFAULT false;
COMMENT ON COLUMN installation.several_subscriptions IS 'A subscription takes over from another of the same owner: the setting credential.allow_several_subscriptions, which the API writes when it starts.';
