package taskcmd

import (
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/omoi-dev/omoi/api/client"
	"github.com/omoi-dev/omoi/internal/cli/render"
	"github.com/omoi-dev/omoi/internal/guardian"
	"github.com/omoi-dev/omoi/internal/supervise"
	"github.com/omoi-dev/omoi/internal/task"
)

func newGuardian(s *session) *cobra.Command {
	return noun("guardian", "Supervise running agents: status, analyses, interventions, scores",
		s.verb("status", "Show the state of the guardian and its analyses of active agents", NoArgs, s.guardianStatus),
		s.guardianAnalyses(), s.guardianAnalyze(), s.guardianInterventions(), s.guardianWithdraw(), s.guardianRate(),
		s.scheduleAsk("guardian", "run", "Run the guardian now, after a run in progress"),
		s.scheduleAsk("guardian", "pause", "Pause the guardian until it is resumed"),
		s.scheduleAsk("guardian", "resume", "Resume a paused guardian"),
		s.guardianScore(), noun("corpus", "Manage labelled trajectories", s.corpusAdd(), s.corpusMutate()))
}

// guardianShown is the JSON form of guardian status.
type guardianShown struct {
	client.MonitorStatus

	Health  client.MonitorHealth `json:"health"`
	Ratings client.RatingSummary `json:"ratings"`
}

func (s *session) guardianStatus(ctx context.Context, api *client.Client, _ []string) error {
	status, err := api.MonitorStatus(ctx)
	if err != nil {
		return err
	}
	health, err := api.MonitorHealth(ctx)
	if err != nil {
		return err
	}
	ratings, err := api.Ratings(ctx)
	return s.answer(guardianShown{status, health, ratings}, err, func() {
		s.showGuardian(status, health)
		s.showRatings(ratings)
	})
}

func (s *session) showGuardian(status client.MonitorStatus, health client.MonitorHealth) {
	s.row("Guardian", s.scheduleText("guardian", status.Schedule, status.PausedIdle))
	s.cycles(status.Config.GuardianInterval, status.Timing.LastRunAge, status.Timing.NextRun)
	s.row("Steering", steers(status.Config))
	s.row("Cycles", fmt.Sprintf("%d, of which %d failed", status.Metrics.TotalCycles, status.Metrics.FailedCycles))
	s.row("Active", fmt.Sprintf("%s; %d analyzed, %d to steer, %d unknown", task.Count(health.ActiveAgents, "agent"), health.Analyzed, health.NeedSteering, health.Unknown))
	s.row("Health", health.Health)
	modelError := health.ModelError
	if !status.Config.LLMAnalysis {
		modelError = noModel
	}
	s.row("Model", render.OneLine(modelError, longestModelError))
}

// noModel tells how to configure a model for the guardian.
const noModel = "none configured; the guardian uses rules only. Next: set ANTHROPIC_API_KEY and ANTHROPIC_MODEL (docs/SUPERVISION.md)"

// scheduleText renders the state of the schedule of guardian or conductor. rests reports that the schedule is paused
// because no agent is active.
func (s *session) scheduleText(name string, found client.Schedule, rests bool) string {
	st := s.style()
	switch {
	case !found.Exists:
		return st.Yellow("not scheduled. A worker creates the schedule within a minute. Next: omoi worker")
	case rests:
		return "paused while idle: " + render.OneLine(found.Note, 100)
	case found.Paused:
		return st.Yellow("paused: "+render.OneLine(found.Note, 100)) + ". Next: omoi " + name + " resume"
	}
	return st.Green("running")
}

func steers(c client.MonitorConfig) string {
	if c.AutoSteering {
		return "in every project without a setting of its own"
	}
	return "in shadow mode, except in projects with auto-steering. Next: omoi project update <project> --auto-steering true"
}

// cycles prints the interval, the last and the next cycle.
func (s *session) cycles(interval float64, age *float64, next *time.Time) {
	s.row("Every", seconds(interval))
	last := "none yet"
	if age != nil {
		last = seconds(math.Round(*age)) + " ago"
	}
	s.row("Last cycle", last)
	if next != nil {
		s.row("Next cycle", next.Local().Format("15:04:05"))
	}
}

