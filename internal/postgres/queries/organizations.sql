-- name: OrganizationsShown :many
SELECT o.id, o.name, o.plan, o.max_slots, o.plan_slots, o.paused,
    (SELECT count(*) FROM slots s WHERE s.organization_id = o.id)::integer AS at_work,
    (SELECT count(*) FROM tasks t WHERE t.organization_id = o.id AND t.queued_at IS NOT NULL)::integer AS waiting
FROM organizations o WHERE sqlc.narg('id')::uuid IS NULL OR o.id = sqlc.narg('id')::uuid ORDER BY o.created_at, o.id;

-- name: PauseOrganizations :execrows
UPDATE organizations SET paused = @paused WHERE paused <> @paused;

-- name: ChangeOrganization :execrows
UPDATE organizations SET plan = coalesce(sqlc.narg('plan'), plan),
    plan_slots = CASE WHEN sqlc.narg('plan')::text IS NULL THEN plan_slots ELSE sqlc.narg('plan_slots')::integer END,
    max_slots = CASE WHEN sqlc.narg('max_slots')::integer IS NULL THEN max_slots WHEN sqlc.narg('max_slots')::integer >= 0 THEN sqlc.narg('max_slots')::integer END
WHERE id = @id;
