package api_test

import (
	"net/http"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/omoi-dev/omoi/api/client"
)

// TestRatings_NewestOfAllUsersCounts rates the intervention and the finding of one of two analyses.
func TestRatings_NewestOfAllUsersCounts(t *testing.T) {
	t.Parallel()
	w := closed(t)
	mine, reader, stranger := w.key(w.org, "write"), w.key(w.org, "read"), w.foreigner()
	_, secret, err := w.store.CreateKey(t.Context(), w.org, client.CreateAPIKeyRequest{Name: "another user", Scopes: []string{"write"}})
	require.NoError(t, err)
	other := "Bearer " + secret
	made := ok[client.Task](w.call(http.MethodPost, "/api/v1/tasks", newTask(), authorization, mine), http.StatusCreated)
	box := w.begin(made)
	w.loops(box)
	w.exec(`UPDATE attempts SET started_at = now() - interval '2 hours' WHERE task_id = $1`, made.ID)
	for range 2 {
		ok[client.AgentAnalysis](w.call(http.MethodPost, monitorRoutes+"/analyze/"+box+"?force=true", nil, authorization, mine), http.StatusOK)
	}
	interventions := func() []client.Intervention {
		return ok[client.Page[client.Intervention]](w.call(http.MethodGet, guardianRoutes+"/interventions", nil, authorization, reader), http.StatusOK).Items
	}
	ratings := func() client.RatingSummary {
		return ok[client.RatingSummary](w.call(http.MethodGet, guardianRoutes+"/ratings", nil, authorization, reader), http.StatusOK)
	}
	steps := interventions()
	require.Len(t, steps, 2, "the second one waits for the cooldown, and observes only")
	observed, nudged := steps[0], steps[1]
	require.Nil(t, nudged.Rating)
	require.Equal(t, client.RatingCounts{Total: 1, Unrated: 1}, ratings().Interventions, "what is not rated is neither right nor wrong")
	require.InDelta(t, 2, ratings().AgentHours, 0.1)

	path := guardianRoutes + "/interventions/" + nudged.ID + "/rating"
	rate := func(path, key, rating string) client.Rating {
		return ok[client.Rating](w.call(http.MethodPut, path, client.RateRequest{Rating: rating, Reason: "it waited"}, authorization, key), http.StatusOK)
	}
	first := rate(path, mine, "right")
	require.NotEmpty(t, first.RatedBy)
	require.NotEqual(t, first.RatedBy, rate(path, other, "wrong").RatedBy)
	got := interventions()
	require.Equal(t, "wrong", got[1].Rating.Rating, "the newest counts")
	require.Equal(t, "it waited", got[1].Rating.Reason)
	require.Nil(t, got[0].Rating, "a rating is of one intervention only")
	require.Equal(t, 1, ratings().FalsePositives)
	rate(path, mine, "wrong")
	rate(path, mine, "right")
	require.Equal(t, "right", interventions()[1].Rating.Rating, "its author may change it")
	require.Equal(t, 2, w.count(`SELECT count(*) FROM guardian_ratings`), "one of each user")
	require.Zero(t, ratings().FalsePositives)

	finding := func(analysis, rule string) string {
		return guardianRoutes + "/analyses/" + analysis + "/findings/" + rule + "/rating"
	}
	rate(finding(observed.AnalysisID, "loop"), mine, "wrong")
	sum := ratings()
	require.Equal(t, 2, sum.Findings.Total)
	require.Equal(t, []int{0, 1, 1}, []int{sum.Findings.Right, sum.Findings.Wrong, sum.Findings.Unrated})
	require.InDelta(t, 0, *sum.Findings.ShareRight, 0)
	require.InDelta(t, 1, *sum.Interventions.ShareRight, 0)
	require.Equal(t, "loop", sum.Rules[0].Rule)
	require.InDelta(t, 0.5, *sum.PerAgentHour, 0.05)
	analyses := ok[client.Page[client.GuardianAnalysis]](w.call(http.MethodGet, guardianRoutes+"/analyses", nil, authorization, reader), http.StatusOK).Items
	require.Len(t, analyses[0].Ratings, 1, "the same finding of another analysis has no rating")
	require.Equal(t, "loop", analyses[0].Ratings[0].Rule)
	require.Equal(t, "", analyses[1].Ratings[0].Rule)

	for _, wrong := range []struct {
		path, key, body, field string
		status                 int
	}{
		{path, reader, `{"rating": "wrong"}`, "", http.StatusForbidden},
		{path, stranger, `{"rating": "wrong"}`, "", http.StatusNotFound},
		{path, mine, `{"rating": "perhaps"}`, "body.rating", http.StatusUnprocessableEntity},
		{finding(observed.AnalysisID, "cost"), mine, `{"rating": "wrong"}`, "", http.StatusNotFound},
		{finding(observed.AnalysisID, "loop"), stranger, `{"rating": "wrong"}`, "", http.StatusNotFound},
	} {
		w.call(http.MethodPut, wrong.path, wrong.body, authorization, wrong.key).refused(wrong.status, wrong.field)
	}
	empty := ok[client.RatingSummary](w.call(http.MethodGet, guardianRoutes+"/ratings", nil, authorization, stranger), http.StatusOK)
	require.Zero(t, empty.Interventions.Total+empty.Findings.Total)
	require.Nil(t, empty.PerAgentHour, "no agent has run")
}
