-- +goose Up

ALTER TABLE validation_reviews ADD COLUMN evidence jsonb;
COMMENT ON COLUMN validation_reviews.evidence IS 'Object that the validator sent with the verdict. Null: none.';