func seconds(n float64) string { return time.Duration(n * float64(time.Second)).String() }

// scheduleAsk returns the command run, pause or resume of guardian or conductor.
func (s *session) scheduleAsk(name, what, short string) *cobra.Command {
	var reason string
	cmd := s.verb(what, short, NoArgs, func(ctx context.Context, api *client.Client, _ []string) error {
		found, err := api.AskSchedule(ctx, name, what, reason)
		return s.answer(found, err, func() {
			s.say("Accepted: %s %s", name, what)
			s.hint("Next: omoi %s status", name)
		})
	})
	cmd.Flags().StringVar(&reason, "reason", "", "reason that the schedule shows")
	return cmd
}

func (s *session) guardianAnalyses() *cobra.Command {
	var limit int
	cmd := s.taskVerb("analyses <task>", "List the guardian's analyses of a task's attempts, newest first", func(ctx context.Context, api *client.Client, t client.Task) error {
		page, err := api.Judgements(ctx, client.GuardianFilter{TaskID: t.ID, Limit: limit})
		return s.answer(page.Items, err, func() { s.showJudgements(page.Items) })
	})
	cmd.Flags().IntVarP(&limit, "limit", "n", 20, "maximum number of rows, up to 500")
	return cmd
}

func (s *session) showJudgements(all []client.GuardianAnalysis) {
	heading := "ANALYSIS|WHEN|ATTEMPT|VERDICT|SOURCE|CONFIDENCE|EVENTS|FINDINGS|SUMMARY"
	none := "The guardian has not analyzed this task. Next: omoi guardian status"
	list(s, all, none, heading, func(j client.GuardianAnalysis) []string {
		return []string{
			render.Short(j.ID), j.JudgedAt.Local().Format("15:04:05"), strconv.Itoa(j.Attempt), s.verdictText(j.Verdict), j.SpokenBy,
			fmt.Sprintf("%.2f", j.Confidence), fmt.Sprintf("%d-%d", j.FirstSeen, j.LastSeen), render.OneLine(findingsOf(j), 60), render.OneLine(summaryOf(j), 120),
		}
	})
	switch i := slices.IndexFunc(all, func(j client.GuardianAnalysis) bool { return j.ModelError() != "" }); {
	case i >= 0:
		s.say("%s  %s", all[i].JudgedAt.Local().Format("15:04:05"), render.OneLine(all[i].ModelError(), longestModelError))
	case len(all) > 0 && all[0].SpokenBy == string(supervise.ByNone):
		s.hint("Model: %s", noModel)
	}
}

// longestModelError is the maximum length of a printed model error, in characters.
const longestModelError = 200

func summaryOf(j client.GuardianAnalysis) string {
	var said struct {
		Summary string `json:"summary"`
	}
	_ = json.Unmarshal(j.Analysis, &said) // another form has no summary
	return said.Summary
}

func (s *session) verdictText(verdict string) string {
	switch verdict {
	case "healthy":
		return s.style().Green(verdict)
	case "steer":
		return s.style().Red(verdict)
	}
	return s.style().Yellow(verdict)
}

func (s *session) guardianAnalyze() *cobra.Command {
	var force bool
	cmd := s.taskVerb("analyze <task>", "Analyze a task's agent now, and act on the analysis as a cycle does", func(ctx context.Context, api *client.Client, t client.Task) error {
		a, err := api.Analyze(ctx, t.ID, force)
		return s.answer(a, err, func() {
			s.row("Verdict", fmt.Sprintf("%s (%s, confidence %.2f)", s.verdictText(a.Verdict), a.Source, a.Confidence))
			s.row("Why", render.OneLine(a.Summary, 400))
			s.row("Evidence", strings.Trim(fmt.Sprint(a.Evidence), "[]"))
			s.row("Advice", render.OneLine(text(a.Recommendation), 400))
			s.row("Model", render.OneLine(client.GuardianAnalysis{Analysis: a.Details}.ModelError(), longestModelError))
			s.row("Analyzed", moment(&a.CreatedAt))
		})
	})
	cmd.Flags().BoolVar(&force, "force", false, "analyze even if a recent analysis exists")
	return cmd
}

