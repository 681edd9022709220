-- +goose Up

CREATE TABLE guardian_ratings (
    analysis_id uuid NOT NULL REFERENCES guardian_analyses ON DELETE CASCADE,
    rule        text NOT NULL,
    rated_by    text NOT NULL,
    rating      text NOT NULL CHECK (rating IN ('right', 'wrong')),
    reason      text NOT NULL DEFAULT '',
    rated_at    timestamptz NOT NULL DEFAULT now(),
    PRIMARY KEY (analysis_id, rule, rated_by)
);
COMMENT ON TABLE guardian_ratings IS 'What users say of interventions and findings of the guardian. The newest rating counts.';
COMMENT ON COLUMN guardian_ratings.rule IS 'Rule of the rated finding. Empty: the intervention of the analysis.';
COMMENT ON COLUMN guardian_ratings.rated_by IS 'The authenticated user.';
COMMENT ON COLUMN guardian_ratings.reason IS 'Empty: none.';
