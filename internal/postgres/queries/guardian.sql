-- name: BeginGuardianCycle :one
-- BeginGuardianCycle changes no row if the cycle exists.
INSERT INTO guardian_cycles (id) VALUES (@id) ON CONFLICT (id) DO UPDATE SET id = excluded.id RETURNING *;

-- name: EndGuardianCycle :exec
WITH pulse AS (
    INSERT INTO component_heartbeats (part, at) VALUES ('guardian', now()) ON CONFLICT (part) DO UPDATE SET at = now()
)
UPDATE guardian_cycles SET ended_at = now(), active = @active, judged = @judged, standing = @standing, failed = @failed,
    acted = @acted
WHERE id = @id;

-- name: ActiveSandboxIDs :many
SELECT s.id FROM tasks t JOIN sandboxes s ON s.id = t.sandbox_id
WHERE omoi_active(t.status, s.ended_at) ORDER BY s.id;

-- name: ActiveOf :many
-- ActiveOf returns the active sandboxes of an organization, oldest first.
SELECT s.id, t.id AS task_id, t.phase_id FROM tasks t JOIN sandboxes s ON s.id = t.sandbox_id
WHERE t.organization_id = @organization_id AND omoi_active(t.status, s.ended_at) ORDER BY s.created_at, s.id;

-- name: ActiveByAnyID :many
-- ActiveByAnyID resolves the ID of a sandbox (with or without the prefix agent-), else of a task, else the ID that an
-- agent reported, which two agents may share. The project is optional.
SELECT s.id, (CASE @id::text WHEN s.id THEN 1 WHEN 'agent-' || s.id THEN 2 WHEN t.id::text THEN 3
    ELSE 4 END)::integer AS rank
FROM tasks t JOIN sandboxes s ON s.id = t.sandbox_id
WHERE t.organization_id = @organization_id AND omoi_active(t.status, s.ended_at)
    AND @id::text IN (s.id, 'agent-' || s.id, t.id::text, t.assigned_agent_id)
    AND (@project_id::text = '' OR t.project_id::text = @project_id::text)
ORDER BY rank LIMIT 2;

-- name: WatchedSandboxes :many
-- WatchedSandboxes returns active sandboxes in order of their IDs, above after and up to upto, or a single one. A
-- validator has the mode validation instead of the task's mode.
SELECT s.id, s.partition_month, s.last_sequence, s.counters, s.cost_usd,
    (s.input_tokens + s.output_tokens)::bigint AS tokens, coalesce(s.attempt, 0)::integer AS attempt,
    t.id AS task_id, t.organization_id, t.project_id, t.title, t.description, t.task_type,
    CASE WHEN a.kind = 'validation' THEN a.kind ELSE t.mode END::text AS mode,
    coalesce(CASE WHEN a.kind = 'validation' THEN nullif(t.execution_config -> 'validator' ->> 'agent', '') END,
        t.agent)::text AS agent, t.phase_id, t.execution_config, t.budget,
    t.replacement_count, p.auto_steering, p.settings, now()::timestamptz AS at,
    coalesce((SELECT to_jsonb(c) FROM task_contracts c WHERE c.task_id = t.id ORDER BY c.version DESC LIMIT 1), 'null')::jsonb AS contract,
    (extract(epoch FROM now() - coalesce(a.assigned_at, a.started_at, s.created_at))
        - CASE WHEN s.host_bound THEN omoi_frozen_seconds(coalesce(a.assigned_at, a.started_at, s.created_at), now())
            ELSE 0 END)::float8 AS age,
    coalesce((SELECT extract(epoch FROM now() - g.judged_at) FROM guardian_analyses g WHERE g.sandbox_id = s.id
        ORDER BY g.judged_at DESC LIMIT 1), -1)::float8 AS last_judged,
    EXISTS (SELECT FROM guardian_analyses g WHERE g.cycle_id = @cycle_id AND g.sandbox_id = s.id)::boolean AS in_cycle
FROM tasks t JOIN sandboxes s ON s.id = t.sandbox_id JOIN projects p ON p.id = t.project_id
    LEFT JOIN attempts a ON a.sandbox_id = s.id
