package postgres

import (
	"context"
	"time"

	"github.com/omoi-dev/omoi/internal/guardian"
	"github.com/omoi-dev/omoi/internal/postgres/db"
	"github.com/omoi-dev/omoi/internal/supervise"
)

// Rate stores the rating of a user. A further rating of the same user replaces it.
func (s *Store) Rate(ctx context.Context, c guardian.RatingCall) (guardian.Rating, error) {
	rated, what := guardian.Rating{Rule: c.Rule, Rating: c.Rating, Reason: storable(c.Reason), RatedBy: storable(c.By)}, "intervention"
	var err error
	if c.Rule == "" {
		rated.RatedAt, err = s.q.RateIntervention(ctx, db.RateInterventionParams{
			OrganizationID: c.OrganizationID, ID: c.ID, Rating: c.Rating, Reason: rated.Reason, RatedBy: rated.RatedBy,
		})
	} else {
		what = "finding " + clip(c.Rule) + " in analysis"
		rated.RatedAt, err = s.q.RateFinding(ctx, db.RateFindingParams{
			OrganizationID: c.OrganizationID, ID: c.ID, Rule: c.Rule, Rating: c.Rating, Reason: rated.Reason, RatedBy: rated.RatedBy,
		})
	}
	rated.RatedAt = rated.RatedAt.UTC()
	return rated, missing(translate("rate "+what+" "+c.ID, err), "Unknown %s %s.", what, clip(c.ID))
}

// ratings returns the newest ratings by analysis.
func (s *Store) ratings(ctx context.Context, ids []string) (map[string][]guardian.Rating, error) {
	if len(ids) == 0 {
		return nil, nil //nolint:nilnil // a nil map has no ratings
	}
	rows, err := s.q.NewestRatings(ctx, ids)
	of := map[string][]guardian.Rating{}
	for _, r := range rows {
		of[r.AnalysisID] = append(of[r.AnalysisID], guardian.Rating{
			Rule: r.Rule, Rating: r.Rating, Reason: r.Reason, RatedBy: r.RatedBy, RatedAt: r.RatedAt.UTC(),
		})
	}
	return of, err
}

func (s *Store) rateAnalyses(ctx context.Context, all []guardian.Analysis) error {
	of, err := s.ratings(ctx, mapAll(all, func(j guardian.Analysis) string { return j.ID }))
	for n := range all {
		all[n].Ratings = append(all[n].Ratings, of[all[n].ID]...)
	}
	return err
}

func (s *Store) rateInterventions(ctx context.Context, all []guardian.Intervention) error {
	of, err := s.ratings(ctx, mapAll(all, func(iv guardian.Intervention) string { return iv.AnalysisID }))
	for n := range all {
		for _, r := range of[all[n].AnalysisID] {
			if r.Rule == "" {
				all[n].Rating = &r
			}
		}
	}
	return err
}

// Ratings summarizes the ratings of the time for which analyses are kept.
func (s *Store) Ratings(ctx context.Context, organizationID string) (guardian.RatingSummary, error) {
	out := guardian.RatingSummary{Since: time.Now().UTC().Add(-supervise.KeepAnalyses), Rules: []guardian.RuleRatings{}}
	counts, err := s.q.RatingCounts(ctx, organizationID, out.Since)
	if err != nil {
		return out, translate("count ratings", err)
	}
	wrong := 0
	for _, r := range counts {
		out.Add(r.Rule, guardian.RatingCounts{Total: r.Total, Right: r.RightOnes, Wrong: r.WrongOnes})
		wrong = r.FalsePositives // the same in each row
	}
	hours, err := s.q.AgentHours(ctx, db.AgentHoursParams{OrganizationID: &organizationID, Since: out.Since, Earliest: out.Since.Add(-frozenLookback)})
	out.Worked(hours, wrong)
	return out, translate("sum agent hours", err)
}
