-- +goose Up

-- As before; tokens without a price at an end make the cost unknown, also when the worker does not say so.
-- +goose StatementBegin
CREATE OR REPLACE FUNCTION omoi_meter(box text) RETURNS void LANGUAGE sql AS $$
    WITH b AS MATERIALIZED (
        SELECT id, birth, metered, head, cost_usd, input_tokens, output_tokens FROM sandboxes WHERE id = box AND head > metered
    ), said AS (
        SELECT e.sequence, e.event_data AS d, e.event_type IN ('agent.completed', 'agent.error', 'agent.failed', 'continuous.completed') AS ended
        FROM b JOIN sandbox_events e ON e.birth = b.birth AND e.sandbox_id = b.id AND e.sequence > b.metered AND e.sequence <= b.head
        WHERE e.event_type IN ('agent.assistant_message', 'agent.completed', 'agent.error', 'agent.failed',
            'iteration.started', 'iteration.completed', 'iteration.failed', 'continuous.completed')
    ), told AS (
        SELECT 0::bigint AS sequence, false AS ended, v.what, v.figure
        FROM b, LATERAL (VALUES ('usd', b.cost_usd), ('sent', b.input_tokens::float8), ('got', b.output_tokens::float8)) v(what, figure)
        UNION ALL
        SELECT s.sequence, s.ended, v.what, v.figure FROM said s, LATERAL (VALUES
            ('usd', greatest(omoi_number(d -> 'total_cost_usd'), CASE WHEN ended THEN omoi_number(d -> 'cost_usd') END)),
            ('sent', greatest(omoi_number(d #> '{total_usage,input_tokens}'), CASE WHEN ended THEN omoi_number(d -> 'input_tokens') END)),
            ('got', greatest(omoi_number(d #> '{total_usage,output_tokens}'), CASE WHEN ended THEN omoi_number(d -> 'output_tokens') END))) v(what, figure)
        WHERE v.figure > 0
    ), billed AS (
        SELECT *, coalesce(max(sequence) FILTER (WHERE ended) OVER (PARTITION BY what), 0) AS bill FROM told
    ), sums AS (
        SELECT max(figure) FILTER (WHERE what = 'usd') AS usd, max(figure) FILTER (WHERE what = 'sent') AS sent,
            max(figure) FILTER (WHERE what = 'got') AS got
        FROM billed WHERE sequence >= bill
    )
    UPDATE sandboxes s SET metered = b.head, cost_usd = u.usd, input_tokens = u.sent::bigint, output_tokens = u.got::bigint,
        cost_unknown = s.cost_unknown OR EXISTS (SELECT FROM said WHERE d -> 'cost_unknown' = 'true'
            OR ended AND 'number' NOT IN (coalesce(jsonb_typeof(d -> 'total_cost_usd'), ''), coalesce(jsonb_typeof(d -> 'cost_usd'), ''))
            AND greatest(omoi_number(d -> 'input_tokens'), omoi_number(d -> 'output_tokens'),
                omoi_number(d #> '{total_usage,input_tokens}'), omoi_number(d #> '{total_usage,output_tokens}')) > 0)
    FROM b, sums u WHERE s.id = b.id AND s.metered = b.metered;
$$;
-- +goose StatementEnd

-- +goose Down

-- +goose StatementBegin
CREATE OR REPLACE FUNCTION omoi_meter(box text) RETURNS void LANGUAGE sql AS $$
    WITH b AS MATERIALIZED (
        SELECT id, birth, metered, head, cost_usd, input_tokens, output_tokens FROM sandboxes WHERE id = box AND head > metered
    ), said AS (
        SELECT e.sequence, e.event_data AS d, e.event_type IN ('agent.completed', 'agent.error', 'agent.failed', 'continuous.completed') AS ended
        FROM b JOIN sandbox_events e ON e.birth = b.birth AND e.sandbox_id = b.id AND e.sequence > b.metered AND e.sequence <= b.head
        WHERE e.event_type IN ('agent.assistant_message', 'agent.completed', 'agent.error', 'agent.failed',
            'iteration.started', 'iteration.completed', 'iteration.failed', 'continuous.completed')
    ), told AS (
        SELECT 0::bigint AS sequence, false AS ended, v.what, v.figure
        FROM b, LATERAL (VALUES ('usd', b.cost_usd), ('sent', b.input_tokens::float8), ('got', b.output_tokens::float8)) v(what, figure)
        UNION ALL
        SELECT s.sequence, s.ended, v.what, v.figure FROM said s, LATERAL (VALUES
            ('usd', greatest(omoi_number(d -> 'total_cost_usd'), CASE WHEN ended THEN omoi_number(d -> 'cost_usd') END)),
            ('sent', greatest(omoi_number(d #> '{total_usage,input_tokens}'), CASE WHEN ended THEN omoi_number(d -> 'input_tokens') END)),
            ('got', greatest(omoi_number(d #> '{total_usage,output_tokens}'), CASE WHEN ended THEN omoi_number(d -> 'output_tokens') END))) v(what, figure)
        WHERE v.figure > 0
    ), billed AS (
        SELECT *, coalesce(max(sequence) FILTER (WHERE ended) OVER (PARTITION BY what), 0) AS bill FROM told
    ), sums AS (
        SELECT max(figure) FILTER (WHERE what = 'usd') AS usd, max(figure) FILTER (WHERE what = 'sent') AS sent,
            max(figure) FILTER (WHERE what = 'got') AS got
        FROM billed WHERE sequence >= bill
    )
    UPDATE sandboxes s SET metered = b.head, cost_usd = u.usd, input_tokens = u.sent::bigint, output_tokens = u.got::bigint,
        cost_unknown = s.cost_unknown OR EXISTS (SELECT FROM said WHERE d -> 'cost_unknown' = 'true')
    FROM b, sums u WHERE s.id = b.id AND s.metered = b.metered;
$$;
-- +goose StatementEnd