WHERE omoi_active(t.status, s.ended_at) AND (s.id = @one::text OR @one::text = '' AND s.id > @after::text
    AND s.id <= @upto::text)
ORDER BY s.id LIMIT @most;

-- name: WordsOfPeople :many
-- WordsOfPeople returns the newest messages of users that the agent of each sandbox acknowledged, oldest first, and the refusal
-- whose call each of them allows.
SELECT m.sandbox_id, m.id, m.words, m.allows
FROM unnest(@ids::text[]) AS b(id)
CROSS JOIN LATERAL (
    SELECT n.sandbox_id, n.id, left(n.content, 400)::text AS words, n.ordinal,
        coalesce(CASE WHEN n.key_scope = @allow_scope::text || n.sandbox_id THEN n.idempotency_key END, '')::text AS allows
    FROM messages n
    WHERE n.sandbox_id = b.id AND n.sender_kind = 'person' AND n.state IN ('taken_up', 'answered')
    ORDER BY n.ordinal DESC LIMIT 50
) m ORDER BY m.sandbox_id, m.ordinal;

-- name: WatchedEvents :many
-- WatchedEvents returns the newest events of each sandbox, oldest first. Of heartbeats, only the newest one is
-- included, if it is recent.
SELECT e.sandbox_id, e.sequence, e.event_type, e.event_data, e.created_at,
    EXISTS (SELECT FROM sandboxes s WHERE s.id = b.id AND s.host_bound)::boolean AS freezes
FROM (SELECT unnest(@ids::text[]) AS id, unnest(@partition_months::date[]) AS partition_month,
    unnest(@last_sequences::bigint[]) AS last_sequence) b
CROSS JOIN LATERAL (
    (SELECT n.sandbox_id, n.sequence, n.event_type, n.event_data, n.created_at FROM sandbox_events n
        WHERE n.partition_month = b.partition_month AND n.sandbox_id = b.id AND n.sequence <= b.last_sequence
            AND n.event_type <> ALL (@heartbeats::text[])
        ORDER BY n.sequence DESC LIMIT @newest)
    UNION ALL
    (SELECT h.sandbox_id, h.sequence, h.event_type, h.event_data, h.created_at FROM sandbox_events h
        WHERE h.partition_month = b.partition_month AND h.sandbox_id = b.id
            AND h.sequence > b.last_sequence - @newest::bigint AND h.sequence <= b.last_sequence
            AND h.event_type = ANY (@heartbeats::text[])
        ORDER BY h.sequence DESC LIMIT 1)
) e ORDER BY e.sandbox_id, e.sequence;

-- name: InsertAnalysis :execrows
-- InsertAnalysis inserts no row if the cycle has an analysis of the sandbox.
INSERT INTO guardian_analyses (id, cycle_id, sandbox_id, organization_id, task_id, attempt, spoken_by, verdict,
    alignment_score,
    needs_steering, steering_type, current_focus, confidence, first_seen, last_seen, analysis, subject, rules,
        judged_at)
VALUES (@id, @cycle_id, @sandbox_id, @organization_id, @task_id, @attempt, @spoken_by, @verdict,
    sqlc.narg('alignment_score'),
    @needs_steering, @steering_type, @current_focus, @confidence, @first_seen, @last_seen, @analysis, @subject, @rules,
        @judged_at)
ON CONFLICT (cycle_id, sandbox_id) DO NOTHING;

-- name: ForgetAnalyses :exec
-- ForgetAnalyses deletes old analyses that led to no intervention and that no user rated.
DELETE FROM guardian_analyses WHERE id = ANY (ARRAY(
    SELECT g.id FROM guardian_analyses g WHERE g.judged_at < now() - @keep::interval
        AND NOT EXISTS (SELECT FROM interventions i WHERE i.analysis_id = g.id)
        AND NOT EXISTS (SELECT FROM guardian_ratings r WHERE r.analysis_id = g.id) ORDER BY g.judged_at LIMIT 5000));

-- name: ForgetCycles :exec
DELETE FROM guardian_cycles WHERE started_at < now() - @keep::interval;

