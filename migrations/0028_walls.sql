-- +goose Up

-- The credential with which a task's agent works, as package credential chooses it: the
-- user's, the project's, the organization's, the installation's. Without one that omoi knows, or with
-- several of which nobody knows which one it works with, a task has a name of its own.
-- +goose StatementBegin
CREATE OR REPLACE FUNCTION omoi_credential(task uuid) RETURNS text LANGUAGE sql STABLE AS $$
    WITH t AS (
        SELECT id, organization_id, user_id, project_id, CASE
            WHEN jsonb_typeof(execution_config -> 'credentials') = 'array' THEN
                (SELECT min(name) FROM jsonb_array_elements_text(execution_config -> 'credentials') AS name
                WHERE name <> 'github' AND (agent <> 'claude' OR name IN ('model', 'claude_oauth', 'anthropic')) HAVING count(*) = 1)
            WHEN execution_config -> 'env' ?| ARRAY['ANTHROPIC_API_KEY', 'ANTHROPIC_AUTH_TOKEN', 'ANTHROPIC_BASE_URL',
                'CLAUDE_CODE_OAUTH_TOKEN', 'CLAUDE_CODE_USE_BEDROCK', 'CLAUDE_CODE_USE_VERTEX'] THEN NULL
            WHEN agent IN ('claude', 'command') THEN 'model' END AS name
        FROM tasks WHERE id = $1
    )
    SELECT CASE WHEN t.name IS NULL THEN 'task ' || t.id ELSE coalesce((
        SELECT format('%s %s', c.id, extract(epoch FROM c.updated_at)) FROM credentials c
        WHERE c.organization_id = t.organization_id
            AND c.kind = ANY (CASE t.name WHEN 'model' THEN ARRAY['claude_oauth', 'anthropic'] ELSE ARRAY[t.name] END)
            AND (c.user_id = t.user_id OR c.user_id IS NULL AND (c.project_id = t.project_id OR c.project_id IS NULL))
        ORDER BY c.user_id IS NULL, c.project_id IS NULL, c.kind <> 'claude_oauth' LIMIT 1), 'installation ' || t.name) END
    FROM t;
$$;
-- +goose StatementEnd

-- Puts the credential of an attempt that met its provider's limit to sleep until the reset that
-- the agent was told, for six hours at most, else for as long as pause. What an agent says must
-- not hold others for long: after that one tries, and says whether the limit still stands. An
-- agent that works with no credential of others holds nobody.
-- +goose StatementBegin
CREATE OR REPLACE FUNCTION omoi_wall(met uuid, attempt integer, reset timestamptz, pause interval, apart interval) RETURNS void LANGUAGE plpgsql AS $$
DECLARE
    org  uuid := (SELECT organization_id FROM tasks WHERE id = met);
    name text := coalesce(nullif((SELECT a.credential FROM attempts a WHERE a.task_id = met AND a.number = attempt), ''), omoi_credential(met));
    wake timestamptz := CASE WHEN reset IS NULL THEN clock_timestamp() + pause
        ELSE least(greatest(reset, clock_timestamp() + apart), clock_timestamp() + interval '6 hours') END;
BEGIN
    IF name LIKE 'task %' THEN
        RETURN; -- it is alone on it, and its own workflow sleeps
    END IF;
    PERFORM pg_advisory_xact_lock(hashtextextended('omoi_grant ' || org, 0));
    INSERT INTO credential_sleeps AS s (organization_id, credential, until, stagger, next_at) VALUES (org, name, wake, apart, wake)
    ON CONFLICT (organization_id, credential) DO UPDATE SET until = greatest(s.until, excluded.until), walls = s.walls + 1,
        since = CASE WHEN s.proven_at IS NOT NULL OR s.until <= clock_timestamp() THEN clock_timestamp() ELSE s.since END,
        stagger = excluded.stagger, next_at = greatest(s.until, excluded.until), proven_at = NULL,
        early = s.early AND s.until > clock_timestamp(),
        probe = CASE WHEN s.probe = met OR s.proven_at IS NOT NULL THEN NULL ELSE s.probe END;
END $$;
-- +goose StatementEnd

-- +goose Down
-- +goose StatementBegin
CREATE OR REPLACE FUNCTION omoi_credential(task uuid) RETURNS text LANGUAGE sql STABLE AS $$
    WITH t AS (
        SELECT id, organization_id, user_id, project_id, CASE
            WHEN jsonb_typeof(execution_config -> 'credentials') = 'array' THEN
                (SELECT name FROM jsonb_array_elements_text(execution_config -> 'credentials') AS name WHERE name <> 'github' LIMIT 1)
            WHEN execution_config -> 'env' ?| ARRAY['ANTHROPIC_API_KEY', 'ANTHROPIC_AUTH_TOKEN', 'ANTHROPIC_BASE_URL',
                'CLAUDE_CODE_OAUTH_TOKEN', 'CLAUDE_CODE_USE_BEDROCK', 'CLAUDE_CODE_USE_VERTEX'] THEN NULL
            WHEN agent IN ('claude', 'command') THEN 'model' END AS name
        FROM tasks WHERE id = $1
    )
    SELECT CASE WHEN t.name IS NULL THEN 'task ' || t.id ELSE coalesce((
        SELECT format('%s %s', c.id, extract(epoch FROM c.updated_at)) FROM credentials c
        WHERE c.organization_id = t.organization_id
            AND c.kind = ANY (CASE t.name WHEN 'model' THEN ARRAY['claude_oauth', 'anthropic'] ELSE ARRAY[t.name] END)
            AND (c.user_id = t.user_id OR c.user_id IS NULL AND (c.project_id = t.project_id OR c.project_id IS NULL))
        ORDER BY c.user_id IS NULL, c.project_id IS NULL, c.kind <> 'claude_oauth' LIMIT 1), 'installation ' || t.name) END
    FROM t;
$$;
-- +goose StatementEnd
-- +goose StatementBegin
CREATE OR REPLACE FUNCTION omoi_wall(met uuid, attempt integer, reset timestamptz, pause interval, apart interval) RETURNS void LANGUAGE plpgsql AS $$
DECLARE
    org  uuid := (SELECT organization_id FROM tasks WHERE id = met);
    name text := coalesce(nullif((SELECT a.credential FROM attempts a WHERE a.task_id = met AND a.number = attempt), ''), omoi_credential(met));
    wake timestamptz := CASE WHEN reset < clock_timestamp() + interval '31 days' THEN greatest(reset, clock_timestamp() + apart) ELSE clock_timestamp() + pause END;
BEGIN
    PERFORM pg_advisory_xact_lock(hashtextextended('omoi_grant ' || org, 0));
    INSERT INTO credential_sleeps AS s (organization_id, credential, until, stagger, next_at) VALUES (org, name, wake, apart, wake)
    ON CONFLICT (organization_id, credential) DO UPDATE SET until = greatest(s.until, excluded.until), walls = s.walls + 1,
        since = CASE WHEN s.proven_at IS NOT NULL OR s.until <= clock_timestamp() THEN clock_timestamp() ELSE s.since END,
        stagger = excluded.stagger, next_at = greatest(s.until, excluded.until), proven_at = NULL,
        early = s.early AND s.until > clock_timestamp(),
        probe = CASE WHEN s.probe = met OR s.proven_at IS NOT NULL THEN NULL ELSE s.probe END;
END $$;
-- +goose StatementEnd
