-- name: UseNoCredential :exec
-- The newest attempt of a task was given no credential: what it was to be given is not what it works with.
UPDATE attempts a SET credential = 'task ' || a.task_id
WHERE a.task_id = @task_id AND a.credential LIKE 'installation %'
    AND a.number = (SELECT max(n.number) FROM attempts n WHERE n.task_id = @task_id);
