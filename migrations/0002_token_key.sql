-- +goose Up

-- Which key signs the tokens of this installation's sandboxes: a process without it could
-- neither take their reports nor give them a token that others take. Never the key itself.
ALTER TABLE installation
    ADD COLUMN token_key_id    text NOT NULL DEFAULT '',
    ADD COLUMN token_key_print text NOT NULL DEFAULT '';    -- empty: nobody has signed yet

-- +goose Down

ALTER TABLE installation
    DROP COLUMN token_key_id,
    DROP COLUMN token_key_print;
