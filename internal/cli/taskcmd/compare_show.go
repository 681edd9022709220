package taskcmd

import (
	"fmt"
	"strings"
	"time"

	"github.com/omoi-dev/omoi/api/client"
	"github.com/omoi-dev/omoi/internal/cli/render"
	"github.com/omoi-dev/omoi/internal/cost"
	"github.com/omoi-dev/omoi/internal/task"
)

func (s *session) showComparison(c client.Comparison) {
	st := s.style()
	s.say("%s  %s", st.Bold(c.TicketKey), render.OneLine(c.Title, 80))
	list(s, c.Candidates, "", "AGENT|TASK|STATUS|TESTS|CHANGE|COST|TIME|BRANCH", func(one client.ComparedTask) []string {
		return []string{
			render.OneLine(one.Name, 40), st.Bold(one.TaskKey), st.Status(one.Status) + waiting(candidateTask(one)),
			tests(one.Tests), change(one), cost.Text(one.CostUSD, one.CostUnknown, "$%.4f"),
			render.Elapsed(time.Duration(one.Seconds * float64(time.Second))), render.OneLine(task.Deref(one.Branch), 80),
		}
	})
	if text := limits(c.Budget); text != "" {
		s.say("Budget of all tasks together: %s.", text)
	}
	s.say("Recommendation: %s", render.OneLine(c.Recommendation.Message, 300))
	if !c.Ended {
		s.say("Next: omoi compare %s", c.TicketKey)
	}
}

// tests returns the outcome of repeated tests; a dash without any.
func tests(r *task.TestRepeat) string {
	if r == nil {
		return "-"
	}
	return strings.ReplaceAll(string(r.Outcome), "_", " ")
}

// change returns the size of the work; a dash if it is unknown.
func change(c client.ComparedTask) string {
	switch {
	case c.Files == nil:
		return "-"
	case c.Lines == nil:
		return task.Count(*c.Files, "file")
	}
	return task.Count(*c.Lines, "line") + ", " + task.Count(*c.Files, "file")
}

// limits returns a budget in words; empty: no limit.
func limits(b client.Budget) string {
	var out []string
	add := func(set bool, format string, args ...any) {
		if set {
			out = append(out, fmt.Sprintf(format, args...))
		}
	}
	add(b.USD > 0, "$%.2f", b.USD)
	add(b.Tokens > 0, "%d tokens", b.Tokens)
	add(b.SandboxSeconds > 0, "%s of sandbox time", time.Duration(b.SandboxSeconds)*time.Second)
	add(b.WallClockS > 0, "%s each since creation", time.Duration(b.WallClockS)*time.Second)
	return strings.Join(out, ", ")
}
