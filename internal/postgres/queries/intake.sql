-- name: InsertEvents :exec
-- InsertEvents unnests arrays in the SELECT list, which costs a fifth less than in FROM, where PostgreSQL materializes
-- the rows.
INSERT INTO sandbox_events (sandbox_id, sequence, partition_month, event_type, source, event_data, late, created_at,
    key)
SELECT q.id, q.sequence, q.partition_month, q.event_type, q.source, q.event_data::jsonb, q.late,
    coalesce(sqlc.narg(at)::timestamptz, now()), nullif(q.key, '')
FROM (SELECT unnest(sqlc.arg(ids)::text[]) AS id, unnest(sqlc.arg(sequences)::bigint[]) AS sequence,
    unnest(sqlc.arg(partition_months)::date[]) AS partition_month, unnest(sqlc.arg(event_types)::text[]) AS event_type,
    unnest(sqlc.arg(sources)::text[]) AS source, unnest(sqlc.arg(event_data)::text[]) AS event_data,
    unnest(sqlc.arg(late)::boolean[]) AS late, unnest(sqlc.arg(keys)::text[]) AS key) q;

-- name: FreeKeys :exec
UPDATE sandbox_events e SET key = NULL
FROM (SELECT unnest(sqlc.arg(sandbox_ids)::text[]) AS sandbox_id, unnest(sqlc.arg(keys)::text[]) AS key) q
JOIN sandboxes s ON s.id = q.sandbox_id
WHERE e.partition_month = s.partition_month AND e.sandbox_id = q.sandbox_id AND e.key = q.key;

-- name: MoveMarks :exec
INSERT INTO event_spools (sandbox_id, spool_id, watermark)
SELECT unnest(sqlc.arg(sandbox_ids)::text[]), unnest(sqlc.arg(spool_ids)::text[]),
    unnest(sqlc.arg(watermarks)::bigint[])
ON CONFLICT (sandbox_id, spool_id) DO UPDATE SET watermark = excluded.watermark;

-- name: InsertLargeEvent :exec
WITH stored AS (
    INSERT INTO sandbox_events (sandbox_id, sequence, partition_month, event_type, source, event_data, late, created_at,
        cut, key)
    VALUES (sqlc.arg(sandbox_id), sqlc.arg(sequence), sqlc.arg(partition_month), sqlc.arg(event_type), sqlc.arg(source),
        sqlc.arg(event_data)::text::jsonb,
        sqlc.arg(late), coalesce(sqlc.narg(at)::timestamptz, now()), true, nullif(sqlc.arg(key)::text, ''))
) INSERT INTO event_fields (sandbox_id, sequence, partition_month, names, fields)
VALUES (sqlc.arg(sandbox_id), sqlc.arg(sequence), sqlc.arg(partition_month), sqlc.arg(names),
    sqlc.arg(fields)::text::jsonb);

-- name: KeepTranscript :execrows
-- KeepTranscript keeps one row per attempt and session, even if later attempts resume the session. A late transcript
-- only fills a gap, and transcripts above the limit are dropped.
INSERT INTO transcripts AS t (run_key, session_id, task_id, sandbox_id, metadata, content, cut, updated_at)
SELECT sqlc.arg(run_key)::text, sqlc.arg(session_id)::text, sqlc.narg(task_id)::uuid, sqlc.arg(sandbox_id)::text,
    sqlc.arg(metadata)::text::jsonb,
    sqlc.arg(content)::bytea, sqlc.arg(cut)::bigint, coalesce(sqlc.narg(at)::timestamptz, now())
WHERE (SELECT count(*) FROM transcripts o WHERE o.sandbox_id = sqlc.arg(sandbox_id)
    AND o.run_key <> sqlc.arg(run_key)) < sqlc.arg(most)::integer
ON CONFLICT (run_key) DO UPDATE SET metadata = excluded.metadata, content = excluded.content, cut = excluded.cut,
    updated_at = excluded.updated_at
WHERE t.sandbox_id = excluded.sandbox_id AND NOT sqlc.arg(late)::boolean;

-- name: EnsureSpec :exec
INSERT INTO spec_progress AS p (sandbox_id, spec_id) VALUES (sqlc.arg(sandbox_id), sqlc.arg(spec_id))
    ON CONFLICT (sandbox_id) DO UPDATE
SET spec_id = coalesce(nullif(excluded.spec_id, ''), p.spec_id), updated_at = now();

