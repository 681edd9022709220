-- +goose Up

LOCK TABLE task_briefs IN ACCESS EXCLUSIVE MODE; -- readers lock the view before the table
ALTER TABLE tasks ADD COLUMN forked_from jsonb, ADD COLUMN earlier_branches text[] NOT NULL DEFAULT '{}';
COMMENT ON COLUMN tasks.forked_from IS 'Task and checkpoint with which a fork began (task.ForkedFrom). Its attempt 0 has copies of the checkpoints. Null: not a fork.';
COMMENT ON COLUMN tasks.earlier_branches IS 'Branches that the task had before a rewind behind published commits continued on a new one, oldest first.';
COMMENT ON COLUMN tasks.base_commit IS 'Commit from which the branch starts; for a fork known before the branch exists.';

ALTER TABLE attempts ADD COLUMN branch_commit text NOT NULL DEFAULT '';
COMMENT ON COLUMN attempts.branch_commit IS 'Commit of the branch that the sandbox got. Empty: none yet, no repository, or of an older version.';
COMMENT ON COLUMN attempts.kind IS 'first, retry, revision, replacement, resumed, rewound, forked or validation.';
COMMENT ON COLUMN checkpoints.attempt IS 'Number of the attempt in its task. 0: a copy from the task of which this one is a fork.';
COMMENT ON COLUMN checkpoints.sandbox_id IS 'Sandbox of the attempt. Empty: of attempt 0.';
COMMENT ON COLUMN transcripts.sandbox_id IS 'Sandbox of the run. Empty: a copy from the task of which this one is a fork.';

CREATE OR REPLACE VIEW task_briefs AS
SELECT id, organization_id, project_id, ticket_id, title, description, task_type, phase_id, priority, mode, agent, provider,
    continuous, user_requested, max_retries, execution_config, budget, deadline_at, status, blocked_reason, sandbox_id,
    assigned_agent_id, branch_name, base_commit, pull_request_url, pull_request_number, omoi_brief(result) AS result,
    error_message, failure_class, end_reason, retry_count, revision_count, replacement_count, attempt_count, first_run_id, run_id, ordinal,
    assigned_at, started_at, completed_at, queued_at, queue_position, queue_reason, score, created_at, updated_at, waiting, waiting_at,
    user_id, validation_rounds, key, forked_from, earlier_branches
FROM tasks;
