-- +goose Up

-- What the conductor thought of an organization's agents together, once in a cycle.
CREATE TABLE conductor_analyses (
    id                  uuid PRIMARY KEY,
    cycle_id            text NOT NULL,          -- first run id of the workflow
    organization_id     uuid NOT NULL REFERENCES organizations ON DELETE CASCADE,
    coherence_score     double precision,       -- null: too few are judged to say
    coherence_at_most   double precision NOT NULL,
    system_status       text NOT NULL CHECK (system_status IN
                            ('no_agents', 'critical', 'warning', 'inefficient', 'optimal', 'normal', 'unknown')),
    num_agents          integer NOT NULL,
    judged              integer NOT NULL,       -- of whom the guardian could say something
    duplicate_count     integer NOT NULL,
    termination_count   integer NOT NULL,       -- whose work is done, and whose sandbox lives
    coordination_count  integer NOT NULL,       -- files that several change at a time
    details             jsonb NOT NULL,
    created_at          timestamptz NOT NULL DEFAULT now(),
    UNIQUE (cycle_id, organization_id)
);
CREATE INDEX conductor_analyses_newest ON conductor_analyses (organization_id, created_at DESC, id DESC);
CREATE INDEX conductor_analyses_age ON conductor_analyses (created_at);

-- Tasks about the same work, linked. A pair that a model has told apart stays, so that it is asked once.
CREATE TABLE detected_duplicates (
    id                    uuid PRIMARY KEY,
    conductor_analysis_id uuid REFERENCES conductor_analyses ON DELETE SET NULL,  -- the newest that found it
    organization_id       uuid NOT NULL REFERENCES organizations ON DELETE CASCADE,
    task1_id              uuid NOT NULL REFERENCES tasks ON DELETE CASCADE,
    task2_id              uuid NOT NULL REFERENCES tasks ON DELETE CASCADE,
    agent1_id             text NOT NULL,        -- the sandbox of task1 at that time
    agent2_id             text NOT NULL,
    is_duplicate          boolean NOT NULL,
    spoken_by             text NOT NULL CHECK (spoken_by IN ('words', 'model')),
    similarity_score      double precision NOT NULL,
    work_description      text NOT NULL DEFAULT '',
    resources             jsonb NOT NULL DEFAULT '{}',  -- files that both have changed
    cycles                integer NOT NULL DEFAULT 1,   -- in how many it was found
    created_at            timestamptz NOT NULL DEFAULT now(),
    seen_at               timestamptz NOT NULL DEFAULT now(),
    UNIQUE (task1_id, task2_id),
    CHECK (task1_id < task2_id)
);
CREATE INDEX detected_duplicates_newest ON detected_duplicates (organization_id, seen_at DESC, id DESC);
CREATE INDEX detected_duplicates_second ON detected_duplicates (task2_id);
CREATE INDEX detected_duplicates_analysis ON detected_duplicates (conductor_analysis_id);

-- +goose Down
DROP TABLE detected_duplicates, conductor_analyses;
