package taskcmd

import (
	"context"
	"encoding/json"
	"fmt"
	"strings"

	"github.com/spf13/cobra"

	"github.com/omoi-dev/omoi/api/client"
	"github.com/omoi-dev/omoi/internal/cli/exit"
	"github.com/omoi-dev/omoi/internal/cli/render"
	"github.com/omoi-dev/omoi/internal/guardian"
	"github.com/omoi-dev/omoi/internal/supervise"
)

func (s *session) guardianRate() *cobra.Command {
	var rule, reason string
	cmd := s.verb("rate <intervention> <right|wrong>", "Say whether an intervention or a finding was right",
		exactly(2, "the ID of an intervention, or of an analysis with --rule, and right or wrong"), //nolint:mnd // two
		func(ctx context.Context, api *client.Client, args []string) error {
			return s.rate(ctx, api, args[0], rule, client.RateRequest{Rating: args[1], Reason: reason})
		})
	cmd.Long = `Say whether an intervention of the guardian was right. A wrong one is a false positive. With --rule, rate the finding of
that rule in one analysis: omoi guardian analyses lists both.

Each user has one rating of each intervention and finding, which a further rating replaces. The newest rating counts.`
	cmd.Flags().StringVar(&rule, "rule", "", "rate the finding of this `rule`; the first argument is the ID of an analysis")
	cmd.Flags().StringVar(&reason, "reason", "", "why it was right or wrong")
	return cmd
}

func (s *session) rate(ctx context.Context, api *client.Client, ref, rule string, r client.RateRequest) error {
	if r.Rating != guardian.RatedRight && r.Rating != guardian.RatedWrong {
		return exit.Usagef("invalid rating %q: use right or wrong", r.Rating)
	}
	what, find := "intervention", interventionOf
	if rule != "" {
		what, find = rule+" in analysis", analysisOf
	}
	id, err := find(ctx, api, ref)
	if err != nil {
		return err
	}
	var rated client.Rating
	if rule == "" {
		rated, err = api.RateIntervention(ctx, id, r)
	} else {
		rated, err = api.RateFinding(ctx, id, rule, r)
	}
	return s.answer(rated, err, func() {
		s.say("Rated %s %s as %s.", what, render.Short(id), rated.Rating)
		s.hint("Next: omoi guardian status")
	})
}

// analysisOf returns the ID of the analysis that ref names: the whole ID, or a part of the ID of one of the newest.
func analysisOf(ctx context.Context, api *client.Client, ref string) (string, error) {
	if ref = plain(ref); len(ref) == uuidLength {
		return ref, nil
	}
	page, err := api.Judgements(ctx, client.GuardianFilter{Limit: pageLimit})
	if err != nil {
		return "", err
	}
	found, err := kind[client.GuardianAnalysis]{
		noun: "analysis", list: "omoi guardian analyses <task>", id: func(j client.GuardianAnalysis) string { return j.ID },
	}.pick(page.Items, ref)
	return found.ID, err
}

// findingsOf returns the rules that matched in an analysis, each with its rating.
func findingsOf(j client.GuardianAnalysis) string {
	var said supervise.Analysis
	_ = json.Unmarshal(j.Analysis, &said) // another form has no findings
	var all []string
	for _, f := range said.Findings {
		name := f.Rule
		if r := j.Rated(f.Rule); r != nil {
			name += " (" + r.Rating + ")"
		}
		all = append(all, name)
	}
	return strings.Join(all, ", ")
}

func ratingText(r *client.Rating) string {
	if r == nil {
		return "-"
	}
	return r.Rating
}

// showRatings prints how often the guardian was right. Unrated ones are counted apart.
func (s *session) showRatings(r client.RatingSummary) {
	days := int(supervise.KeepAnalyses.Hours()) / 24 //nolint:mnd // hours of a day
	s.row("Interventions", fmt.Sprintf("%s in the last %d days", countsText(r.Interventions), days))
	s.row("Findings", fmt.Sprintf("%s in the last %d days", countsText(r.Findings), days))
	positives := "unknown; no agent has run"
	if r.PerAgentHour != nil {
		positives = fmt.Sprintf("%.3f per agent-hour (%d in %.1f agent-hours)", *r.PerAgentHour, r.FalsePositives, r.AgentHours)
	}
	s.row("False positives", positives)
	if r.Interventions.Unrated > 0 {
		s.hint("Unrated interventions may hide false positives. Next: omoi guardian interventions, then omoi guardian rate <intervention> wrong")
	}
}

func countsText(c client.RatingCounts) string {
	share := "none rated"
	if c.ShareRight != nil {
		share = fmt.Sprintf("%.0f %% of the rated ones right", 100**c.ShareRight) //nolint:mnd // percent
	}
	return fmt.Sprintf("%d: %d right, %d wrong, %d unrated; %s", c.Total, c.Right, c.Wrong, c.Unrated, share)
}