func (s *session) guardianInterventions() *cobra.Command {
	return s.ofTask("interventions [task]", "List interventions of the guardian, newest first", 50,
		func(ctx context.Context, api *client.Client, f client.GuardianFilter) error {
			page, err := api.Interventions(ctx, f)
			return s.answer(page.Items, err, func() { s.showInterventions(page.Items) })
		})
}

// ofTask returns a command that lists objects of one task, or without an argument of all tasks.
func (s *session) ofTask(use, short string, limit int, list func(context.Context, *client.Client, client.GuardianFilter) error) *cobra.Command {
	f := client.GuardianFilter{}
	cmd := s.verb(use, short, cobra.MaximumNArgs(1), func(ctx context.Context, api *client.Client, args []string) error {
		if len(args) > 0 {
			t, err := s.taskOf(ctx, api, args[0])
			if err != nil {
				return err
			}
			f.TaskID = t.ID
		}
		return list(ctx, api, f)
	})
	cmd.ValidArgsFunction = s.completeTasks
	cmd.Flags().IntVarP(&f.Limit, "limit", "n", limit, "maximum number of rows, up to 500")
	return cmd
}

func (s *session) showInterventions(all []client.Intervention) {
	heading := "INTERVENTION|WHEN|TASK|ATTEMPT|LEVEL|STATE|RATING|MESSAGE"
	list(s, all, "No interventions. Next: omoi guardian status", heading, func(iv client.Intervention) []string {
		return []string{
			render.Short(iv.ID), iv.PlannedAt.Local().Format("01-02 15:04:05"), render.Name(iv.TaskKey, iv.TaskID), strconv.Itoa(iv.Attempt), string(iv.Level),
			stateOf(iv), ratingText(iv.Rating), render.OneLine(iv.Content, 90),
		}
	})
	if slices.ContainsFunc(all, func(iv client.Intervention) bool { return iv.Rating == nil && iv.Level != guardian.LevelObserve }) {
		s.hint("Right or wrong? Next: omoi guardian rate <intervention> right")
	}
}

// stateOf returns the state of an intervention: shadow, or the delivery status of its message or command, or its own
// state.
func stateOf(iv client.Intervention) string {
	receipt := cmp.Or(iv.MessageState, iv.CommandState)
	switch {
	case iv.Shadow && iv.Level != "observe":
		return "shadow"
	case iv.State == "sent" && receipt != "":
		return stateText(receipt)
	}
	return iv.State
}

func (s *session) guardianWithdraw() *cobra.Command {
	return s.verb("withdraw <intervention>", "Withdraw a message of the guardian that was not delivered yet",
		exactly(1, "the ID of an intervention, or 4 or more characters of the ID"),
		about(interventionOf, func(ctx context.Context, api *client.Client, id string) error {
			iv, err := api.Withdraw(ctx, id)
			return s.answer(iv, err, func() { s.say("Withdrew intervention %s; it was not delivered.", render.Short(iv.ID)) })
		}))
}

// interventionOf returns the ID of the intervention that ref names: the whole ID, or a part of the ID of one of the
// newest.
func interventionOf(ctx context.Context, api *client.Client, ref string) (string, error) {
	if ref = plain(ref); len(ref) == uuidLength {
		return ref, nil
	}
	page, err := api.Interventions(ctx, client.GuardianFilter{Limit: pageLimit})
	if err != nil {
		return "", err
	}
	found, err := kind[client.Intervention]{
		noun: "intervention", list: "omoi guardian interventions", id: func(iv client.Intervention) string { return iv.ID },
	}.pick(page.Items, ref)
	return found.ID, err
}

// stateText renders a state of the API.
func stateText(state string) string {
	if state == "carried_out" {
		return "applied"
	}
	return strings.ReplaceAll(state, "_", " ")
}
