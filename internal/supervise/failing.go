package supervise

import (
	"fmt"
	"path"
	"slices"
	"strings"

	"github.com/omoi-dev/omoi/internal/shellcmd"
	"github.com/omoi-dev/omoi/internal/task"
	"github.com/omoi-dev/omoi/internal/taskcontract"
)

const recentSteps = 10

// sameError matches if the same error returns whatever the agent tries. A success of the same program or tool ends the
// series.
func sameError(t *history, s Settings) *Finding {
	last := lastFailed(t.steps)
	if last == nil || t.over() {
		return nil
	}
	again := func(st *step) bool { return st.failed() && st.result.Error == last.result.Error && st.tests == nil }
	var series []*step
	from := 0
	for i, st := range t.steps {
		switch {
		case again(st):
			series = append(series, st)
		case st.result != nil && !st.failed() && st.program() == last.program():
			series, from = nil, i+1
		}
	}
	if len(series) < errorsAllowed(rounds(t.steps[from:], again), s) {
		return nil
	}
	return &Finding{
		Why:        fmt.Sprintf("The same error came %d times: %s", len(series), cut(last.result.Error, 160)),
		Advice:     fmt.Sprintf("You have met the same error %d times: %s. Read what it says, find its cause before you change more, or say what you need.", len(series), cut(last.result.Error, 160)),
		Confidence: sure(0.75, len(series), s.SameError), Evidence: evidence(series, 4),
	}
}

// errorsAllowed returns the number of equal errors that make a finding: twice as many if the agent waits in between, for
// example until a server has started.
func errorsAllowed(of [][]*step, s Settings) int {
	if polls(of, false, s) {
		return 2 * s.SameError
	}
	return s.SameError
}

// lastFailed returns the newest of the last recentSteps steps that failed with an error text, or nil.
func lastFailed(steps []*step) *step {
	for _, st := range slices.Backward(steps[max(0, len(steps)-recentSteps):]) {
		if st.failed() && st.result.Error != "" && st.tests == nil {
			return st
		}
	}
	return nil
}

// failing matches if the same tests fail in the same way in several runs, with edits in between.
func failing(t *history, s Settings) *Finding {
	runs := sameRuns(t.steps)
	if len(runs) < s.SameFailing || t.over() {
		return nil
	}
	edits := attempted(t, runs, s)
	if edits == 0 {
		return nil // no edit in between: the rule loop covers this case
	}
	return &Finding{
		Why:        fmt.Sprintf("%s failed in the same way in %d runs, with %d edits in between.", tests(runs[0].tests.Failing), len(runs), edits),
		Advice:     fmt.Sprintf("The same tests have failed %d times in the same way; your edits do not touch the cause. Read one failing test and follow it before you change more.", len(runs)),
		Confidence: sure(0.8, len(runs), s.SameFailing), Evidence: evidence(runs, 4),
	}
}

// attempted returns the number of edits between the runs. Failures from before the first edit are not the agent's fault:
// of these, only edits of files that the output names count, because they show that the agent works on the failures.
func attempted(t *history, runs []*step, s Settings) int {
	from, to := runs[0].use.Sequence, runs[len(runs)-1].use.Sequence
	edits, old, output := 0, true, strings.ToLower(runs[0].tests.Output)
	for i := range t.Events {
		e := &t.Events[i]
		switch {
		case e.Edit == nil || e.Sequence > to || t.byGit(e.Call) || taskcontract.Covers(s.Ignored, e.Path):
		case e.Sequence < from:
			old = false
		case !old || names(output, e.Path):
			edits++
		}
	}
	return edits
}

// names reports whether an output in lower case contains the name of a file without its extension.
func names(output, file string) bool {
	name := strings.ToLower(path.Base(file))
	return strings.Contains(output, strings.TrimSuffix(name, path.Ext(name)))
}

// byGit reports whether a call has a git command that switches file versions, for example in a bisection.
func (t *history) byGit(call string) bool {
	st := t.calls[call]
	return st != nil && shellcmd.OneOf(st.use.commands, "git checkout", "git switch", "git bisect", "git reset", "git stash", "git restore",
		"git merge", "git rebase", "git pull") != ""
}

// sameRuns returns the newest runs of the same tests with the same failures, oldest first.
func sameRuns(steps []*step) []*step {
	var runs []*step
	var last *step
	for _, st := range slices.Backward(steps) {
		if st.tests == nil || last != nil && st.use.check != last.use.check {
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
	return task.Count(n, "test")
}
