-- +goose Up

CREATE TABLE notice_rules (
    id              uuid PRIMARY KEY,
    organization_id uuid NOT NULL REFERENCES organizations ON DELETE CASCADE,
    project_id      uuid REFERENCES projects ON DELETE CASCADE,
    user_id         uuid REFERENCES users ON DELETE CASCADE,
    channel         text NOT NULL,
    events          text[] NOT NULL,
    receiver        text NOT NULL,
    sealed          text NOT NULL,
    enabled         boolean NOT NULL DEFAULT true,
    failures        integer NOT NULL DEFAULT 0,
    error           text NOT NULL DEFAULT '',
    due_at          timestamptz NOT NULL DEFAULT now(),
    created_at      timestamptz NOT NULL DEFAULT now()
);
CREATE INDEX notice_rules_organization ON notice_rules (organization_id, created_at DESC, id DESC);
CREATE INDEX notice_rules_project ON notice_rules (project_id) WHERE project_id IS NOT NULL;
CREATE INDEX notice_rules_user ON notice_rules (user_id) WHERE user_id IS NOT NULL;
COMMENT ON TABLE notice_rules IS 'One receiver of notices, and the events of which it is notified.';
COMMENT ON COLUMN notice_rules.project_id IS 'Null: tasks of all projects.';
COMMENT ON COLUMN notice_rules.user_id IS 'User whose tasks the rule concerns. Null: tasks of all users.';
COMMENT ON COLUMN notice_rules.receiver IS 'The address as users see it, without a secret.';
COMMENT ON COLUMN notice_rules.sealed IS 'Encrypted address and secret (notice.Address).';
COMMENT ON COLUMN notice_rules.failures IS 'Failed requests since the receiver last accepted a notice.';
COMMENT ON COLUMN notice_rules.error IS 'Error of the newest request. Empty: none.';
COMMENT ON COLUMN notice_rules.due_at IS 'No request before this time.';

ALTER TABLE deliveries
    ALTER COLUMN diagnosis_id DROP NOT NULL,
    ADD COLUMN rule_id uuid REFERENCES notice_rules ON DELETE CASCADE,
    ADD COLUMN task_id uuid REFERENCES tasks ON DELETE CASCADE,
    ADD COLUMN event text NOT NULL DEFAULT 'diagnosis',
    ADD COLUMN task_state text NOT NULL DEFAULT '',
    DROP CONSTRAINT deliveries_state_check,
    ADD CONSTRAINT deliveries_state_check CHECK (state IN ('held', 'pending', 'done', 'given_up')),
    ADD CONSTRAINT deliveries_subject_check CHECK (num_nonnulls(diagnosis_id, rule_id) = 1);
CREATE UNIQUE INDEX deliveries_once ON deliveries (rule_id, task_id, task_state);
CREATE INDEX deliveries_rule_due ON deliveries (rule_id, due_at) WHERE state = 'pending';
CREATE INDEX deliveries_task ON deliveries (task_id) WHERE task_id IS NOT NULL;
CREATE INDEX deliveries_newest ON deliveries (rule_id, created_at DESC, id DESC);
COMMENT ON TABLE deliveries IS 'One outgoing diagnosis or notice, written with what it reports and sent until the receiver accepts.';
COMMENT ON COLUMN deliveries.body IS 'Of a diagnosis: the signed text. Of a notice: its facts (notice.Facts).';
COMMENT ON COLUMN deliveries.state IS 'held: pending diagnosis. pending: pending notice, which versions without notices do not send. done: delivered. given_up: failed.';
COMMENT ON COLUMN deliveries.task_state IS 'Names the state of the task: a rule is notified once of each.';

