-- name: LastAttempt :one
SELECT sqlc.embed(a), sqlc.embed(s) FROM attempts a JOIN sandboxes s ON s.id = a.sandbox_id
WHERE a.task_id = @task_id ORDER BY a.number DESC LIMIT 1;

-- name: AttemptOf :one
-- AttemptOf returns the attempt that this run began at this ordinal.
SELECT sqlc.embed(a), sqlc.embed(s) FROM attempts a JOIN sandboxes s ON s.id = a.sandbox_id
WHERE a.task_id = @task_id AND a.run_id = @run_id AND a.ordinal = @ordinal;

-- name: InsertSandbox :exec
INSERT INTO sandboxes (id, organization_id, task_id, attempt, provider, host_bound, machine, host_id, labels)
VALUES (@id, @organization_id, @task_id, @attempt, @provider, @host_bound, @machine, sqlc.narg('host_id'), @labels);

-- name: InsertAttempt :exec
INSERT INTO attempts (task_id, number, sandbox_id, kind, run_id, ordinal, feedback_id, credential, takeover, restore_from)
VALUES (@task_id, @number, @sandbox_id, @kind, @run_id, @ordinal, sqlc.narg('feedback_id'), @credential, sqlc.narg('takeover'), @restore_from);

-- name: CountAttempt :exec
UPDATE tasks SET attempt_count = @number, waiting = NULL,
    replacement_count = replacement_count + CASE WHEN @kind::text = 'replacement' THEN 1 ELSE 0 END
WHERE id = @id;

-- name: WaitFor :exec
UPDATE tasks SET waiting = nullif(@reason::text, '')::jsonb, waiting_at = now()
WHERE id = @id AND waiting IS DISTINCT FROM nullif(@reason::text, '')::jsonb;

-- name: NoteTrouble :exec
-- NoteTrouble does not change ended tasks, which show their end reason.
UPDATE tasks SET waiting = nullif(@reason::text, '')::jsonb, waiting_at = now()
WHERE id = @id AND waiting IS DISTINCT FROM nullif(@reason::text, '')::jsonb AND status NOT IN ('completed', 'failed', 'cancelled');

-- name: NoteDoubt :exec
UPDATE tasks t SET waiting = nullif(@reason::text, '')::jsonb, waiting_at = now() FROM sandboxes s
WHERE s.id = @sandbox_id AND t.id = s.task_id AND t.sandbox_id = s.id AND (@reason::text <> '' OR t.waiting IS NOT NULL);

-- name: AssignAttempt :exec
UPDATE attempts SET assigned_at = coalesce(assigned_at, now()) WHERE task_id = @task_id AND sandbox_id = @sandbox_id;

-- name: EndAttempt :exec
WITH ended AS (
    UPDATE attempts SET ended_at = coalesce(ended_at, now()), outcome = @outcome, failure_class = @failure_class,
        reason = @reason, end_reason = nullif(@end_reason::text, '')::jsonb, stop_reason = @stop_reason
    WHERE attempts.task_id = @task_id AND attempts.number = @number
    RETURNING attempts.sandbox_id, attempts.tests_sandbox, attempts.ended_at
)
UPDATE sandboxes s SET ended_at = coalesce(s.ended_at, e.ended_at) FROM ended e WHERE s.id IN (e.sandbox_id, e.tests_sandbox);

-- name: EndOpenAttempts :exec
-- EndOpenAttempts ends open attempts except but, with the ends of their sandboxes.
WITH ended AS (
    UPDATE attempts SET ended_at = now(), outcome = 'failed', failure_class = @failure_class, reason = @reason,
        end_reason = nullif(@end_reason::text, '')::jsonb
    WHERE attempts.task_id = @task_id AND attempts.ended_at IS NULL AND attempts.number <> @but
    RETURNING attempts.sandbox_id, attempts.tests_sandbox, attempts.ended_at
)
UPDATE sandboxes s SET ended_at = coalesce(s.ended_at, e.ended_at) FROM ended e WHERE s.id IN (e.sandbox_id, e.tests_sandbox);

-- name: SaveHead :execrows
UPDATE attempts SET head_commit = @head_commit WHERE task_id = @task_id AND number = @number;

-- name: Pushed :one
-- Pushed returns whether omoi has pushed commits of an attempt of a task, whatever its agents report.
SELECT EXISTS (SELECT FROM attempts a JOIN tasks t ON t.id = a.task_id
    WHERE a.task_id = @task_id AND a.head_commit IS NOT NULL AND a.head_commit IS DISTINCT FROM t.base_commit);