-- name: Analyses :many
SELECT * FROM guardian_analyses
WHERE organization_id = @organization_id AND (sqlc.narg('task_ids')::uuid[] IS NULL
    OR task_id = ANY(sqlc.narg('task_ids')::uuid[]))
  AND (sqlc.narg('before_at')::timestamptz IS NULL
       OR (judged_at, id) < (sqlc.narg('before_at')::timestamptz, sqlc.narg('before_id')::uuid))
ORDER BY judged_at DESC, id DESC LIMIT @max_rows;

-- name: NewestAnalyses :many
-- NewestAnalyses returns the newest analysis of each sandbox that is at most fresh old.
SELECT DISTINCT ON (g.sandbox_id) g.* FROM guardian_analyses g
WHERE g.sandbox_id = ANY (@ids::text[]) AND g.judged_at > now() - @fresh::interval
ORDER BY g.sandbox_id, g.judged_at DESC;

-- name: LockSteering :exec
-- LockSteering serializes interventions in one sandbox.
SELECT pg_advisory_xact_lock(hashtextextended('omoi steering ' || @sandbox_id::text, 0));

-- name: PastInterventions :many
-- PastInterventions returns the earlier interventions of an attempt, executed or in shadow mode, newest first.
SELECT i.level, extract(epoch FROM now() - i.planned_at)::float8 AS age, coalesce(m.state IN ('taken_up', 'answered'),
    false)::boolean AS taken
FROM interventions i LEFT JOIN messages m ON m.id = i.message_id
WHERE i.sandbox_id = @sandbox_id AND i.shadow = @shadow AND i.level <> 'observe' AND i.state IN ('planned', 'recorded',
    'sent')
ORDER BY i.planned_at DESC, i.id DESC;

-- name: InsertIntervention :exec
INSERT INTO interventions (id, analysis_id, organization_id, task_id, sandbox_id, attempt, level, steering_type,
    content, confidence,
    shadow, state, reason, settled_at)
VALUES (@id, @analysis_id, @organization_id, @task_id, @sandbox_id, @attempt, @level, @steering_type, @content,
    @confidence,
    @shadow, @state, @reason, CASE WHEN @state = 'recorded' THEN now() END);

-- name: TellSteering :exec
-- TellSteering writes a bus event under the name that OmoiOS used.
INSERT INTO bus_events (organization_id, event_type, entity_type, entity_id, payload)
VALUES (@organization_id, @event_type, @entity_type, @entity_id, @payload);

-- name: PlannedInterventions :many
SELECT * FROM interventions WHERE state = 'planned' AND sandbox_id > @after::text AND sandbox_id <= @upto::text
    ORDER BY planned_at, id;

-- name: ExpireInterventions :exec
UPDATE interventions SET state = 'expired', settled_at = now(), reason = reason || '; nobody carried it out in time'
WHERE state = 'planned' AND planned_at < now() - @stale::interval;

-- name: LockIntervention :one
SELECT * FROM interventions WHERE id = @id FOR UPDATE;

-- name: SettleIntervention :execrows
UPDATE interventions SET state = @state, reason = CASE WHEN @reason::text = '' THEN reason
    ELSE reason || '; ' || @reason::text END,
    message_id = coalesce(sqlc.narg('message_id'), message_id), command_id = coalesce(sqlc.narg('command_id'),
        command_id), settled_at = now()
WHERE id = @id AND state = @was;

-- name: Interventions :many
SELECT sqlc.embed(i), coalesce(m.state, '')::text AS message_state, coalesce(c.state, '')::text AS command_state,
    t.key AS task_key
FROM interventions i JOIN tasks t ON t.id = i.task_id LEFT JOIN messages m ON m.id = i.message_id LEFT JOIN commands c ON c.id = i.command_id
WHERE i.organization_id = @organization_id AND (sqlc.narg('task_ids')::uuid[] IS NULL
    OR i.task_id = ANY(sqlc.narg('task_ids')::uuid[]))
  AND (sqlc.narg('id')::uuid IS NULL OR i.id = sqlc.narg('id')::uuid)
  AND (sqlc.narg('before_at')::timestamptz IS NULL
       OR (i.planned_at, i.id) < (sqlc.narg('before_at')::timestamptz, sqlc.narg('before_id')::uuid))
ORDER BY i.planned_at DESC, i.id DESC LIMIT @max_rows;

