-- name: ConductedOrganizations :many
-- ConductedOrganizations returns organizations with active agents in order of their IDs, above after and up to upto.
SELECT t.organization_id, count(*) AS agents,
    EXISTS (SELECT FROM conductor_analyses c WHERE c.cycle_id = @cycle_id AND c.organization_id = t.organization_id)::boolean AS in_cycle
FROM tasks t JOIN sandboxes s ON s.id = t.sandbox_id
WHERE omoi_active(t.status, s.ended_at)
    AND (sqlc.narg('after')::uuid IS NULL OR t.organization_id > sqlc.narg('after')::uuid)
    AND (sqlc.narg('upto')::uuid IS NULL OR t.organization_id <= sqlc.narg('upto')::uuid)
GROUP BY t.organization_id ORDER BY t.organization_id;

-- name: ConductedAgents :many
-- ConductedAgents returns the active agents of an organization with their newest guardian analysis, oldest task first.
SELECT s.id AS sandbox_id, s.partition_month, s.last_sequence, coalesce(s.attempt, 0)::integer AS attempt, t.id AS task_id, t.key AS task_key, t.project_id, t.phase_id, t.title, left(t.description, 4000)::text AS description,
    coalesce(CASE WHEN t.execution_config ? 'candidate' THEN t.ticket_id::text END, '')::text AS comparison,
    (g.verdict IS NOT NULL AND g.verdict <> 'unknown' AND g.alignment_score IS NOT NULL)::boolean AS known,
    coalesce(g.spoken_by = 'rules', false)::boolean AS caught, coalesce(g.alignment_score, 0)::float8 AS score, coalesce(g.needs_steering, false)::boolean AS steer,
    coalesce((g.analysis #>> '{model,trajectory_aligned}')::boolean, NOT g.needs_steering, false)::boolean AS aligned,
    (coalesce(g.needs_steering, false) AND coalesce(g.analysis #>> '{findings,0,label}', '') = 'idle')::boolean AS ended,
    coalesce(g.current_focus, '')::text AS focus, coalesce(g.spoken_by, '')::text AS spoken_by, coalesce(g.analysis ->> 'trouble', '')::text AS trouble,
    coalesce(jsonb_path_query_array(g.analysis, '$.findings[*] ? (@.label == "drift")'), '[]')::jsonb AS outside
FROM tasks t JOIN sandboxes s ON s.id = t.sandbox_id
LEFT JOIN LATERAL (SELECT a.verdict, a.spoken_by, a.alignment_score, a.needs_steering, a.current_focus, a.analysis FROM guardian_analyses a
    WHERE a.sandbox_id = s.id AND a.judged_at > now() - @fresh::interval ORDER BY a.judged_at DESC LIMIT 1) g ON true
WHERE t.organization_id = @organization_id AND omoi_active(t.status, s.ended_at)
ORDER BY t.created_at, t.id;

-- name: ChangedFiles :many
-- ChangedFiles returns the files that the newest events of each sandbox report as changed, with the newest such event.
SELECT b.id::text AS sandbox_id, f.path, f.sequence
FROM (SELECT unnest(@ids::text[]) AS id, unnest(@partition_months::date[]) AS partition_month, unnest(@last_sequences::bigint[]) AS last_sequence) b
CROSS JOIN LATERAL (
    SELECT left(n.event_data ->> 'file_path', 500)::text AS path, max(n.sequence)::bigint AS sequence FROM sandbox_events n
    WHERE n.partition_month = b.partition_month AND n.sandbox_id = b.id AND n.sequence > b.last_sequence - @newest::bigint AND n.sequence <= b.last_sequence
        AND n.event_type = @edited::text AND jsonb_typeof(n.event_data -> 'file_path') = 'string'
    GROUP BY 1 ORDER BY 1 LIMIT 100
) f;

-- name: OpenDependencies :many
-- OpenDependencies returns the tasks that must be completed before these tasks, and are not.
SELECT d.task_id, p.id AS depends_on, p.key, p.status FROM task_dependencies d JOIN tasks p ON p.id = d.depends_on
WHERE d.task_id = ANY (@ids::uuid[]) AND p.status <> 'completed' ORDER BY d.task_id, p.created_at, p.id;

-- name: ToldApart :many
-- ToldApart returns the stored answers of a model about pairs of these tasks.
SELECT id, task1_id, task2_id, is_duplicate, similarity_score, work_description FROM detected_duplicates
WHERE organization_id = @organization_id AND spoken_by = 'model' AND task1_id = ANY (@ids::uuid[]) AND task2_id = ANY (@ids::uuid[]);

-- name: InsertConducted :execrows
-- InsertConducted inserts no row if the cycle has an analysis of the organization.
INSERT INTO conductor_analyses (id, cycle_id, organization_id, coherence_score, coherence_at_most, system_status, num_agents, judged,
    duplicate_count, termination_count, coordination_count, details)
VALUES (@id, @cycle_id, @organization_id, sqlc.narg('coherence_score'), @coherence_at_most, @system_status, @num_agents, @judged,
    @duplicate_count, @termination_count, @coordination_count, @details)
ON CONFLICT (cycle_id, organization_id) DO NOTHING;

-- name: LinkDuplicate :exec
-- LinkDuplicate ignores tasks that no longer exist. Word similarity does not overwrite the answer of a model.
INSERT INTO detected_duplicates AS d (id, conductor_analysis_id, organization_id, task1_id, task2_id, agent1_id, agent2_id, is_duplicate,
    spoken_by, similarity_score, work_description, resources)
SELECT @id, @conductor_analysis_id, @organization_id, a.id, b.id, @agent1_id, @agent2_id, @is_duplicate,
    @spoken_by, @similarity_score, @work_description, @resources
FROM tasks a, tasks b WHERE a.id = @task1_id AND b.id = @task2_id
ON CONFLICT (task1_id, task2_id) DO UPDATE SET conductor_analysis_id = excluded.conductor_analysis_id, agent1_id = excluded.agent1_id,
    agent2_id = excluded.agent2_id, is_duplicate = excluded.is_duplicate, spoken_by = excluded.spoken_by,
    similarity_score = excluded.similarity_score, work_description = excluded.work_description, resources = excluded.resources,
    cycles = d.cycles + 1, seen_at = now()
WHERE d.spoken_by = 'words' OR excluded.spoken_by = 'model';

-- name: ConductorRan :exec
INSERT INTO component_heartbeats (part, at) VALUES ('conductor', now()) ON CONFLICT (part) DO UPDATE SET at = now();

-- name: ForgetConducted :exec
DELETE FROM conductor_analyses WHERE id = ANY (ARRAY(
    SELECT c.id FROM conductor_analyses c WHERE c.created_at < now() - @keep::interval ORDER BY c.created_at LIMIT 5000));

-- name: ConductorAge :one
-- ConductorAge returns the seconds since the last completed cycle; below 0: none.
SELECT coalesce((SELECT greatest(extract(epoch FROM now() - p.at), 0) FROM component_heartbeats p WHERE p.part = 'conductor'), -1)::float8 AS age;

-- name: ConductorAnalyses :many
SELECT * FROM conductor_analyses
WHERE organization_id = @organization_id
  AND (sqlc.narg('before_at')::timestamptz IS NULL
       OR (created_at, id) < (sqlc.narg('before_at')::timestamptz, sqlc.narg('before_id')::uuid))
ORDER BY created_at DESC, id DESC LIMIT @max_rows;

-- name: Duplicates :many
-- Duplicates lists duplicates of some tasks or of all, newest first.
SELECT sqlc.embed(d), a.key AS key1, a.title AS title1, a.status AS status1, b.key AS key2, b.title AS title2, b.status AS status2
FROM detected_duplicates d JOIN tasks a ON a.id = d.task1_id JOIN tasks b ON b.id = d.task2_id
WHERE d.organization_id = @organization_id AND d.is_duplicate
  AND (sqlc.narg('task_ids')::uuid[] IS NULL OR d.task1_id = ANY(sqlc.narg('task_ids')::uuid[]) OR d.task2_id = ANY(sqlc.narg('task_ids')::uuid[]))
  AND (sqlc.narg('before_at')::timestamptz IS NULL
       OR (d.seen_at, d.id) < (sqlc.narg('before_at')::timestamptz, sqlc.narg('before_id')::uuid))
ORDER BY d.seen_at DESC, d.id DESC LIMIT @max_rows;

-- name: ConductorHour :one
-- ConductorHour returns the mean coherence of the last hour, below 0 if there is none, and the number of duplicates
-- seen in that hour.
SELECT coalesce((SELECT avg(c.coherence_score) FROM conductor_analyses c
        WHERE c.organization_id = @organization_id AND c.created_at > now() - interval '1 hour'), -1)::float8 AS coherence,
    (SELECT count(*) FROM detected_duplicates d
        WHERE d.organization_id = @organization_id AND d.is_duplicate AND d.seen_at > now() - interval '1 hour') AS duplicates;

-- name: OpenWork :many
-- OpenWork returns tasks of a project that have not ended, newest first, without the task of this idempotency key. The
-- project is given by its ID, by a ticket or by a repository. Descriptions are cut to the part that is compared.
SELECT t.id, t.ticket_id, t.title, left(t.description, 4000)::text AS description, t.status, t.created_at
FROM tasks t JOIN projects p ON p.id = t.project_id
WHERE p.organization_id = @organization_id AND t.status NOT IN ('completed', 'failed', 'cancelled')
  AND (p.id = sqlc.narg('project_id')::uuid OR (@repo::text <> '' AND p.repo = @repo::text)
       OR p.id = (SELECT k.project_id FROM tickets k WHERE k.id = sqlc.narg('ticket_id')::uuid))
  AND NOT EXISTS (SELECT FROM idempotency_keys i WHERE i.organization_id = @organization_id AND i.key = @key::text AND i.task_id = t.id)
ORDER BY t.created_at DESC, t.id DESC LIMIT @most;
