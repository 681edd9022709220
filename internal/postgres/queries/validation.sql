-- name: AcceptedVerdict :one
-- AcceptedVerdict returns the last verdict of a sandbox. For a foreign sandbox, an accepted verdict of another sandbox
-- counts too.
SELECT * FROM commands
WHERE task_id = @task_id AND kind = 'verdict' AND state IN ('accepted', 'carried_out')
    AND (args ->> 'sandbox_id' = @sandbox_id::text OR @is_foreign::boolean AND state = 'accepted' AND args ->> 'sandbox_id' <> '')
ORDER BY ordinal DESC LIMIT 1;

-- name: IsAttempt :one
SELECT EXISTS (SELECT FROM attempts WHERE task_id = @task_id AND sandbox_id = @sandbox_id);

-- name: LastWorkAttempt :one
-- LastWorkAttempt returns the newest attempt that is not a validator.
SELECT number, sandbox_id, head_commit FROM attempts WHERE task_id = @task_id AND kind <> 'validation' ORDER BY number DESC LIMIT 1;

-- name: InsertReview :exec
INSERT INTO validation_reviews (task_id, round, sandbox_id, attempt, given_by, passed, feedback, recommendations, evidence)
VALUES (@task_id, @round, @sandbox_id, @attempt, @given_by, @passed, @feedback, @recommendations, sqlc.narg('evidence'))
ON CONFLICT DO NOTHING;

-- name: Reviews :many
SELECT * FROM validation_reviews WHERE task_id = @task_id ORDER BY round;

-- name: ProjectValidates :one
SELECT coalesce(settings -> 'validate' = 'true', false)::boolean FROM projects WHERE id = @id;

-- name: AcceptedPass :one
-- AcceptedPass returns the verdict for which the work is being published.
SELECT * FROM commands WHERE task_id = @task_id AND kind = 'verdict' AND state = 'accepted' AND args -> 'ok' = 'true'
ORDER BY ordinal DESC LIMIT 1;

-- name: VerdictDue :one
-- VerdictDue reports whether a verdict of this sandbox is accepted and not settled.
SELECT EXISTS (SELECT FROM sandboxes s JOIN commands c ON c.task_id = s.task_id
    WHERE s.id = @sandbox_id AND c.kind = 'verdict' AND c.state = 'accepted' AND c.args ->> 'sandbox_id' = s.id);