-- omoi_notify adds a notice for each rule that concerns a task. A rule that is being deleted gets none. reason is the reason of a limit.
-- +goose StatementBegin
CREATE FUNCTION omoi_notify(t tasks, what text, task_state text, reason jsonb DEFAULT NULL) RETURNS void LANGUAGE sql AS $$
    INSERT INTO deliveries (id, rule_id, task_id, event, task_state, state, body)
    SELECT gen_random_uuid(), r.id, t.id, what, task_state, 'pending', jsonb_build_object('task_id', t.id, 'key', t.key, 'title', t.title,
        'project_id', t.project_id, 'status', t.status, 'blocked', t.blocked_reason, 'class', t.failure_class, 'end_reason', t.end_reason,
        'queue_reason', t.queue_reason, 'error', t.error_message, 'attempt', t.attempt_count, 'provider', t.provider,
        'pull_request', t.pull_request_url, 'at', now(), 'reason', reason, 'question', (SELECT jsonb_build_object('text', q.text, 'options', q.options)
            FROM questions q WHERE q.task_id = t.id AND q.state = 'open' AND t.blocked_reason IN ('', 'question')))::text
    FROM notice_rules r
    WHERE r.organization_id = t.organization_id AND r.enabled AND what = ANY (r.events)
        AND (r.project_id IS NULL OR r.project_id = t.project_id) AND (r.user_id IS NULL OR r.user_id = t.user_id)
    FOR KEY SHARE OF r
    ON CONFLICT (rule_id, task_id, task_state) DO NOTHING;
$$;
-- +goose StatementEnd

-- omoi_needs_user returns whether only a user lets a pending task continue: the rule of task.GroupOf.
-- +goose StatementBegin
CREATE FUNCTION omoi_needs_user(status text, blocked_reason text) RETURNS boolean LANGUAGE sql IMMUTABLE AS $$
    SELECT status = 'pending' AND blocked_reason IN ('dependency_failed', 'budget', 'unknown_too_long', 'review', 'question');
$$;
-- +goose StatementEnd

-- omoi_asked names the state of a task with an open question: waiting for it in a sandbox and suspended for it are one state.
-- +goose StatementBegin
CREATE FUNCTION omoi_asked(of_task uuid, otherwise text) RETURNS text LANGUAGE sql STABLE AS $$
    SELECT coalesce((SELECT 'question:' || q.id FROM questions q WHERE q.task_id = of_task AND q.state = 'open'), otherwise);
$$;
-- +goose StatementEnd

-- omoi_notify_wait adds the notices of a task whose agent waits. The state is the question, or the wait since the agent's last work.
-- +goose StatementBegin
CREATE FUNCTION omoi_notify_wait(of_sandbox text) RETURNS void LANGUAGE sql AS $$
    SELECT omoi_notify(t, 'needs_you', omoi_asked(t.id, 'waits:' || s.id || ':' || coalesce(extract(epoch FROM s.last_work_at)::text, '')))
    FROM sandboxes s JOIN tasks t ON t.sandbox_id = s.id
    WHERE s.id = of_sandbox AND t.status = 'running' AND omoi_agent_waits(s.id);
$$;
-- +goose StatementEnd

-- A task that waits for its budget needs a user and has reached a limit. Both have one state, so that a rule is notified once.
-- +goose StatementBegin
CREATE FUNCTION omoi_notify_task() RETURNS trigger LANGUAGE plpgsql AS $$
DECLARE
    blocked text := 'blocked:' || NEW.blocked_reason || ':' || NEW.attempt_count;
