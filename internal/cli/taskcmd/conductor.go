package taskcmd

import (
	"cmp"
	"context"
	"encoding/json"
	"fmt"

	"github.com/spf13/cobra"

	"github.com/omoi-dev/omoi/api/client"
	"github.com/omoi-dev/omoi/internal/cli/render"
	"github.com/omoi-dev/omoi/internal/conductor"
	"github.com/omoi-dev/omoi/internal/task"
)

func newConductor(s *session) *cobra.Command {
	return noun("conductor", "Show coherence and duplicate work across agents",
		s.verb("status", "Show the state of the conductor and its last analysis", NoArgs, s.conductorStatus), s.conductorDuplicates(),
		s.scheduleAsk("conductor", "run", "Run the conductor now, after a run in progress"),
		s.scheduleAsk("conductor", "pause", "Pause the conductor until it is resumed"),
		s.scheduleAsk("conductor", "resume", "Resume a paused conductor"))
}

func (s *session) conductorStatus(ctx context.Context, api *client.Client, _ []string) error {
	status, err := api.MonitorStatus(ctx)
	c := status.Conductor
	return s.answer(c, err, func() {
		s.row("Conductor", s.scheduleText("conductor", c.Schedule, c.PausedIdle))
		s.cycles(status.Config.ConductorInterval, c.LastRunAge, c.Schedule.NextRun)
		if c.Last == nil {
			s.hint("No analysis of your agents yet. Next: omoi conductor run")
			return
		}
		s.conducted(*c.Last)
	})
}

// conducted prints an analysis.
func (s *session) conducted(a client.ConductorAnalysis) {
	s.row("Analyzed", moment(&a.CreatedAt))
	s.row("Agents", fmt.Sprintf("%d active, %d analyzed by the guardian", a.Agents, a.Analyzed))
	s.row("Status", a.Status)
	s.row("Coherence", coherenceText(a))
	var details struct {
		DuplicatesBy    string   `json:"duplicates_by"`
		Conflicting     int      `json:"agents_in_conflict"`
		Recommendations []string `json:"recommendations"`
	}
	_ = json.Unmarshal(a.Details, &details) // missing fields are not shown
	duplicates := task.Count(a.Duplicates, "pair")
	if details.DuplicatesBy == conductor.SourceText {
		duplicates += "; equal and nearly equal texts only, no model is configured"
	}
	s.row("Duplicates", duplicates)
	s.row("Conflicts", fmt.Sprintf("%d of %s", details.Conflicting, task.Count(a.Agents, "agent")))
	for _, line := range details.Recommendations {
		s.say("  - %s", render.OneLine(line, 300))
	}
}

func coherenceText(a client.ConductorAnalysis) string {
	if a.Coherence == nil {
		return fmt.Sprintf("unknown, at most %.2f", a.AtMost)
	}
	return fmt.Sprintf("%.2f", *a.Coherence)
}

func (s *session) conductorDuplicates() *cobra.Command {
	return s.ofTask("duplicates [task]", "List pairs of tasks about the same work, newest first", 20,
		func(ctx context.Context, api *client.Client, f client.GuardianFilter) error {
			page, err := api.Duplicates(ctx, f)
			return s.answer(page.Items, err, func() { s.showDuplicates(page.Items) })
		})
}

func (s *session) showDuplicates(all []conductor.Duplicate) {
	heading := "SEEN|TASK|OTHER|SIMILARITY|SOURCE|WORK"
	list(s, all, "No duplicate tasks. Next: omoi conductor status", heading, func(d conductor.Duplicate) []string {
		return []string{
			d.SeenAt.Local().Format("15:04:05"), render.Name(d.TaskKey, d.TaskID) + " " + string(d.Status), render.Name(d.OtherKey, d.OtherID) + " " + string(d.OtherState),
			fmt.Sprintf("%.2f", d.Similarity), d.Source, render.OneLine(cmp.Or(d.Work, titles(d)), 100),
		}
	})
}

// titles returns both titles, or one if they are equal.
func titles(d conductor.Duplicate) string {
	if d.Title == d.OtherTitle {
		return d.Title
	}
	return d.Title + " / " + d.OtherTitle
}
