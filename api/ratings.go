package api

import (
	"context"

	"github.com/omoi-dev/omoi/api/client"
	"github.com/omoi-dev/omoi/internal/guardian"
	"github.com/omoi-dev/omoi/internal/task"
)

func (a *API) registerRatings() {
	all := a.group(tagGuardian, "/api/v1/guardian")
	const again = " Each user has one rating: a further one replaces it. The newest rating of all users counts."
	add(all.on(accessRead, "GET /ratings", "get-guardian-ratings", "Get rating statistics"), a.ratings,
		details{more: "How often interventions and findings of the last 14 days were right, and false positives per agent-hour."})
	add(all.on(accessWrite, "PUT /interventions/{id}/rating", "rate-intervention", "Set the rating of an intervention"), a.rateIntervention,
		details{more: "Stores whether the intervention was right." + again})
	add(all.on(accessWrite, "PUT /analyses/{id}/findings/{rule}/rating", "rate-finding", "Set the rating of a finding"), a.rateFinding,
		details{more: "Stores whether the finding of a rule in one analysis was right. Other analyses keep their ratings." + again})
}

func (a *API) ratings(ctx context.Context, _ *struct{}) (*bodyOut[client.RatingSummary], error) {
	return body(a.deps.Guardian.Ratings(ctx, callerOf(ctx).organization))
}

type rateInterventionIn struct {
	IDPath
	Body client.RateRequest
}

func (a *API) rateIntervention(ctx context.Context, in *rateInterventionIn) (*bodyOut[client.Rating], error) {
	return a.rate(ctx, "intervention", guardian.RatingCall{ID: in.ID}, in.Body)
}

type rateFindingIn struct {
	ID   string `path:"id" doc:"UUID of the analysis"`
	Rule string `path:"rule" doc:"Rule of the finding, as in findings of the analysis"`
	Body client.RateRequest
}

func (a *API) rateFinding(ctx context.Context, in *rateFindingIn) (*bodyOut[client.Rating], error) {
	return a.rate(ctx, "analysis", guardian.RatingCall{ID: in.ID, Rule: in.Rule}, in.Body)
}

func (a *API) rate(ctx context.Context, kind string, c guardian.RatingCall, said client.RateRequest) (*bodyOut[client.Rating], error) {
	who := callerOf(ctx)
	c.OrganizationID, c.By, c.Rating, c.Reason = who.organization, who.name, said.Rating, said.Reason
	if err := knownID(kind, c.ID); err != nil {
		return nil, err
	}
	if said.Rating != guardian.RatedRight && said.Rating != guardian.RatedWrong {
		return nil, task.Invalid("rating", "Invalid rating %q: must be right or wrong.", clip(said.Rating))
	}
	if err := checkText("reason", said.Reason, maxReason); err != nil {
		return nil, err
	}
	return body(a.deps.Guardian.Rate(ctx, c))
}
