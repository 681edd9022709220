package supervise

import (
	"fmt"

	"github.com/omoi-dev/omoi/internal/taskcontract"
)

// weakened matches a check that failed before the agent changed the code, and turned green while only files by which
// tests judge had changed, at least one of which the agent did not write itself. A task contract can allow that.
func weakened(t *history, s Settings) *Finding {
	if t.testsMayChange() {
		return nil
	}
	red := map[string]*step{} // newest failed run by check
	for _, st := range t.steps {
		if st.tests == nil || st.result == nil {
			continue
		}
		before, check := red[st.use.check], st.use.check
		switch {
		case !st.tests.Passed && (before != nil || t.Seen.First <= 1 && !t.worked(st, s)):
			red[check] = st
		case before != nil && st.tests.Passed:
			if seen := t.unearned(before, st, s); len(seen) > 0 {
				return green(seen, st)
			}
			delete(red, check)
		}
	}
	return nil
}

func green(seen []int64, st *step) *Finding {
	return &Finding{
		Why:        fmt.Sprintf("%s turned green while only tests, or files by which they judge, had changed.", st.use.check),
		Advice:     "You have changed the tests and not the code that they test. Put them back as they were and change the code; if a test is wrong, say so and leave it.",
		Confidence: 0.9, Evidence: append(seen[max(0, len(seen)-6):], st.result.Sequence),
	}
}

// worked reports whether the agent had changed code when a step ended.
func (t *history) worked(st *step, s Settings) bool {
	for i := range t.Events {
		if e := &t.Events[i]; t.counts(e, s) && !e.Edit.judges && e.Sequence < st.result.Sequence {
			return true
		}
	}
	return false
}

// unearned returns the edits between two runs that took over files by which tests judge. Empty: none, or code has
// changed too.
func (t *history) unearned(red, green *step, s Settings) (seen []int64) {
	own := map[string]bool{}
	for i := range t.Events {
		e := &t.Events[i]
		if !t.counts(e, s) {
			continue
		}
		own[e.Path] = own[e.Path] || e.Edit.Change == "created"
		switch between := e.Sequence > red.result.Sequence && e.Sequence < green.result.Sequence; {
		case between && !e.Edit.judges:
			return nil
		case between && !own[e.Path]:
			seen = append(seen, e.Sequence)
		}
	}
	return seen
}

// counts reports whether an event is an edit of the agent with a net effect.
func (t *history) counts(e *Event, s Settings) bool {
	return e.Edit != nil && t.left(e.Path) && !t.byGit(e.Call) && !taskcontract.Covers(s.Ignored, e.Path)
}
