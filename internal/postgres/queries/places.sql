-- Places are numbers of events of one type; the type '' is all events but heartbeats. The comments of
-- the table event_type_index describe the blocks that readers make of them.

-- name: TailPlaces :many
-- The places behind the last whole block, by type.
SELECT event_type, array_agg(sequence ORDER BY sequence)::bigint[] AS places FROM sandbox_events
WHERE partition_month = sqlc.arg(partition_month) AND sandbox_id = sqlc.arg(sandbox_id) AND sequence > sqlc.arg(after) AND sequence <= sqlc.arg(until)
GROUP BY event_type;

-- name: KeepPlaces :exec
-- Of the whole blocks behind a number; types says what is counted up to there. Whoever makes them makes the same.
INSERT INTO event_type_index (sandbox_id, event_type, block, before, places)
SELECT sqlc.arg(sandbox_id), t.event_type, t.block,
    CASE WHEN t.event_type = '' THEN 0 ELSE coalesce((sqlc.arg(types)::jsonb -> t.event_type ->> 0)::bigint, 0)
        + sum(cardinality(t.places)) OVER (PARTITION BY t.event_type ORDER BY t.block) - cardinality(t.places) END, t.places
FROM (
    SELECT k.event_type, (e.sequence - 1) / 1000 AS block, array_agg(((e.sequence - 1) % 1000 + 1)::smallint ORDER BY e.sequence) AS places
    FROM sandbox_events e CROSS JOIN LATERAL (
        SELECT e.event_type UNION ALL SELECT '' WHERE e.event_type NOT IN ('heartbeat', 'agent.heartbeat', 'spec.heartbeat')) k
    WHERE e.partition_month = sqlc.arg(partition_month) AND e.sandbox_id = sqlc.arg(sandbox_id) AND e.sequence > sqlc.arg(after) AND e.sequence <= sqlc.arg(until)
    GROUP BY 1, 2
) t ORDER BY t.event_type, t.block
ON CONFLICT DO NOTHING;

-- name: PlacesBefore :many
-- Newest first, from a number on. No block is empty, but the first may hold newer ones only.
SELECT (p.block * 1000 + o.place)::bigint AS sequence FROM (
    SELECT b.block, b.places FROM event_type_index b
    WHERE b.sandbox_id = sqlc.arg(sandbox_id) AND b.event_type = sqlc.arg(event_type) AND b.block <= (sqlc.arg(newest)::bigint - 1) / 1000
    ORDER BY b.block DESC LIMIT sqlc.arg(most)::integer + 1
) p CROSS JOIN LATERAL unnest(p.places) AS o(place)
WHERE p.block * 1000 + o.place <= sqlc.arg(newest)
ORDER BY p.block DESC, o.place DESC LIMIT sqlc.arg(most);

-- name: PlacesAfter :many
-- Oldest first, beyond a number and up to an edge. No block is empty, but the first may hold older ones only. Blocks
-- behind the edge are those that another reader has made meanwhile.
SELECT (p.block * 1000 + o.place)::bigint AS sequence FROM (
    SELECT b.block, b.places FROM event_type_index b
    WHERE b.sandbox_id = sqlc.arg(sandbox_id) AND b.event_type = sqlc.arg(event_type) AND b.block >= sqlc.arg(after)::bigint / 1000
      AND b.block < sqlc.arg(edge)::bigint / 1000
    ORDER BY b.block LIMIT sqlc.arg(most)::integer + 1
) p CROSS JOIN LATERAL unnest(p.places) AS o(place)
WHERE p.block * 1000 + o.place > sqlc.arg(after)
ORDER BY p.block, o.place LIMIT sqlc.arg(most);

-- name: RankOf :one
-- How many places there are up to a number.
SELECT (p.before + (SELECT count(*) FROM unnest(p.places) AS o(place) WHERE p.block * 1000 + o.place <= sqlc.arg(newest)))::bigint AS rank
FROM event_type_index p
WHERE p.sandbox_id = sqlc.arg(sandbox_id) AND p.event_type = sqlc.arg(event_type) AND p.block <= (sqlc.arg(newest)::bigint - 1) / 1000
ORDER BY p.block DESC LIMIT 1;

-- name: PlaceOf :one
-- The place of a rank, which begins at 1.
SELECT (p.block * 1000 + p.places[sqlc.arg(rank)::bigint - p.before])::bigint AS sequence FROM event_type_index p
WHERE p.sandbox_id = sqlc.arg(sandbox_id) AND p.event_type = sqlc.arg(event_type) AND p.before < sqlc.arg(rank)
ORDER BY p.block DESC LIMIT 1;

-- name: EventsAt :many
-- Oldest first. One look each: asked for all at once, PostgreSQL may read the whole sandbox.
SELECT e.sequence, e.event_type, e.source, e.event_data, e.late, e.created_at,
    coalesce((SELECT s.attempt FROM sandboxes s WHERE s.id = sqlc.arg(sandbox_id)), 0)::integer AS attempt,
    CASE WHEN e.cut THEN omoi_omitted_fields(e.partition_month, e.sandbox_id, e.sequence) END::text[] AS omitted
FROM unnest(sqlc.arg(places)::bigint[]) AS p(place) CROSS JOIN LATERAL (
    SELECT x.* FROM sandbox_events x
    WHERE x.partition_month = (SELECT s.partition_month FROM sandboxes s WHERE s.id = sqlc.arg(sandbox_id)) AND x.sandbox_id = sqlc.arg(sandbox_id)
      AND x.sequence = p.place LIMIT 1
) e ORDER BY e.sequence;