-- name: SpecPhaseStarted :exec
UPDATE spec_progress SET started = jsonb_build_object(sqlc.arg(phase)::text, coalesce(sqlc.narg(at)::timestamptz,
    now())) || started,
    current_phase = CASE WHEN sqlc.arg(effective)::boolean THEN sqlc.arg(phase) ELSE current_phase END,
    progress = CASE WHEN sqlc.arg(effective) THEN sqlc.arg(progress)::integer ELSE progress END
WHERE sandbox_id = sqlc.arg(sandbox_id);

-- name: SpecPhaseCompleted :exec
UPDATE spec_progress SET completed = jsonb_build_object(sqlc.arg(phase)::text, coalesce(sqlc.narg(at)::timestamptz,
    now())) || completed,
    last_completed = sqlc.arg(phase)::text, last_completed_at = coalesce(sqlc.narg(at), now())
WHERE sandbox_id = sqlc.arg(sandbox_id);

-- name: SpecPhaseData :exec
UPDATE spec_progress p SET phase_data = m.phase_data, current_phase = coalesce(m.phase, p.current_phase),
    progress = CASE m.phase WHEN 'sync' THEN 100 ELSE
        coalesce(16 * array_position('{explore,prd,requirements,design,tasks}', m.phase), p.progress) END,
    status = CASE WHEN m.phase = 'sync' THEN 'completed' ELSE p.status END
FROM (SELECT d.sandbox_id, d.phase_data, omoi_last_phase(d.phase_data) AS phase
    FROM (SELECT s.sandbox_id, s.phase_data || sqlc.arg(outputs)::text::jsonb AS phase_data FROM spec_progress s
        WHERE s.sandbox_id = sqlc.arg(sandbox_id)) d) m
WHERE p.sandbox_id = m.sandbox_id;

-- name: SpecFailed :exec
UPDATE spec_progress SET status = 'failed' WHERE sandbox_id = sqlc.arg(sandbox_id);

-- name: SpecExecutionEnded :exec
UPDATE spec_progress SET
    execution_completed_at = CASE WHEN sqlc.arg(completed)::boolean THEN coalesce(execution_completed_at,
        sqlc.narg(at)::timestamptz, now())
        ELSE execution_completed_at END,
    execution_failed_at = CASE WHEN sqlc.arg(completed) THEN execution_failed_at ELSE coalesce(execution_failed_at,
        sqlc.narg(at), now()) END,
    status = CASE WHEN NOT sqlc.arg(effective)::boolean THEN status WHEN sqlc.arg(completed) THEN 'completed'
        ELSE 'failed' END,
    progress = CASE WHEN sqlc.arg(effective) AND sqlc.arg(completed) THEN 100 ELSE progress END
WHERE sandbox_id = sqlc.arg(sandbox_id);

-- name: SpecCriterion :exec
UPDATE spec_progress SET criteria = jsonb_build_object(sqlc.arg(criterion_id)::text,
    jsonb_build_object('requirement_id', sqlc.arg(requirement_id)::text, 'at', coalesce(sqlc.narg(at)::timestamptz,
        now()))) || criteria
WHERE sandbox_id = sqlc.arg(sandbox_id)
    AND (criteria ? sqlc.arg(criterion_id) OR (SELECT count(*)
        FROM jsonb_object_keys(criteria)) < sqlc.arg(most)::integer);

-- name: TellCriterion :exec
INSERT INTO bus_events (organization_id, event_type, entity_type, entity_id, payload)
SELECT s.organization_id, 'CRITERION_COMPLETED', 'criterion', sqlc.arg(criterion_id)::text,
    jsonb_build_object('criterion_id', sqlc.arg(criterion_id),
    'requirement_id', sqlc.arg(requirement_id)::text, 'evidence', sqlc.arg(evidence)::text::jsonb, 'sandbox_id', s.id,
    'task_id', coalesce(sqlc.narg(task_id)::text, s.task_id::text),
    'spec_id', coalesce(nullif(sqlc.arg(spec_id)::text, ''), (SELECT t.result ->> 'spec_id' FROM tasks t
        WHERE t.id = s.task_id)))
FROM sandboxes s WHERE s.id = sqlc.arg(sandbox_id);

-- name: InjectedByID :exec
UPDATE messages SET state = CASE WHEN state = 'answered' THEN state ELSE 'taken_up' END, injected = true,
    settled_at = coalesce(settled_at, sqlc.narg(at)::timestamptz, now()), lease_until = NULL, reason = ''
WHERE sandbox_id = sqlc.arg(sandbox_id) AND id = sqlc.arg(id) AND state IN ('accepted', 'delivered', 'taken_up',
    'answered');

