package explain

import (
	"fmt"
	"regexp"
	"slices"
	"strings"

	"github.com/omoi-dev/omoi/internal/event"
	"github.com/omoi-dev/omoi/internal/task"
)

// live explains a task with a running attempt.
func (f WhyFacts) live() Explanation {
	t, p := f.Task, f.Pulse
	begun := strings.TrimRight(whyStatus(t), ".")
	e := Explanation{State: StandsRunning, Why: begun + ".", Next: "omoi logs -f " + t.ID, Evidence: f.newest()}
	switch {
	case t.WaitingFor.Code != "":
		e.State, e.Next = StandsUnknown, f.printed()
		e.Why = task.Sentence(begun+", and its state is unknown, which alone does not end it", Reason(t.WaitingFor))
	case t.Question != nil && t.Group == task.GroupNeedsYou:
		e.State, e.Next, e.Evidence = StandsWaiting, Answer(t.ID), f.wait()
		e.Why = asked(t.Question) + "The agent waits for an answer."
	case p == nil && t.Group == task.GroupNeedsYou:
		e.State, e.Next, e.Evidence = StandsWaiting, send(t.ID), f.wait()
		e.Why = quoted(t.Said) + "The agent waits for a message."
	case p == nil:
		if t.Status == task.StatusAssigned {
			e.State = StandsStarting
		}
	case p.Beat < 0:
		return f.unheard(begun)
	case f.Silent > 0 && p.Beat >= f.Silent:
		return f.silent(begun)
	case p.Waiting >= 0:
		e.State, e.Next, e.Evidence = StandsWaiting, send(t.ID), f.wait()
		e.Why = fmt.Sprintf("%s; its agent has waited for a message for %s%s.", begun, rough(p.Waiting), f.untilIdle())
	case f.Opinion != nil && f.Opinion.Steer:
		return f.steered(begun)
	case p.Tool != "":
		e.Evidence = f.call(p.Tool)
		e.Why = fmt.Sprintf("%s, with %s under way for %s.", begun, p.Tool, rough(p.ToolAge))
	case f.NoWork > 0 && p.Work >= f.NoWork:
		e.State, e.Next = StandsStuck, send(t.ID)
		e.Why = fmt.Sprintf("%s; its agent sends heartbeats and has done nothing for %s.", begun, rough(p.Work))
	case p.Work >= 0:
		e.Why = fmt.Sprintf("%s; its last activity was %s ago.", begun, rough(p.Work))
	}
	e.Why = withEvents(e.Why, e.Evidence)
	return e
}

// markup matches what Markdown adds to a text: marks of code and bold text, and of headings.
var markup = regexp.MustCompile("`([^`\n]+)`|\\*\\*([^*\n]+)\\*\\*|(?m:^)#{1,6} +(\\S)")

// quoted returns the beginning of a text in one line, without Markdown, to stand before a sentence; empty if there is none.
func quoted(text string) string {
	const most = 200
	line := []rune(strings.Join(strings.Fields(markup.ReplaceAllString(text, "$1$2$3")), " "))
	if len(line) > most {
		line = append(line[:most], '…')
	}
	if len(line) == 0 {
		return ""
	}
	return `"` + string(line) + `" `
}

// asked returns a question with its options, to stand before a sentence; empty if it is unknown.
func asked(q *task.Question) string {
	if q == nil {
		return ""
	}
	text := quoted(q.Text)
	if len(q.Options) > 0 {
		text += "(" + strings.Join(q.Options, " / ") + ") "
	}
	return text
}

// untilIdle returns when an attempt ends whose agent waits.
func (f WhyFacts) untilIdle() string {
	if f.Idle <= 0 {
		return ""
	}
	return ", and the attempt ends after " + rough(f.Idle)
}

// wait returns the event with which the agent began to wait for a message, if it is among the newest events.
func (f WhyFacts) wait() []Evidence {
	return f.sign(func(s Evidence) bool { return s.Type == event.AgentWaiting })
}

// call returns the newest call of a tool, if it is among the newest events.
func (f WhyFacts) call(tool string) []Evidence {
	newest := int64(0)
	for _, e := range f.Events {
		if called := event.Read[event.Call](e.Data).Tool; called == tool && callsTool(e.Type) {
			newest = max(newest, e.Sequence)
		}
	}
	return f.sign(func(s Evidence) bool { return s.Sequence == newest })
}

func callsTool(eventType string) bool {
	return eventType == event.AgentToolUse || eventType == event.AgentSubagentInvoked || eventType == event.AgentSkillInvoked
}

// sign returns the newest evidence that shows something; empty if none does.
func (f WhyFacts) sign(shows func(Evidence) bool) []Evidence {
	n := slices.IndexFunc(f.Signs, shows)
	if n < 0 {
		return nil
	}
	return f.Signs[n : n+1]
}

// unheard explains an attempt whose agent has not reported yet.
func (f WhyFacts) unheard(begun string) Explanation {
	e := Explanation{State: StandsStarting, Why: begun + "; its agent has not reported yet.", Next: f.printed()}
	if f.Pulse.Assigned >= 0 {
		e.Why = fmt.Sprintf("%s; its agent has not reported in %s.", begun, rough(f.Pulse.Assigned))
	}
	if f.Task.SelfConnecting() {
		e.Why = strings.TrimSuffix(e.Why, ".") + ", and connects itself."
		e.Next = "omoi show " + f.Task.ID // omoi show names the sandbox under which an external agent reports
	}
	return e
}

// printed returns the command that shows the agent's output. An external agent has only its events.
func (f WhyFacts) printed() string {
	if f.Task.SelfConnecting() {
		return "omoi logs -f " + f.Task.ID
	}
	return "omoi logs --raw " + f.Task.ID
}

// silent explains an attempt whose state is unknown.
func (f WhyFacts) silent(begun string) Explanation {
	p, cause := f.Pulse, ", and that alone does not end it"
	if p.IntakeOut > 0 {
		cause = fmt.Sprintf(", during which ingest was down for %s", rough(p.IntakeOut))
	}
	e := Explanation{State: StandsUnknown, Next: f.printed(), Evidence: f.newest()}
	e.Why = withEvents(fmt.Sprintf("%s; no heartbeat for %s%s.", begun, rough(p.Beat), cause), e.Evidence)
	return e
}

// steered explains an attempt with a finding of the guardian.
func (f WhyFacts) steered(begun string) Explanation {
	o, last := f.Opinion, f.Task.Last()
	e := Explanation{State: StandsStuck, Next: "omoi guardian interventions " + f.Task.ID}
	known := map[int64]Evidence{}
	for _, s := range f.Signs {
		known[s.Sequence] = s
	}
	for _, n := range o.Evidence[:min(len(o.Evidence), mostShown)] {
		s, ok := known[n]
		if !ok {
			s = Evidence{TaskID: f.Task.ID, Attempt: last.Number, SandboxID: last.SandboxID, Sequence: n}
		}
		e.Evidence = append(e.Evidence, s)
	}
	why := fmt.Sprintf("%s; the guardian (%s, confidence %.1f) recommends steering", begun, o.SpokenBy, o.Confidence)
	e.Why = withEvents(task.Sentence(why, o.Summary), e.Evidence)
	return e
}
