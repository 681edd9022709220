-- +goose Up

ALTER TABLE attempts ADD COLUMN restore_from text NOT NULL DEFAULT '';
COMMENT ON COLUMN attempts.restore_from IS 'Checkpoint of the task that a user chose for the attempt to begin with, for example 2.14. '
    'Later attempts begin with checkpoints of this attempt and its successors, or again with this one. Empty: the newest checkpoint.';
COMMENT ON COLUMN attempts.kind IS 'first, retry, revision, replacement, resumed, rewound or validation.';
COMMENT ON COLUMN commands.args IS 'Object by kind, for example reason, ok, sandbox_id and traceparent. checkpoint makes a retry a rewind to it.';
