-- +goose Up

CREATE TABLE pack_objects (
    key        text PRIMARY KEY,
    bytes      bigint NOT NULL,
    created_at timestamptz NOT NULL DEFAULT now(),
    deleting   boolean NOT NULL DEFAULT false
);
COMMENT ON TABLE pack_objects IS 'Objects of the store of checkpoint.store, with packs of checkpoints. The row is written before the object, and deleted after it. '
    'Retention deletes objects to which no checkpoint refers.';
COMMENT ON COLUMN pack_objects.key IS 'Name of the object in the store. Each try to write a pack has its own.';
COMMENT ON COLUMN pack_objects.bytes IS 'Size of the pack.';
COMMENT ON COLUMN pack_objects.created_at IS 'When omoi began to write the object.';
COMMENT ON COLUMN pack_objects.deleting IS 'Retention deletes the object: no checkpoint may refer to it any more.';

ALTER TABLE checkpoints ADD COLUMN pack_object text REFERENCES pack_objects;
CREATE INDEX checkpoints_of_object ON checkpoints (pack_object) WHERE pack_object IS NOT NULL;
COMMENT ON COLUMN checkpoints.pack_object IS 'Object with the pack. Checkpoints of forks share objects. Null: the pack is in checkpoint_chunks.';
