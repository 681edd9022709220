package guardian

import (
	"slices"
	"time"
)

// Values of a rating.
const (
	RatedRight = "right"
	RatedWrong = "wrong"
)

// Rating is what a user said of an intervention or a finding.
type Rating struct {
	Rule    string    `json:"rule" doc:"Rule of the rated finding, as in findings of the analysis. Empty: the intervention of the analysis."`
	Rating  string    `json:"rating" enum:"right,wrong" doc:"right: the fault is real; wrong: a false positive. More values may be added."`
	Reason  string    `json:"reason" doc:"Reason that the user gave. Empty: none."`
	RatedBy string    `json:"rated_by" doc:"Authenticated user who rated."`
	RatedAt time.Time `json:"rated_at" doc:"When that user last rated."`
}

// Rated returns the newest rating of the finding of a rule; an empty rule: of the intervention. Nil: there is none.
func (j Analysis) Rated(rule string) *Rating {
	if at := slices.IndexFunc(j.Ratings, func(r Rating) bool { return r.Rule == rule }); at >= 0 {
		return &j.Ratings[at]
	}
	return nil
}

// RatingCall is a rating of the intervention ID, or of the finding of Rule in the analysis ID.
type RatingCall struct {
	OrganizationID string
	ID, Rule       string
	Rating, Reason string
	By             string
}

// RatingCounts counts interventions or findings by their newest rating.
type RatingCounts struct {
	Total      int      `json:"total" doc:"Number of interventions or findings, rated or not."`
	Right      int      `json:"right" doc:"Number whose newest rating is right."`
	Wrong      int      `json:"wrong" doc:"Number whose newest rating is wrong."`
	Unrated    int      `json:"unrated" doc:"Number without a rating; they count neither as right nor as wrong."`
	ShareRight *float64 `json:"share_right" doc:"right divided by right and wrong together, 0 to 1. Null: none is rated."`
}

// RuleRatings counts the findings of one rule.
type RuleRatings struct {
	Rule string `json:"rule" doc:"Name of the rule; docs/GUARDIAN-RULES.md lists the rules."`
	RatingCounts
}

// RatingSummary tells how often the guardian was right.
type RatingSummary struct {
	Since          time.Time     `json:"period_started_at" doc:"Beginning of the period, 14 days ago."`
	Interventions  RatingCounts  `json:"interventions" doc:"Interventions of the period, sent or in shadow mode. Those of the level observe count only if they are rated."`
	Findings       RatingCounts  `json:"findings" doc:"Findings of the period in analyses with the verdict steer. Other findings count only if they are rated."`
	Rules          []RuleRatings `json:"rules" nullable:"false" doc:"The findings by rule, in order of the names."`
	FalsePositives int           `json:"false_positives" doc:"Number of analyses whose intervention, or one of whose findings, was last rated wrong."`
	AgentHours     float64       `json:"agent_hours" doc:"Time of all attempts in the period, in hours, without time for which sandboxes were frozen."`
	PerAgentHour   *float64      `json:"false_positives_per_agent_hour" doc:"false_positives divided by agent_hours. Unrated interventions may hide more. Null: no agent has run."`
}

// Counted returns the counts with their derived fields.
func (c RatingCounts) Counted() RatingCounts {
	c.Unrated = c.Total - c.Right - c.Wrong
	if rated := c.Right + c.Wrong; rated > 0 {
		share := float64(c.Right) / float64(rated)
		c.ShareRight = &share
	}
	return c
}

// Add adds the findings of one rule.
func (s *RatingSummary) Add(rule string, c RatingCounts) {
	c = c.Counted()
	if rule == "" {
		s.Interventions = c
		return
	}
	s.Rules = append(s.Rules, RuleRatings{Rule: rule, RatingCounts: c})
	f := &s.Findings
	f.Total, f.Right, f.Wrong = f.Total+c.Total, f.Right+c.Right, f.Wrong+c.Wrong
	*f = f.Counted()
}

// Worked sets the agent-hours and the false positives in them.
func (s *RatingSummary) Worked(hours float64, falsePositives int) {
	s.AgentHours, s.FalsePositives = hours, falsePositives
	if hours > 0 {
		each := float64(falsePositives) / hours
		s.PerAgentHour = &each
	}
}
