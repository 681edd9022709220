package client

import (
	"context"
	"net/http"
	"net/url"

	"github.com/omoi-dev/omoi/internal/guardian"
)

// Rating is what a user said of an intervention or a finding.
type Rating = guardian.Rating

// RatingSummary tells how often the guardian was right.
type RatingSummary = guardian.RatingSummary

// RatingCounts counts interventions or findings by their newest rating.
type RatingCounts = guardian.RatingCounts

// RuleRatings counts the findings of one rule.
type RuleRatings = guardian.RuleRatings

// RateRequest is the body of a rating.
type RateRequest struct {
	Rating string `json:"rating" enum:"right,wrong" doc:"right: the fault is real and the intervention justified; wrong: a false positive."`
	Reason string `json:"reason,omitempty" doc:"Why, up to 2000 bytes; kept with the rating. Default: none."`
}

// Ratings returns how often the guardian was right.
func (c *Client) Ratings(ctx context.Context) (RatingSummary, error) {
	return answer[RatingSummary](ctx, c, call{path: prefix + "/guardian/ratings"})
}

// RateIntervention rates an intervention.
func (c *Client) RateIntervention(ctx context.Context, id string, r RateRequest) (Rating, error) {
	return answer[Rating](ctx, c, call{method: http.MethodPut, path: item("guardian/interventions", id, "rating"), body: r})
}

// RateFinding rates the finding of a rule in one analysis.
func (c *Client) RateFinding(ctx context.Context, analysisID, rule string, r RateRequest) (Rating, error) {
	return answer[Rating](ctx, c, call{method: http.MethodPut, path: item("guardian/analyses", analysisID, "findings", url.PathEscape(rule), "rating"), body: r})
}
