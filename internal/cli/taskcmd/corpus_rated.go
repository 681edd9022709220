package taskcmd

import (
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"slices"

	"github.com/omoi-dev/omoi/api/client"
	"github.com/omoi-dev/omoi/internal/cli/exit"
	"github.com/omoi-dev/omoi/internal/guardian"
	"github.com/omoi-dev/omoi/internal/supervise"
	"github.com/omoi-dev/omoi/internal/supervise/corpus"
)

// labelByRatings sets label, reason and last event of an attempt by the ratings of its findings. Without --attempt, it
// takes the newest attempt with a rating.
func labelByRatings(ctx context.Context, api *client.Client, t client.Task, note *corpus.Note) error {
	page, err := api.Judgements(ctx, client.GuardianFilter{TaskID: t.ID, Limit: pageLimit})
	if err != nil {
		return err
	}
	if at := slices.IndexFunc(page.Items, func(j client.GuardianAnalysis) bool { return len(j.Ratings) > 0 }); at >= 0 && note.Attempt == 0 {
		note.Attempt = page.Items[at].Attempt
	}
	if n := len(page.Items); page.NextCursor != nil && n > 0 && page.Items[n-1].Attempt >= note.Attempt {
		return exit.Usagef("attempt %d of task %s has more than %d analyses. Next: give --label and --reason", note.Attempt, t.Key, n)
	}
	all := slices.DeleteFunc(page.Items, func(j client.GuardianAnalysis) bool { return j.Attempt != note.Attempt })
	slices.Reverse(all)
	label, reason, until := ratedLabel(all)
	if label == "" {
		return exit.Usagef("the ratings of task %s decide no label. Next: omoi guardian analyses %s, then omoi guardian rate <analysis> right --rule <rule>, or give --label and --reason", t.Key, t.Key)
	}
	note.Label, note.Reason, note.Until = label, cmp.Or(note.Reason, reason), cmp.Or(note.Until, until)
	return nil
}

// claim is a finding of an analysis, or the opinion of a model, with its newest rating.
type claim struct {
	label     supervise.Label
	rule, why string
	rating    *client.Rating // nil: not rated
}

// ratedLabel returns the label that users gave to an attempt by rating its claims, oldest analysis first. A claim
// without a rating ends what is known. Empty: nothing is known.
func ratedLabel(all []client.GuardianAnalysis) (label supervise.Label, reason string, until int64) {
	for _, j := range all {
		claims := claimsOf(j)
		for _, a := range claims {
			switch {
			case a.rating == nil:
				return label, reason, until
			case a.rating.Rating == guardian.RatedRight:
				return a.label, cmp.Or(a.rating.Reason, fmt.Sprintf("A user rated the finding %s as right: %s", a.rule, a.why)), j.LastSeen
			}
		}
		if len(claims) > 0 {
			label, reason, until = supervise.LabelHealthy, cmp.Or(claims[0].rating.Reason, "Users rated all findings as wrong."), j.LastSeen
		}
	}
	return label, reason, until
}

// claimsOf returns the rated findings of an analysis, and those that called for steering. The rating of the intervention
// is about the strongest finding, which led to it.
func claimsOf(j client.GuardianAnalysis) []claim {
	var said supervise.Analysis
	_ = json.Unmarshal(j.Analysis, &said) // another form has no findings
	var all []claim
	for n, f := range said.Findings {
		rating := j.Rated(f.Rule)
		if n == 0 && rating == nil {
			rating = j.Rated("")
		}
		if rating != nil || j.NeedsSteering && f.Confidence >= supervise.DefaultSettings().Confidence {
			all = append(all, claim{label: f.Label, rule: f.Rule, why: f.Why, rating: rating})
		}
	}
	if m := said.Model; len(said.Findings) == 0 && m != nil && j.NeedsSteering {
		all = append(all, claim{label: m.Label, rule: "of the model", why: m.Summary, rating: j.Rated("")})
	}
	return all
}
