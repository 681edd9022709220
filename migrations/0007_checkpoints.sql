-- +goose Up

-- ---------------------------------------------------------------------------------------------------------------------
-- Checkpoints

CREATE TABLE checkpoints (
    task_id           uuid NOT NULL REFERENCES tasks ON DELETE CASCADE,
    attempt           integer NOT NULL,
    number            integer NOT NULL,
    sandbox_id        text NOT NULL,
    created_at        timestamptz NOT NULL DEFAULT now(),
    sealed_at         timestamptz,
    segment           integer NOT NULL DEFAULT 0,
    base_number       integer NOT NULL DEFAULT 0,
    pack_bytes        bigint NOT NULL DEFAULT 0,
    pack_sha256       text NOT NULL DEFAULT '',
    commit            text NOT NULL DEFAULT '',
    head_commit       text NOT NULL DEFAULT '',
    head_ref          text NOT NULL DEFAULT '',
    files             integer NOT NULL DEFAULT 0,
    bytes             bigint NOT NULL DEFAULT 0,
    has_index         boolean NOT NULL DEFAULT false,
    has_git_state     boolean NOT NULL DEFAULT false,
    sequence          bigint NOT NULL DEFAULT 0,
    tool_call_id      text NOT NULL DEFAULT '',
    running_tool_call text NOT NULL DEFAULT '',
    run_id            text NOT NULL DEFAULT '',
    transcript_bytes  bigint NOT NULL DEFAULT 0,
    torn              boolean NOT NULL DEFAULT false,
    left_out          text[] NOT NULL DEFAULT '{}',
    files_only        boolean NOT NULL DEFAULT false,
    taken_at          timestamptz,
    PRIMARY KEY (task_id, attempt, number)
);
CREATE INDEX checkpoints_of_sandbox ON checkpoints (sandbox_id);
COMMENT ON TABLE checkpoints IS 'The files of the workspace of an attempt at one event, with the position of the session in its transcript. '
    'omoi-agent first sends the pack in chunks, then the other columns: the checkpoint is sealed.';
COMMENT ON COLUMN checkpoints.task_id IS 'Task of the attempt.';
COMMENT ON COLUMN checkpoints.attempt IS 'Number of the attempt in its task.';
COMMENT ON COLUMN checkpoints.number IS 'Number of the checkpoint in its attempt, from 1. omoi-agent may skip numbers.';
COMMENT ON COLUMN checkpoints.sandbox_id IS 'Sandbox of the attempt.';
COMMENT ON COLUMN checkpoints.created_at IS 'When the first chunk arrived.';
COMMENT ON COLUMN checkpoints.sealed_at IS 'When the server had the whole checkpoint. Null: omoi-agent still sends the pack.';
COMMENT ON COLUMN checkpoints.segment IS 'Number of the keyframe with which the segment begins. 0: not sealed.';
COMMENT ON COLUMN checkpoints.base_number IS 'Checkpoint of the attempt whose objects the pack needs. 0: the pack is a keyframe, or the checkpoint is not sealed.';
COMMENT ON COLUMN checkpoints.pack_bytes IS 'Stored bytes of the pack: all of them once the checkpoint is sealed.';
COMMENT ON COLUMN checkpoints.pack_sha256 IS 'SHA-256 of the pack, in hexadecimal. This and all later columns have their defaults until the checkpoint is sealed.';
COMMENT ON COLUMN checkpoints.commit IS 'Commit that holds the checkpoint: its tree has the entries work, index and state.';
COMMENT ON COLUMN checkpoints.head_commit IS 'Commit that was checked out. Empty: no commit, or no repository.';
COMMENT ON COLUMN checkpoints.head_ref IS 'Branch that was checked out. Empty: a detached HEAD, or no repository.';
COMMENT ON COLUMN checkpoints.files IS 'Number of files that differ from head_commit.';
COMMENT ON COLUMN checkpoints.bytes IS 'Size of these files, in bytes.';
COMMENT ON COLUMN checkpoints.has_index IS 'The state of the Git index is in the checkpoint.';
COMMENT ON COLUMN checkpoints.has_git_state IS 'A merge, rebase or similar operation was in progress; its state files are in the checkpoint.';
COMMENT ON COLUMN checkpoints.sequence IS 'Sequence of the event agent.checkpoint of the checkpoint. 0: the event was dropped.';
COMMENT ON COLUMN checkpoints.tool_call_id IS 'ID of the last tool call that had completed. Empty: none.';
COMMENT ON COLUMN checkpoints.running_tool_call IS 'Name of the tool call that was in progress. Empty: none.';
COMMENT ON COLUMN checkpoints.run_id IS 'Run whose transcript belongs to the checkpoint: transcripts.run_key. Empty: the agent keeps no transcript.';
COMMENT ON COLUMN checkpoints.transcript_bytes IS 'Length of this transcript at the checkpoint, with the bytes that were cut.';
COMMENT ON COLUMN checkpoints.torn IS 'Files changed while the checkpoint was taken, so that they may be of different moments.';
COMMENT ON COLUMN checkpoints.left_out IS 'What the checkpoint lacks, one sentence each.';
COMMENT ON COLUMN checkpoints.files_only IS 'Taken after the agent had ended, so that files may be newer than the position in the transcript.';
COMMENT ON COLUMN checkpoints.taken_at IS 'When the checkpoint was taken, by the clock of the sandbox. Null: not sealed.';

CREATE TABLE checkpoint_chunks (
    task_id     uuid NOT NULL,
    attempt     integer NOT NULL,
    number      integer NOT NULL,
    "offset"    bigint NOT NULL,
    content     bytea NOT NULL,
    PRIMARY KEY (task_id, attempt, number, "offset"),
    FOREIGN KEY (task_id, attempt, number) REFERENCES checkpoints ON DELETE CASCADE
);
ALTER TABLE checkpoint_chunks ALTER COLUMN content SET STORAGE EXTERNAL; -- packs are compressed
COMMENT ON TABLE checkpoint_chunks IS 'A part of the pack of a checkpoint: Git objects, as git pack-objects --thin writes them.';
COMMENT ON COLUMN checkpoint_chunks.task_id IS 'Task of the checkpoint.';
COMMENT ON COLUMN checkpoint_chunks.attempt IS 'Attempt of the checkpoint.';
COMMENT ON COLUMN checkpoint_chunks.number IS 'Number of the checkpoint in its attempt.';
COMMENT ON COLUMN checkpoint_chunks."offset" IS 'Position of the first byte in the pack, from 0. Chunks follow each other without gaps.';
COMMENT ON COLUMN checkpoint_chunks.content IS 'At most 4 MiB.';
