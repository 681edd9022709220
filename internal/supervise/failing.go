package supervise

import (
	"fmt"
	"slices"
)

const recentSteps = 10

// sameError finds an error that comes back whatever is tried. What has gone well in between
// with the same program, or the same tool, ends the series.
func sameError(t *history, s Settings) *Finding {
	last := lastFailed(t.steps)
	if last == nil || t.over() {
		return nil
	}
	var series []*step
	for _, st := range t.steps {
		switch {
		case st.failed() && st.result.Error == last.result.Error && st.tests == nil:
			series = append(series, st)
		case st.result != nil && !st.failed() && st.program() == last.program():
			series = nil
		}
	}
	if len(series) < s.SameError {
		return nil
	}
	return &Finding{
		Why:        fmt.Sprintf("The same error came %d times: %s", len(series), cut(last.result.Error, 160)),
		Advice:     fmt.Sprintf("You have met the same error %d times: %s. Read what it says, find its cause before you change more, or say what you need.", len(series), cut(last.result.Error, 160)),
		Confidence: sure(0.75, len(series), s.SameError), Evidence: evidence(series, 4),
	}
}

// lastFailed is the newest step that failed with something to say, if it is one of the newest.
func lastFailed(steps []*step) *step {
	for _, st := range slices.Backward(steps[max(0, len(steps)-recentSteps):]) {
		if st.failed() && st.result.Error != "" && st.tests == nil {
			return st
		}
	}
	return nil
}

// failing finds tests that fail in the same way run after run, although files were changed.
func failing(t *history, s Settings) *Finding {
	runs := sameRuns(t.steps)
	if len(runs) < s.SameFailing || t.over() {
		return nil
	}
	from, to := runs[0].use.Sequence, runs[len(runs)-1].use.Sequence
	edits := 0
	for i := range t.Events {
		if e := &t.Events[i]; e.Edit != nil && e.Sequence > from && e.Sequence < to && !t.byGit(e.Call) {
			edits++
		}
	}
	if edits == 0 {
		return nil // nothing was tried: that is a loop
	}
	return &Finding{
		Why:        fmt.Sprintf("%s failed in the same way in %d runs, with %d edits in between.", tests(runs[0].tests.Failing), len(runs), edits),
		Advice:     fmt.Sprintf("The same tests have failed %d times in the same way; your edits do not touch the cause. Read one failing test and follow it before you change more.", len(runs)),
		Confidence: sure(0.8, len(runs), s.SameFailing), Evidence: evidence(runs, 4),
	}
}

// byGit is true of a call that only brings other versions of the files, as a bisection does.
func (t *history) byGit(call string) bool {
	st := t.calls[call]
	if st == nil {
		return false
	}
	switch st.program() {
	case "git checkout", "git switch", "git bisect", "git reset", "git stash", "git restore", "git merge", "git rebase", "git pull":
		return true
	}
	return false
}

// sameRuns are the newest runs of the newest tests, as long as the same of them failed.
func sameRuns(steps []*step) []*step {
	var runs []*step
	var last *step
	for _, st := range slices.Backward(steps) {
		if st.tests == nil || last != nil && st.use.Input != last.use.Input {
			continue
		}
		if st.tests.Passed || last != nil && st.tests.Which != last.tests.Which {
			break
		}
		last = st
		runs = append([]*step{st}, runs...)
	}
	return runs
}

func tests(n int) string {
	if n == 0 {
		return "Tests"
	}
	return counted(n, "test")
}
