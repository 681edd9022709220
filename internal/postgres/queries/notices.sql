-- name: TakeDeliveries :many
-- TakeDeliveries leases due deliveries for the duration pause: at most one of each receiver, and none of the busy ones. Diagnoses have
-- one receiver.
WITH due AS (
    SELECT d.id FROM notice_rules r CROSS JOIN LATERAL (
        SELECT x.id, x.due_at FROM deliveries x WHERE x.rule_id = r.id AND x.state = 'pending' AND x.due_at <= now()
        ORDER BY x.due_at LIMIT 1 FOR UPDATE SKIP LOCKED) d
    WHERE r.enabled AND r.due_at <= now() AND r.id <> ALL (@busy::uuid[])
    ORDER BY d.due_at LIMIT @most
), diagnosed AS (
    SELECT d.id FROM deliveries d WHERE d.state = 'held' AND d.due_at <= now() AND @diagnoses::boolean
    ORDER BY d.due_at LIMIT 1 FOR UPDATE SKIP LOCKED
)
UPDATE deliveries v SET due_at = now() + @pause::interval, tries = v.tries + 1
FROM deliveries w LEFT JOIN notice_rules r ON r.id = w.rule_id LEFT JOIN tasks t ON t.id = w.task_id
WHERE w.id = v.id AND v.id IN (SELECT due.id FROM due UNION ALL SELECT diagnosed.id FROM diagnosed)
RETURNING v.id, v.body, v.tries, v.event, v.created_at, (extract(epoch FROM now() - v.created_at))::float8 AS age,
    coalesce(r.id::text, '')::text AS rule_id, coalesce(r.organization_id::text, '')::text AS organization_id,
    coalesce(r.channel, '')::text AS channel, coalesce(r.sealed, '')::text AS sealed, coalesce(r.failures, 0)::integer AS failures;

-- name: SettleDelivery :exec
-- SettleDelivery records the outcome of a request in the delivery and in its rule. A delivery that stays pending keeps its state.
WITH settled AS (
    UPDATE deliveries d SET state = CASE WHEN @state::text = 'held' THEN d.state ELSE @state::text END, error = @error::text,
        due_at = now() + @pause::interval, delivered_at = CASE WHEN @state::text = 'done' THEN now() END
    WHERE d.id = @id AND d.state IN ('held', 'pending') RETURNING d.rule_id)
UPDATE notice_rules r SET failures = CASE WHEN @error::text = '' THEN 0 ELSE r.failures + 1 END, error = @error::text,
    due_at = now() + @rule_pause::interval
FROM settled s WHERE r.id = s.rule_id;

-- name: InsertNoticeRule :one
-- InsertNoticeRule inserts no row for a project of another organization.
INSERT INTO notice_rules (id, organization_id, project_id, user_id, channel, events, receiver, sealed)
SELECT @id, @organization_id, sqlc.narg('project_id')::uuid, sqlc.narg('user_id')::uuid, @channel, @events, @receiver, @sealed
WHERE sqlc.narg('project_id')::uuid IS NULL
   OR EXISTS (SELECT FROM projects p WHERE p.id = sqlc.narg('project_id')::uuid AND p.organization_id = @organization_id
        AND p.deleted_at IS NULL FOR KEY SHARE)
RETURNING *;

-- name: NoticeRules :many
-- NoticeRules returns the rules of a user and those of the organization.
SELECT sqlc.embed(r), (SELECT count(*) FROM deliveries d WHERE d.rule_id = r.id AND d.state = 'pending')::integer AS pending
FROM notice_rules r
WHERE r.organization_id = @organization_id AND (r.user_id IS NULL OR r.user_id = sqlc.narg('user_id')::uuid)
    AND (sqlc.narg('id')::uuid IS NULL OR r.id = sqlc.narg('id')::uuid)
ORDER BY r.created_at DESC, r.id DESC;

-- name: UpdateNoticeRule :execrows
-- UpdateNoticeRule changes the fields that are not null. The rule is due at once.
UPDATE notice_rules SET events = coalesce(sqlc.narg('events')::text[], events), enabled = coalesce(sqlc.narg('enabled')::boolean, enabled),
    receiver = coalesce(sqlc.narg('receiver')::text, receiver), sealed = coalesce(sqlc.narg('sealed')::text, sealed),
    failures = 0, error = '', due_at = now()
WHERE id = @id;

-- name: DeleteNoticeRule :execrows
DELETE FROM notice_rules WHERE id = @id;

-- name: Notices :many
SELECT d.id, d.rule_id, d.task_id, d.event, d.body, d.state, d.tries, d.error, d.delivered_at, d.created_at, r.channel, r.receiver
FROM deliveries d JOIN notice_rules r ON r.id = d.rule_id
WHERE r.organization_id = @organization_id AND (r.user_id IS NULL OR r.user_id = sqlc.narg('user_id')::uuid)
    AND (sqlc.narg('rule_ids')::uuid[] IS NULL OR d.rule_id = ANY (sqlc.narg('rule_ids')::uuid[]))
    AND (sqlc.narg('task_ids')::uuid[] IS NULL OR d.task_id = ANY (sqlc.narg('task_ids')::uuid[]))
    AND (sqlc.narg('before_at')::timestamptz IS NULL
        OR (d.created_at, d.id) < (sqlc.narg('before_at')::timestamptz, sqlc.narg('before_id')::uuid))
ORDER BY d.created_at DESC, d.id DESC LIMIT @max_rows;

-- name: DropOldNotices :execrows
-- DropOldNotices deletes settled notices of the age.
DELETE FROM deliveries WHERE id = ANY (ARRAY(SELECT d.id FROM deliveries d
    WHERE d.rule_id IS NOT NULL AND d.state IN ('done', 'given_up') AND d.created_at < now() - @age::interval LIMIT @most));

-- name: NoticeSecrets :many
SELECT id, organization_id, sealed FROM notice_rules WHERE id > @after::uuid ORDER BY id LIMIT @most;

-- name: ResealNoticeRule :execrows
UPDATE notice_rules SET sealed = @sealed WHERE id = @id AND sealed = @was;