-- name: RateIntervention :one
INSERT INTO guardian_ratings (analysis_id, rule, rated_by, rating, reason)
SELECT i.analysis_id, '', @rated_by, @rating, @reason FROM interventions i
WHERE i.organization_id = @organization_id AND i.id = @id
ON CONFLICT (analysis_id, rule, rated_by) DO UPDATE SET rating = excluded.rating, reason = excluded.reason,
    rated_at = excluded.rated_at
RETURNING rated_at;

-- name: RateFinding :one
-- RateFinding returns no row if the analysis has no finding of the rule.
INSERT INTO guardian_ratings (analysis_id, rule, rated_by, rating, reason)
SELECT g.id, @rule::text, @rated_by, @rating, @reason FROM guardian_analyses g
WHERE g.organization_id = @organization_id AND g.id = @id AND @rule::text <> ''
    AND jsonb_path_exists(g.analysis, '$.findings[*] ? (@.rule == $rule)', jsonb_build_object('rule', @rule::text))
ON CONFLICT (analysis_id, rule, rated_by) DO UPDATE SET rating = excluded.rating, reason = excluded.reason,
    rated_at = excluded.rated_at
RETURNING rated_at;

-- name: NewestRatings :many
-- NewestRatings returns the newest rating of each intervention and finding of these analyses.
SELECT DISTINCT ON (r.analysis_id, r.rule) r.* FROM guardian_ratings r WHERE r.analysis_id = ANY (@ids::uuid[])
ORDER BY r.analysis_id, r.rule, r.rated_at DESC, r.rated_by;

-- name: RatingCounts :many
-- RatingCounts counts interventions (the empty rule) and findings by rule, with their newest ratings. Interventions of
-- the level observe, and findings that did not steer, count only if they are rated. Each row has the number of analyses whose
-- intervention, or one of whose findings, was last rated wrong.
WITH rated AS (
    SELECT DISTINCT ON (r.analysis_id, r.rule) r.analysis_id, r.rule, r.rating
    FROM guardian_ratings r JOIN guardian_analyses g ON g.id = r.analysis_id
    WHERE g.organization_id = @organization_id AND g.judged_at >= @since
    ORDER BY r.analysis_id, r.rule, r.rated_at DESC, r.rated_by
), every AS (
    SELECT i.analysis_id, ''::text AS rule FROM interventions i
    WHERE i.organization_id = @organization_id AND i.planned_at >= @since AND i.level <> 'observe'
    UNION
    SELECT g.id, f.finding ->> 'rule' FROM guardian_analyses g
    CROSS JOIN LATERAL jsonb_path_query(g.analysis, '$.findings[*]') f(finding)
    WHERE g.organization_id = @organization_id AND g.judged_at >= @since AND g.needs_steering
    UNION
    SELECT analysis_id, rule FROM rated
)
SELECT e.rule::text AS rule, count(*)::integer AS total, (count(*) FILTER (WHERE r.rating = 'right'))::integer AS right_ones,
    (count(*) FILTER (WHERE r.rating = 'wrong'))::integer AS wrong_ones,
    (SELECT count(DISTINCT w.analysis_id) FROM rated w WHERE w.rating = 'wrong')::integer AS false_positives
FROM every e LEFT JOIN rated r USING (analysis_id, rule) GROUP BY e.rule ORDER BY e.rule;

-- name: AgentHours :one
-- AgentHours sums the time of the attempts since a moment, without frozen time. Sandboxes of attempts that ran then were
-- created after earliest.
SELECT (coalesce(sum(extract(epoch FROM p.until - p.since)
    - CASE WHEN p.host_bound THEN omoi_frozen_seconds(p.since, p.until) ELSE 0 END), 0) / 3600)::float8 AS hours
FROM (
    SELECT greatest(a.started_at, @since::timestamptz) AS since, coalesce(a.ended_at, now()) AS until, s.host_bound
    FROM sandboxes s JOIN attempts a ON a.sandbox_id = s.id
    WHERE s.organization_id = @organization_id AND s.created_at >= @earliest
) p WHERE p.until > p.since;

