-- +goose Up

CREATE TABLE agent_waits (
    sandbox_id  text PRIMARY KEY REFERENCES sandboxes ON DELETE CASCADE,
    since       timestamptz NOT NULL
);
COMMENT ON TABLE agent_waits IS 'One sandbox whose agent has waited for a message. It still waits if last_work_at of the sandbox is not after since.';

-- omoi_agent_waits returns whether the agent in a sandbox waits for a message.
-- +goose StatementBegin
CREATE FUNCTION omoi_agent_waits(of_sandbox text) RETURNS boolean LANGUAGE sql STABLE AS $$
    SELECT EXISTS (SELECT FROM agent_waits w JOIN sandboxes s ON s.id = w.sandbox_id
        WHERE w.sandbox_id = of_sandbox AND w.since >= coalesce(s.last_work_at, w.since));
$$;
-- +goose StatementEnd
