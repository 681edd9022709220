package supervise

import (
	"slices"
	"strings"

	"github.com/omoi-dev/omoi/internal/event"
)

const (
	focusSteps = 10
	maxList    = 10
	shortText  = 160
)

// contextOf summarizes the history.
func contextOf(t *history) Context {
	c := Context{
		Goal: goalOf(t.Subject), Constraints: t.constraints(), Instructions: t.instructions(),
		Focus: t.focus(), Attempt: t.Attempt, Approaches: t.approaches(), Blockers: t.blockers(), Phase: t.Phase,
		Age: t.Age, SinceWork: t.sinceWork(), SinceChange: t.Age, Events: t.Seen.Last, Calls: t.count(event.AgentToolUse),
		Edits: t.count(event.AgentFileEdited), CostUSD: t.CostUSD, Tokens: t.Tokens,
	}
	if t.changed != nil {
		c.SinceChange = t.changed.Age
	}
	for _, st := range t.steps {
		if st.failed() {
			c.Errors++
		}
	}
	return c
}

func goalOf(s *Subject) string {
	if s.Title == "" || strings.HasPrefix(s.Description, s.Title) {
		return cut(s.Description, maxText)
	}
	return cut(strings.TrimSpace(s.Title+". "+s.Description), maxText)
}

// constraints returns the sentences of the task contract.
func (t *history) constraints() []string {
	list := append([]string{}, t.Contract.Accepted.Constraints...)
	return append(list, t.Contract.Proposed.Constraints...)
}

// instructions returns the newest messages of users during the attempt, shortened.
func (t *history) instructions() []string {
	list := []string{}
	for i := range t.Events {
		if e := &t.Events[i]; e.Sender == senderUser && e.Text != "" {
			list = append(list, cut(e.Text, shortText))
		}
	}
	return newest(list)
}

// approaches returns the newest distinct calls that failed.
func (t *history) approaches() []string {
	list := []string{}
	for _, st := range t.steps {
		if st.failed() {
			list = without(list, what(st))
		}
	}
	return newest(list)
}

// blockers returns the newest errors of programs and tools that have not succeeded since.
func (t *history) blockers() []string {
	type blocker struct{ program, text string }
	var open []blocker
	for _, st := range t.steps {
		if st.result == nil {
			continue
		}
		name := st.program()
		open = slices.DeleteFunc(open, func(b blocker) bool { return b.program == name })
		if st.failed() && st.result.Error != "" {
			open = append(open, blocker{name, cut(name+": "+st.result.Error, shortText)})
		}
	}
	list := []string{}
	for _, b := range open {
		list = append(list, b.text)
	}
	return newest(list)
}

// without moves text to the end of list, or appends it.
func without(list []string, text string) []string {
	list = slices.DeleteFunc(list, func(other string) bool { return other == text })
	return append(list, text)
}

func newest(list []string) []string { return list[max(0, len(list)-maxList):] }

func (t *history) count(eventType string) int64 {
	if t.Counts != nil {
		return t.Counts[eventType]
	}
	n := int64(0)
	for i := range t.Events {
		if t.Events[i].Type == eventType {
			n++
		}
	}
	return n
}

// Values of focus, as in OmoiOS.
const (
	focusBegin     = "initializing"
	focusWork      = "working"
	focusExplore   = "exploring"
	focusImplement = "implementing"
	focusDebug     = "debugging"
	focusTest      = "testing"
)

// focus returns the most frequent focus of the newest focusSteps steps; of equal ones, the newer.
func (t *history) focus() string {
	if len(t.steps) == 0 && len(t.Events) < 2 {
		return focusBegin
	}
	votes := map[string]int{}
	best := focusWork
	for _, st := range t.steps[max(0, len(t.steps)-focusSteps):] {
		word := focusOf(st)
		votes[word]++
		if votes[word] >= votes[best] {
			best = word
		}
	}
	return best
}

func focusOf(st *step) string {
	switch {
	case st.tests != nil && !st.tests.Passed, st.failed():
		return focusDebug
	case st.tests != nil:
		return focusTest
	case st.edits > 0:
		return focusImplement
	}
	return focusExplore
}