-- name: SaveBranchCommit :exec
UPDATE attempts SET branch_commit = @branch_commit WHERE sandbox_id = @sandbox_id;

-- name: LockHosts :exec
-- LockHosts serializes the choice of hosts, so that no host exceeds its capacity.
SELECT pg_advisory_xact_lock(hashtextextended('omoi hosts', 0));

-- name: ChooseHost :one
-- ChooseHost returns the host with the most room that has a recent heartbeat, is not lost and offers the provider.
SELECT h.id FROM hosts h
LEFT JOIN LATERAL (
    SELECT count(*) AS busy FROM sandboxes s
    WHERE s.host_id = h.id AND s.verified_at IS NULL AND s.machine AND s.state NOT IN ('gone', 'lost')
) b ON true
WHERE h.lost_at IS NULL AND h.seen_at > now() - @fresh::interval AND @provider::text = ANY (h.providers)
    AND (h.capacity = 0 OR b.busy < h.capacity)
ORDER BY b.busy / greatest(h.capacity, 1)::float8, b.busy, h.id
LIMIT 1;

-- name: HostsOffering :one
-- HostsOffering counts the hosts that offer the provider, with or without room.
SELECT count(*) FROM hosts
WHERE lost_at IS NULL AND seen_at > now() - @fresh::interval AND @provider::text = ANY (providers);

-- name: Unverified :one
-- Unverified counts the sandboxes of the provider whose attempt has ended and that may still exist, and the concurrency
-- limits of all projects. A deleted sandbox that was seen before only waits for its second check and does not count. A
-- sandbox that was never seen may still appear.
SELECT (SELECT count(*) FROM sandboxes s
        WHERE s.provider = @provider AND s.verified_at IS NULL AND s.machine AND s.state <> 'lost'
            AND s.ended_at IS NOT NULL AND (s.gone_at IS NULL OR s.made_at IS NULL))::bigint AS unverified,
    (SELECT coalesce(sum(max_slots), 0) FROM projects WHERE deleted_at IS NULL)::bigint AS slots;

-- name: RanOut :one
-- RanOut counts earlier attempts of a task that failed for lack of memory or disk.
SELECT count(*)::bigint FROM attempts WHERE task_id = @task_id AND number < @before AND failure_class = @failure_class;

-- name: EndStrayAttempts :exec
-- EndStrayAttempts ends attempts that no run will end: open attempts of ended tasks, and open attempts before a later
-- one.
WITH ended AS (
    UPDATE attempts a SET ended_at = now(), outcome = 'failed', failure_class = @failure_class,
        reason = CASE WHEN o.ended THEN @at_end::text ELSE @by_reset::text END,
        end_reason = CASE WHEN o.ended THEN @at_end_reason::jsonb ELSE @by_reset_reason::jsonb END
    FROM tasks t CROSS JOIN LATERAL (SELECT t.status IN ('completed', 'failed', 'cancelled') AS ended) o WHERE t.id = a.task_id AND a.ended_at IS NULL AND (o.ended
        OR EXISTS (SELECT FROM attempts later WHERE later.task_id = a.task_id AND later.number > a.number))
    RETURNING a.sandbox_id, a.tests_sandbox, a.ended_at
)
UPDATE sandboxes s SET ended_at = coalesce(s.ended_at, e.ended_at) FROM ended e WHERE s.id IN (e.sandbox_id, e.tests_sandbox);

-- name: AttemptForTests :one
-- AttemptForTests locks a running attempt that gets a sandbox for the repeat of its tests.
SELECT sqlc.embed(a), sqlc.embed(s) FROM attempts a JOIN sandboxes s ON s.id = a.sandbox_id
WHERE a.task_id = @task_id AND a.number = @number AND a.ended_at IS NULL FOR UPDATE OF a;

-- name: SetTestsSandbox :exec
UPDATE attempts SET tests_sandbox = @sandbox_id::text WHERE task_id = @task_id AND number = @number;

-- name: SaveTestRepeat :execrows
UPDATE attempts SET test_repeat = @test_repeat WHERE task_id = @task_id AND number = @number;

-- name: TestRepeat :one
-- TestRepeat returns the newest repeat of a test command for a commit of a task, without those whose sandbox failed.
SELECT test_repeat FROM attempts
WHERE task_id = @task_id AND test_repeat ->> 'commit' = @commit::text AND test_repeat ->> 'command' = @command::text AND test_repeat ->> 'why' <> @unavailable::text
ORDER BY number DESC LIMIT 1;