-- name: CountSteered :one
-- CountSteered counts the interventions of an organization that were sent.
SELECT count(*) FROM interventions WHERE organization_id = @organization_id AND state = 'sent';

-- name: WithdrawMessage :execrows
-- WithdrawMessage expires a message that the agent has not received; for an interrupt also the message after it.
UPDATE messages m SET state = 'expired', settled_at = now(), lease_until = NULL, reason = @reason
WHERE m.state = 'accepted' AND (m.id = @id OR (m.key_scope, m.idempotency_key) = (SELECT f.key_scope,
    f.idempotency_key || ':go-on'
    FROM messages f WHERE f.id = @id AND f.state = 'accepted'));

-- name: LastCycle :many
SELECT * FROM guardian_cycles ORDER BY started_at DESC LIMIT 1;

-- name: CycleCounts :one
SELECT count(*) AS total, count(*) FILTER (WHERE ended_at IS NOT NULL AND failed = 0) AS succeeded,
    count(*) FILTER (WHERE ended_at IS NOT NULL AND failed > 0 OR ended_at IS NULL
        AND started_at < now() - interval '10 minutes') AS failed,
    coalesce((SELECT greatest(extract(epoch FROM now() - p.at), 0) FROM component_heartbeats p
        WHERE p.part = 'guardian'), -1)::float8 AS last_age
FROM guardian_cycles;

-- name: Unwatched :one
-- Unwatched returns how long agents have been active without a cycle of the component part: the smaller of its silence
-- and the age of the oldest active task; below 0: no agent is active.
SELECT (CASE WHEN count(*) = 0 THEN -1 ELSE least(
    extract(epoch FROM now() - (SELECT p.at FROM component_heartbeats p WHERE p.part = @part)),
    extract(epoch FROM now() - min(coalesce(t.assigned_at, t.updated_at)))) END)::float8 AS seconds
FROM tasks t JOIN sandboxes s ON s.id = t.sandbox_id WHERE omoi_active(t.status, s.ended_at);

-- name: InsertAction :one
INSERT INTO guardian_actions (id, organization_id, action_type, target_entity, authority_level, reason, initiated_by,
    audit_log, command_id)
VALUES (@id, @organization_id, @action_type, @target_entity, @authority_level, @reason, @initiated_by, @audit_log,
    sqlc.narg('command_id'))
RETURNING *;

-- name: Actions :many
SELECT * FROM guardian_actions
WHERE organization_id = @organization_id AND (sqlc.narg('action_types')::text[] IS NULL
    OR action_type = ANY(sqlc.narg('action_types')::text[]))
    AND (sqlc.narg('target_entities')::text[] IS NULL OR target_entity = ANY(sqlc.narg('target_entities')::text[]))
ORDER BY created_at DESC, id DESC LIMIT @max_rows;

-- name: ActionByID :one
SELECT * FROM guardian_actions WHERE organization_id = @organization_id AND id = @id;

-- name: LockAction :one
SELECT * FROM guardian_actions WHERE organization_id = @organization_id AND id = @id AND reverted_at IS NULL FOR UPDATE;

-- name: RevertAction :one
UPDATE guardian_actions SET reverted_at = now(), audit_log = audit_log || @noted::jsonb WHERE id = @id RETURNING *;

-- name: ProjectIDOf :one
-- ProjectIDOf returns the project of an ID: of a project, of a task or of a sandbox.
SELECT p.id FROM projects p
WHERE p.organization_id = @organization_id AND (p.id::text = @id::text
    OR p.id = (SELECT t.project_id FROM tasks t WHERE t.id::text = @id::text)
    OR p.id = (SELECT t.project_id FROM sandboxes s JOIN tasks t ON t.id = s.task_id WHERE s.id = @id::text));

-- name: LockProjects :many
-- LockProjects locks projects in order of their IDs, in the mode of a change of settings: admission writes slots with
-- foreign keys to the projects, while other transactions wait for admission.
SELECT * FROM projects WHERE organization_id = @organization_id AND id = ANY (@ids::uuid[]) AND deleted_at IS NULL
    ORDER BY id FOR NO KEY UPDATE;

-- name: SetProjectSlots :exec
UPDATE projects SET max_slots = @max_slots, updated_at = now() WHERE id = @id;
