-- +goose Up

ALTER TABLE checkpoints ADD COLUMN given boolean NOT NULL DEFAULT false;
COMMENT ON COLUMN checkpoints.given IS 'A user gave the checkpoint; its files continue those of an attempt that had ended.';

-- Packs that are not in the object store yet, for the process that moves them.
CREATE INDEX checkpoints_to_move ON checkpoints (sealed_at) WHERE pack_object IS NULL AND sealed_at IS NOT NULL AND pack_bytes > 0;
