-- name: FeedbackTask :one
-- FeedbackTask returns the newest task of a pull request or branch, the first task of that pull request, and whether
-- its opener's account belongs to a user: the user's own token opened it, and no agent has that token.
SELECT t.id, t.organization_id, coalesce(f.root_id, t.id)::uuid AS root_id, p.on_feedback,
    (EXISTS (SELECT FROM credentials c WHERE c.user_id = t.user_id AND c.kind = 'github')
        AND NOT coalesce(t.execution_config -> 'credentials' ? 'github', false))::boolean AS opened_by_person,
    coalesce(s.state, '')::text AS pull_state
FROM projects p JOIN tasks t ON t.project_id = p.id
LEFT JOIN follow_ups f ON f.task_id = t.id
LEFT JOIN pull_request_states s ON s.root_id = coalesce(f.root_id, t.id)
WHERE lower(p.repo) = lower(@repo::text) AND p.repo <> ''
    AND (t.pull_request_number = ANY (@numbers::integer[]) OR t.branch_name = ANY (@branches::text[]))
ORDER BY t.created_at DESC, t.id DESC LIMIT 1;

-- name: InsertFeedback :execrows
-- InsertFeedback inserts no row for a known delivery, a known content, or a commit that already has feedback if whole
-- is set.
INSERT INTO feedback (id, delivery, digest, root_id, kind, subject, commit, author, note, said, url, due_at)
SELECT @id, @delivery, @digest, @root_id, @kind, @subject, @commit, @author, @note, @said, @url,
    now() + @settle::interval
WHERE NOT (@whole::boolean AND EXISTS (SELECT FROM feedback WHERE root_id = @root_id AND commit = @commit))
ON CONFLICT DO NOTHING;

-- name: CountFeedback :one
SELECT count(*) FROM feedback WHERE root_id = @root_id;

-- name: PruneFeedback :exec
-- PruneFeedback runs with each new feedback and deletes old ignored feedback: a replay of it is too old by now.
DELETE FROM feedback WHERE id = ANY (ARRAY(
    SELECT f.id FROM feedback f WHERE f.state = 'ignored' AND f.created_at < now() - @keep::interval
    ORDER BY f.created_at LIMIT 50 FOR UPDATE SKIP LOCKED));

-- name: SavePullState :exec
INSERT INTO pull_request_states (root_id, state, at) VALUES (@root_id, @state, @at)
ON CONFLICT (root_id) DO UPDATE SET state = excluded.state, at = excluded.at
    WHERE pull_request_states.at <= excluded.at;

-- name: HeardFeedback :exec
-- HeardFeedback records feedback that an agent acknowledged, and makes feedback pending again that the agent did not
-- read before it exited.
UPDATE feedback f SET state = CASE WHEN m.state IN ('taken_up', 'answered') THEN 'heard' ELSE 'held' END,
    due_at = now(),
    message_id = CASE WHEN m.state IN ('taken_up', 'answered') THEN f.message_id END,
    task_id = CASE WHEN m.state IN ('taken_up', 'answered') THEN f.task_id END
FROM messages m WHERE f.state = 'sent' AND m.id = f.message_id AND (m.state NOT IN ('accepted', 'delivered')
    OR m.settled_at IS NOT NULL AND EXISTS (SELECT FROM sandboxes s WHERE s.id = m.sandbox_id
        AND s.ended_at IS NOT NULL));

-- name: DueFeedback :many
-- DueFeedback returns the pull requests with due feedback.
SELECT root_id FROM feedback WHERE state = 'held' AND due_at <= now() GROUP BY root_id ORDER BY min(due_at) LIMIT @most;

-- name: TryFeedback :one
-- TryFeedback locks a pull request for one process until its transaction ends.
SELECT pg_try_advisory_xact_lock(hashtextextended('omoi feedback ' || @root_id::text, 0));

-- name: LockFollowUps :exec
-- LockFollowUps waits for the lock of TryFeedback.
SELECT pg_advisory_xact_lock(hashtextextended('omoi feedback ' || @root_id::text, 0));

-- name: HeldFeedback :many
SELECT id, note, said, url, (extract(epoch FROM now() - created_at))::double precision AS age
FROM feedback WHERE root_id = @root_id AND state = 'held' ORDER BY ordinal FOR UPDATE;

-- name: FeedbackChain :one
-- FeedbackChain returns the newest task of a pull request, and what determines its handling: started is the number of
-- follow-up tasks that feedback created, rounds of all.
SELECT sqlc.embed(t), p.on_feedback, p.repo, coalesce(s.state, '')::text AS pull_state,
    r.rounds, r.started
FROM tasks t JOIN projects p ON p.id = t.project_id LEFT JOIN pull_request_states s ON s.root_id = @root_id
CROSS JOIN (SELECT count(*)::integer AS rounds, (count(*) FILTER (WHERE NOT x.user_requested))::integer AS started
    FROM follow_ups f JOIN tasks x ON x.id = f.task_id WHERE f.root_id = @root_id) r
WHERE t.id = @root_id OR t.id IN (SELECT f.task_id FROM follow_ups f WHERE f.root_id = @root_id)
ORDER BY t.created_at DESC, t.id DESC LIMIT 1;

-- name: TaskText :one
SELECT title, description FROM tasks WHERE id = @id;

-- name: SettleFeedback :exec
UPDATE feedback SET state = @state, reason = @reason, task_id = sqlc.narg('task_id'),
    message_id = sqlc.narg('message_id')
WHERE id = ANY (@ids::uuid[]);

-- name: WaitFeedback :exec
UPDATE feedback SET reason = @reason, due_at = now() + @pause::interval WHERE id = ANY (@ids::uuid[]);

-- name: GoOnWith :exec
-- GoOnWith gives a follow-up task the branch and pull request of another one. The base commit is stored later with the branch.
UPDATE tasks t SET user_requested = @user_requested, branch_name = o.branch_name,
    pull_request_url = o.pull_request_url, pull_request_number = o.pull_request_number
FROM tasks o WHERE t.id = @id AND o.id = @follows;

-- name: InsertFollowUp :exec
INSERT INTO follow_ups (task_id, root_id, follows, round) VALUES (@task_id, @root_id, @follows, @round);

-- name: FeedbackRoot :one
SELECT coalesce(f.root_id, t.id)::uuid AS root_id, coalesce(f.follows::text, '')::text AS follows, coalesce(s.state,
    '')::text AS pull_state,
    ARRAY(SELECT x.task_id::text FROM follow_ups x WHERE x.root_id = coalesce(f.root_id, t.id)
        ORDER BY x.round)::text[] AS followers
FROM tasks t LEFT JOIN follow_ups f ON f.task_id = t.id
    LEFT JOIN pull_request_states s ON s.root_id = coalesce(f.root_id, t.id)
WHERE t.organization_id = @organization_id AND t.id = @id;

-- name: ListFeedback :many
SELECT kind, author, note, url, state, reason, coalesce(task_id::text, '')::text AS task_id,
    coalesce(message_id::text, '')::text AS message_id, created_at
FROM feedback WHERE root_id = @root_id ORDER BY ordinal;
