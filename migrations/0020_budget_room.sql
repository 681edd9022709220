-- +goose Up

-- omoi_budget_room returns how many tasks more the budget of a project admits. Null: any number. Each task with a slot reserves a tenth of
-- the limit, less the usage of the sandbox of its attempt, which the usage of the project contains. The attempt may have another sandbox, in
-- which its tests are repeated: that one reserves nothing.
-- +goose StatementBegin
CREATE OR REPLACE FUNCTION omoi_budget_room(project uuid) RETURNS integer LANGUAGE sql STABLE AS $$
    SELECT min(greatest(ceil((l.most - l.used - h.reserved) / (l.most / 10)), 0))::integer
    FROM omoi_project_limits($1) l CROSS JOIN LATERAL (
        SELECT coalesce(sum(greatest(l.most / 10 - coalesce(CASE l.what WHEN 'usd' THEN b.cost_usd WHEN 'tokens' THEN b.input_tokens + b.output_tokens
            ELSE omoi_lifetime_seconds(b.machine, b.host_bound, b.created_at, b.made_at, b.started_at, b.gone_at) END, 0), 0)), 0) AS reserved
        FROM slots s JOIN tasks t ON t.id = s.task_id
        LEFT JOIN attempts a ON a.task_id = t.id AND a.number = t.attempt_count
        LEFT JOIN sandboxes b ON b.id = a.sandbox_id AND b.ended_at IS NULL
        WHERE s.project_id = $1) h
    WHERE l.what <> 'wall_clock_s';
$$;
-- +goose StatementEnd
