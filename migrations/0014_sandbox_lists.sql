-- +goose Up

-- The ledger of sandboxes only grows. Lists begin with the newest sandboxes of an organization, and usage by day reads those since a day.
CREATE INDEX sandboxes_list ON sandboxes (organization_id, created_at DESC, id DESC);
