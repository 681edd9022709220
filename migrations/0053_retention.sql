-- +goose Up
-- What retention has removed of a sandbox or a task. A row is written before anything is removed; done says
-- that nothing is left to remove.
CREATE TABLE removals (
    subject     text NOT NULL,                  -- ID of a sandbox; of branches and refs: of a task
    kind        text NOT NULL,                  -- as in the settings of the group retention
    removed_at  timestamptz NOT NULL,
    done        boolean NOT NULL DEFAULT false,
    PRIMARY KEY (subject, kind)
);
CREATE INDEX removals_open ON removals (kind, subject) WHERE NOT done;

-- Tasks that have ended: final, no retry on its way, and no sandbox that may still exist or report.
CREATE VIEW ended_tasks AS
SELECT t.id, t.completed_at AS ended_at FROM tasks t
WHERE t.status IN ('completed', 'failed', 'cancelled') AND t.completed_at IS NOT NULL
    AND NOT EXISTS (SELECT FROM sandboxes o WHERE o.task_id = t.id AND o.verified_at IS NULL AND o.state <> 'lost'
        AND NOT (o.state = 'gone' AND o.provider IN ('external', 'bare')))
    AND NOT EXISTS (SELECT FROM commands c WHERE c.task_id = t.id AND c.state = 'accepted' AND c.kind IN ('start', 'retry'));

-- Their sandboxes, and those without a task that are gone.
CREATE VIEW ended_sandboxes AS
SELECT s.id, s.birth, s.head, s.salvage, s.task_id,
    greatest(e.ended_at, s.verified_at, s.gone_at, CASE WHEN s.state = 'lost' THEN s.ended_at END) AS ended_at
FROM sandboxes s LEFT JOIN ended_tasks e ON e.id = s.task_id
WHERE e.id IS NOT NULL OR (s.task_id IS NULL AND (s.verified_at IS NOT NULL OR s.state = 'lost'
    OR (s.state = 'gone' AND s.provider IN ('external', 'bare'))));

-- +goose Down
DROP VIEW ended_sandboxes, ended_tasks;
DROP TABLE removals;
