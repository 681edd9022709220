-- +goose Up

LOCK TABLE task_briefs IN ACCESS EXCLUSIVE MODE; -- readers lock the view before the table
ALTER TABLE tasks ADD COLUMN key text;
COMMENT ON COLUMN tasks.key IS 'Key of the project, a hyphen and the number of the task in the project.';
UPDATE tasks t SET key = p.key || '-' || n.number
FROM (SELECT id, row_number() OVER (PARTITION BY project_id ORDER BY created_at, id) AS number FROM tasks) n, projects p
WHERE n.id = t.id AND p.id = t.project_id;
INSERT INTO project_numbers (project_id, kind, last) SELECT project_id, 'tasks', count(*) FROM tasks GROUP BY project_id;
ALTER TABLE tasks ALTER COLUMN key SET NOT NULL;
CREATE UNIQUE INDEX tasks_key ON tasks (organization_id, key);
CREATE TRIGGER task_key BEFORE INSERT ON tasks FOR EACH ROW EXECUTE FUNCTION omoi_set_key('-');

CREATE OR REPLACE VIEW task_briefs AS
SELECT id, organization_id, project_id, ticket_id, title, description, task_type, phase_id, priority, mode, agent, provider,
    continuous, user_requested, max_retries, execution_config, budget, deadline_at, status, blocked_reason, sandbox_id,
    assigned_agent_id, branch_name, base_commit, pull_request_url, pull_request_number, omoi_brief(result) AS result,
    error_message, failure_class, end_reason, retry_count, revision_count, replacement_count, attempt_count, first_run_id, run_id, ordinal,
    assigned_at, started_at, completed_at, queued_at, queue_position, queue_reason, score, created_at, updated_at, waiting, waiting_at,
    user_id, validation_rounds, key
FROM tasks;
COMMENT ON VIEW task_briefs IS 'One task as lists show the task: all columns in their order, the result shortened.';