BEGIN
    IF NOT EXISTS (SELECT FROM notice_rules WHERE organization_id = NEW.organization_id) THEN
        RETURN NULL;
    END IF;
    CASE
        WHEN NEW.status = 'completed' THEN PERFORM omoi_notify(NEW, 'done', 'done:' || coalesce(NEW.completed_at::text, ''));
        WHEN NEW.status = 'failed' THEN PERFORM omoi_notify(NEW, 'failed', 'failed:' || coalesce(NEW.completed_at::text, ''));
        WHEN NEW.status = 'running' THEN
            PERFORM omoi_notify(NEW, 'started', 'started');
            PERFORM omoi_notify_wait(NEW.sandbox_id);
        WHEN NEW.status = 'pending' AND NEW.blocked_reason = 'question' THEN
            PERFORM omoi_notify(NEW, 'needs_you', omoi_asked(NEW.id, blocked));
        WHEN NEW.status = 'pending' AND NEW.blocked_reason IN ('budget', 'provider_limit') THEN
            IF omoi_needs_user(NEW.status, NEW.blocked_reason) THEN
                PERFORM omoi_notify(NEW, 'needs_you', blocked);
            END IF;
            PERFORM omoi_notify(NEW, 'limit_reached', blocked);
        WHEN omoi_needs_user(NEW.status, NEW.blocked_reason) THEN
            PERFORM omoi_notify(NEW, 'needs_you', blocked);
        ELSE NULL;
    END CASE;
    RETURN NULL;
END $$;
-- +goose StatementEnd
CREATE TRIGGER task_notices AFTER UPDATE OF status, blocked_reason ON tasks FOR EACH ROW
    WHEN ((OLD.status, OLD.blocked_reason) IS DISTINCT FROM (NEW.status, NEW.blocked_reason)) EXECUTE FUNCTION omoi_notify_task();

-- +goose StatementBegin
CREATE FUNCTION omoi_notify_agent_wait() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
    PERFORM omoi_notify_wait(NEW.sandbox_id);
    RETURN NULL;
END $$;
-- +goose StatementEnd
-- The trigger is deferred: work of the agent in the same transaction is known then.
CREATE CONSTRAINT TRIGGER agent_wait_notices AFTER INSERT OR UPDATE ON agent_waits DEFERRABLE INITIALLY DEFERRED FOR EACH ROW
    EXECUTE FUNCTION omoi_notify_agent_wait();

-- omoi_notify_budget adds the notices of a budget of which four fifths are used: its agents have just been told. The budget of a project
-- makes them for one of its tasks.
-- +goose StatementBegin
CREATE FUNCTION omoi_notify_budget() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
    PERFORM omoi_notify(t, 'budget_near', n.state, omoi_budget_reason(l.scope, l.what, l.used, l.most))
    FROM sandboxes s JOIN tasks t ON t.id = s.task_id
    JOIN omoi_active_limits() l ON l.task = t.id AND concat_ws(' ', 'budget', l.scope, l.what, l.most) = NEW.idempotency_key
    CROSS JOIN LATERAL concat_ws(':', 'near', CASE l.scope WHEN 'project' THEN t.project_id END, NEW.idempotency_key) n(state)
    WHERE s.id = NEW.sandbox_id AND NOT (l.scope = 'project' AND EXISTS (SELECT FROM deliveries d WHERE d.event = 'budget_near' AND d.task_state = n.state));
    RETURN NULL;
END $$;
-- +goose StatementEnd
CREATE TRIGGER budget_notices AFTER INSERT ON messages FOR EACH ROW
    WHEN (NEW.sender_kind = 'system' AND NEW.idempotency_key LIKE 'budget %') EXECUTE FUNCTION omoi_notify_budget();
CREATE INDEX deliveries_near ON deliveries (task_state) WHERE event = 'budget_near';

-- omoi_notify_alert adds the notices of a new alert. The API accepts the event alert for rules of operators only.
-- +goose StatementBegin
CREATE FUNCTION omoi_notify_alert() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
    INSERT INTO deliveries (id, rule_id, event, task_state, state, body)
    SELECT gen_random_uuid(), r.id, 'alert', 'alert:' || NEW.source || ':' || NEW.since, 'pending',
        jsonb_build_object('alert', NEW.text, 'at', now())::text
    FROM notice_rules r WHERE r.enabled AND 'alert' = ANY (r.events) FOR KEY SHARE OF r;
    RETURN NULL;
END $$;
-- +goose StatementEnd
CREATE TRIGGER alert_notices AFTER INSERT ON alerts FOR EACH ROW EXECUTE FUNCTION omoi_notify_alert();
