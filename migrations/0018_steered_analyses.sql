-- +goose Up

-- Ratings count the findings of analyses that called for steering, which are few.
CREATE INDEX guardian_analyses_steered ON guardian_analyses (organization_id, judged_at) WHERE needs_steering;
