-- +goose Up

-- omoi_notify adds a notice for each rule that concerns a task. A rule that is being deleted gets none. reason is the reason of a limit.
DROP FUNCTION omoi_notify(tasks, text, text);
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

-- A task that waits for its budget needs a user and has reached a limit. Both have one state, so that a rule is notified once.
-- +goose StatementBegin
CREATE OR REPLACE FUNCTION omoi_notify_task() RETURNS trigger LANGUAGE plpgsql AS $$
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
