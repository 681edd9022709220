-- +goose Up

-- A page counts the tasks of an organization every few seconds. Rows of tasks are wide, so that a count reads this index alone.
CREATE INDEX tasks_counts ON tasks (organization_id, status, blocked_reason, project_id, agent) INCLUDE (sandbox_id);
