-- +goose Up

-- What is too large for an event's row: read when somebody asks for the whole event. One row
-- an event; it is written with the event, and goes with its partition.
CREATE TABLE event_fields (
    sandbox_id  text NOT NULL,
    sequence    bigint NOT NULL,
    birth       date NOT NULL,
    names       text[] NOT NULL,            -- of what the row of the event lacks; *: all of it
    fields      jsonb NOT NULL,             -- a transcript is named, but kept in its own table
    PRIMARY KEY (birth, sandbox_id, sequence)
) PARTITION BY RANGE (birth);
CREATE TABLE event_fields_default PARTITION OF event_fields DEFAULT;

-- NOT NULL, at the end: a row without large fields does not grow by it, and the statement that
-- stores such rows does not name it.
ALTER TABLE sandbox_events ADD COLUMN cut boolean NOT NULL DEFAULT false;

-- To be called where cut is set: calls of SQL functions are not free.
-- +goose StatementBegin
CREATE FUNCTION omoi_omitted(birth date, sandbox_id text, sequence bigint) RETURNS text[] LANGUAGE sql STABLE AS $$
    SELECT f.names FROM event_fields f WHERE f.birth = $1 AND f.sandbox_id = $2 AND f.sequence = $3;
$$;
-- +goose StatementEnd
-- +goose StatementBegin
CREATE FUNCTION omoi_whole(birth date, sandbox_id text, sequence bigint, event_data jsonb) RETURNS jsonb LANGUAGE sql STABLE AS $$
    SELECT $4 || coalesce((SELECT f.fields FROM event_fields f WHERE f.birth = $1 AND f.sandbox_id = $2 AND f.sequence = $3), '{}');
$$;
-- +goose StatementEnd

-- How often a type has come among 1..upto, and where first and last. Made by readers, when they
-- find that too much has come since; what it says of 1..upto can never change.
CREATE TABLE event_counts (
    sandbox_id  text PRIMARY KEY REFERENCES sandboxes ON DELETE CASCADE,
    upto        bigint NOT NULL,
    types       jsonb NOT NULL              -- type -> [events, first sequence, last sequence]
);

-- How far a run by phases has come, by its spec.* events. It is moved with them, under the
-- lock of the sandbox's row.
CREATE TABLE spec_progress (
    sandbox_id      text PRIMARY KEY REFERENCES sandboxes ON DELETE CASCADE,
    spec_id         text NOT NULL DEFAULT '',
    status          text NOT NULL DEFAULT 'executing' CHECK (status IN ('executing', 'completed', 'failed')),
    current_phase   text NOT NULL DEFAULT '',
    progress        integer NOT NULL DEFAULT 0,
    phase_data      jsonb NOT NULL DEFAULT '{}',    -- by the name of the phase
    started         jsonb NOT NULL DEFAULT '{}',    -- phase -> when it first was
    completed       jsonb NOT NULL DEFAULT '{}',    -- likewise
    last_completed  text,
    last_completed_at timestamptz,
    execution_completed_at timestamptz,
    execution_failed_at timestamptz,
    criteria        jsonb NOT NULL DEFAULT '{}',    -- criterion -> {requirement_id, at}
    updated_at      timestamptz NOT NULL DEFAULT now()
);

-- The last phase of a run whose output is there; null: none.
-- +goose StatementBegin
CREATE FUNCTION omoi_last_phase(phase_data jsonb) RETURNS text LANGUAGE sql IMMUTABLE AS $$
    SELECT p.name FROM unnest(ARRAY['sync', 'tasks', 'design', 'requirements', 'prd', 'explore']) WITH ORDINALITY AS p(name, n)
    WHERE $1 ? p.name ORDER BY p.n LIMIT 1;
$$;
-- +goose StatementEnd

-- Makes the partition of the month of day of a table if it is missing. Where the default
-- partition holds rows of that month already they stay there.
-- +goose StatementBegin
CREATE FUNCTION omoi_partition_of(parent text, day date) RETURNS void LANGUAGE plpgsql AS $$
DECLARE
    first date := date_trunc('month', day);
    past  date := (date_trunc('month', day) + interval '1 month')::date;
    name  text := parent || '_' || to_char(day, 'YYYYMM');
    taken boolean;
BEGIN
    EXECUTE format('SELECT EXISTS (SELECT FROM %I WHERE birth >= $1 AND birth < $2)', parent || '_default') INTO taken USING first, past;
    IF taken OR to_regclass(name) IS NOT NULL THEN
        RETURN;
    END IF;
    EXECUTE format('CREATE TABLE %I PARTITION OF %I FOR VALUES FROM (%L) TO (%L)', name, parent, first, past);
EXCEPTION WHEN duplicate_table THEN
    NULL;  -- another process was faster
END $$;
-- +goose StatementEnd
-- +goose StatementBegin
CREATE OR REPLACE FUNCTION omoi_partition(day date) RETURNS void LANGUAGE plpgsql AS $$
BEGIN
    PERFORM omoi_partition_of('sandbox_events', day);
    PERFORM omoi_partition_of('event_fields', day);
END $$;
-- +goose StatementEnd

-- +goose Down

-- +goose StatementBegin
CREATE OR REPLACE FUNCTION omoi_partition(day date) RETURNS void LANGUAGE plpgsql AS $$
DECLARE
    first date := date_trunc('month', day);
    name  text := 'sandbox_events_' || to_char(day, 'YYYYMM');
BEGIN
    IF to_regclass(name) IS NOT NULL OR EXISTS (SELECT FROM sandbox_events_default
            WHERE birth >= first AND birth < first + interval '1 month') THEN
        RETURN;
    END IF;
    EXECUTE format('CREATE TABLE %I PARTITION OF sandbox_events FOR VALUES FROM (%L) TO (%L)',
        name, first, (first + interval '1 month')::date);
EXCEPTION WHEN duplicate_table THEN
    NULL;  -- another process was faster
END $$;
-- +goose StatementEnd
DROP TABLE spec_progress, event_counts, event_fields;
ALTER TABLE sandbox_events DROP COLUMN cut;
DROP FUNCTION omoi_omitted, omoi_whole, omoi_last_phase, omoi_partition_of;