-- name: InjectedByContent :exec
UPDATE messages SET state = 'taken_up', injected = true, settled_at = coalesce(sqlc.narg(at)::timestamptz, now()),
    lease_until = NULL, reason = ''
WHERE messages.id = (SELECT m.id FROM messages m WHERE m.sandbox_id = sqlc.arg(sandbox_id)
    AND m.content = sqlc.arg(content) AND m.state = 'delivered'
    ORDER BY m.ordinal LIMIT 1);

-- name: AnsweredByID :exec
UPDATE messages SET state = 'answered', answered_at = coalesce(sqlc.narg(at)::timestamptz, now()),
    settled_at = coalesce(settled_at, sqlc.narg(at), now()), lease_until = NULL, reason = ''
WHERE sandbox_id = sqlc.arg(sandbox_id) AND id = sqlc.arg(id) AND state IN ('accepted', 'delivered', 'taken_up');

-- name: AnsweredInterrupt :exec
UPDATE messages SET state = 'answered', answered_at = coalesce(sqlc.narg(at)::timestamptz, now()),
    settled_at = coalesce(settled_at, sqlc.narg(at), now()), lease_until = NULL, reason = ''
WHERE messages.id = (SELECT m.id FROM messages m WHERE m.sandbox_id = sqlc.arg(sandbox_id)
    AND m.content = sqlc.arg(content) AND m.state = 'delivered'
    AND m.kind = 'interrupt' ORDER BY m.ordinal LIMIT 1);

-- name: DroppedByID :exec
-- DroppedByID makes the feedback of the message pending again, even if it was already recorded as acknowledged.
WITH dropped AS (
    UPDATE messages SET state = 'expired', settled_at = coalesce(sqlc.narg(at)::timestamptz, now()),
        reason = 'The agent ended before it could use the message.'
    WHERE messages.sandbox_id = sqlc.arg(sandbox_id) AND messages.id = sqlc.arg(id) AND messages.state = 'taken_up'
        RETURNING messages.id)
UPDATE feedback SET state = 'held', due_at = now(), message_id = NULL, task_id = NULL
WHERE message_id = (SELECT dropped.id FROM dropped) AND feedback.state IN ('sent', 'heard');

-- name: NoteAgentLeft :exec
WITH box AS (INSERT INTO agent_shutdowns (sandbox_id, left_at) VALUES (sqlc.arg(sandbox_id),
    coalesce(sqlc.narg(at)::timestamptz, now())) ON CONFLICT DO NOTHING)
UPDATE messages SET state = 'expired', settled_at = coalesce(sqlc.narg(at), now()), lease_until = NULL,
    reason = 'The agent left before it took the message up.'
WHERE messages.sandbox_id = sqlc.arg(sandbox_id) AND state IN ('accepted', 'delivered') AND settled_at IS NULL;

-- name: NoteAgentWaits :exec
INSERT INTO agent_waits (sandbox_id, since, sequence)
VALUES (sqlc.arg(sandbox_id), coalesce(sqlc.narg(at)::timestamptz, now()), sqlc.arg(sequence)::bigint)
ON CONFLICT (sandbox_id) DO UPDATE SET since = excluded.since, sequence = excluded.sequence;

-- name: NoteAgentBack :exec
-- NoteAgentBack clears the exit of an agent, because an agent that was stopped from outside can start again.
DELETE FROM agent_shutdowns WHERE sandbox_id = sqlc.arg(sandbox_id);

-- name: AnsweredThese :exec
UPDATE messages SET state = 'answered', answered_at = coalesce(sqlc.narg(at)::timestamptz, now())
WHERE sandbox_id = sqlc.arg(sandbox_id) AND state = 'taken_up' AND id = ANY (sqlc.arg(ids)::uuid[]);

-- name: AnsweredAll :exec
-- AnsweredAll covers legacy workers, which name no message and acknowledge without a name.
UPDATE messages SET state = 'answered', answered_at = coalesce(sqlc.narg(at)::timestamptz, now())
WHERE sandbox_id = sqlc.arg(sandbox_id) AND state = 'taken_up' AND injected AND taker = '';

-- name: NeverConfirmed :exec
-- NeverConfirmed settles messages that a waiting legacy worker has not acknowledged. A later acknowledgment still
-- counts.
UPDATE messages SET settled_at = coalesce(sqlc.narg(at)::timestamptz, now()), lease_until = NULL,
    reason = sqlc.arg(reason)
WHERE sandbox_id = sqlc.arg(sandbox_id) AND state = 'delivered' AND settled_at IS NULL AND leased_by = '';
