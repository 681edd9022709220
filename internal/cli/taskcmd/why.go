package taskcmd

import (
	"context"
	"fmt"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"github.com/omoi-dev/omoi/api/client"
	"github.com/omoi-dev/omoi/internal/cli/render"
	"github.com/omoi-dev/omoi/internal/explain"
)

func newWhy(s *session) *cobra.Command {
	cmd := s.taskVerb("why <task>", "Explain a task's state, with evidence and the next command", s.why)
	cmd.Long = `Explain in one sentence why a task waits, runs or has failed, with the events that support it, the diagnosis of its
failures (docs/TROUBLESHOOTING.md) and the next command.`
	return cmd
}

func (s *session) why(ctx context.Context, api *client.Client, t client.Task) error {
	e, err := api.Why(ctx, t.ID)
	if err != nil {
		return err
	}
	if *s.JSON {
		return s.printJSON(e)
	}
	short := func(text string) string { return render.Clean(shortened(t, text)) }
	s.say("%s", s.sentence(e.State, short(e.Why)))
	s.showEvidence(e.Evidence, false)
	if d := e.Diagnosis; d != nil {
		d.Evidence = slices.DeleteFunc(d.Evidence, func(sign explain.Evidence) bool { return slices.Contains(e.Evidence, sign) })
		if d.Reason != "" && strings.Contains(e.Why, d.Reason) { // Why contains the reason
			d.Summary = strings.Replace(d.Summary, ": "+d.Reason, "", 1)
		}
		s.showDiagnosis(*d, short)
	}
	s.say("Next: %s", short(e.Next))
	return nil
}

// sentence returns an explanation after the state of its task. The first part of many explanations names the state.
func (s *session) sentence(state, why string) string {
	if state == "" {
		return why // of a newer server
	}
	for _, word := range []string{state, strings.ToUpper(state[:1]) + state[1:]} {
		if before, after, found := strings.Cut(why, word); found && !strings.ContainsAny(before, ":;") {
			return before + s.style().Bold(word) + after
		}
	}
	return s.style().Bold(state) + ": " + why
}

// showEvidence prints events, with their task if ofTasks is set.
func (s *session) showEvidence(all []explain.Evidence, ofTasks bool) {
	for _, e := range all {
		of := ""
		if ofTasks {
			of = " of task " + render.Short(e.TaskID)
		}
		s.say("  event %d of attempt %d%s  %s  %s", e.Sequence, e.Attempt, of, e.Type, render.OneLine(e.Message, 160))
	}
}

func (s *session) showDiagnosis(d explain.Diagnosis, short func(string) string) {
	of, ofTicket := fmt.Sprintf(" of attempt %d", d.Attempt), d.Kind == explain.DiagnosisTicket
	if ofTicket {
		of = ""
	}
	s.say("Diagnosis%s by %s, confidence %.1f: %s", of, d.Source, d.Confidence, short(d.Summary))
	if d.Cause != "" {
		s.say("  Likely cause: %s", short(d.Cause))
	}
	s.say("  Proposed: %s (%s)", short(d.Proposal), short(d.Command))
	s.showEvidence(d.Evidence, ofTicket)
	if w := d.Webhook; w != nil && w.State != explain.DeliveryDelivered {
		s.say("  %s", strings.TrimRight(fmt.Sprintf("Webhook %s after %d attempts. %s", w.State, w.Attempts, render.OneLine(w.Error, 160)), " "))
	}
}
