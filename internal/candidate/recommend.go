package candidate

import (
	"fmt"
	"slices"

	"github.com/omoi-dev/omoi/internal/task"
)

// What a recommendation is decided by.
const (
	ByTests  = "tests"  // one candidate alone passed
	ByChange = "change" // of those that passed, one changes the fewest lines
	ByCost   = "cost"   // of those with the smallest change, one has the lowest cost
)

// Reasons for no recommendation.
const (
	WhyOpen           = "open"            // a candidate has not ended
	WhyNotCompleted   = "not_completed"   // no candidate is completed
	WhyDifferentTests = "different_tests" // test commands or base commits differ
	WhyUntested       = "untested"        // a result of tests is unknown that could decide
	WhyNotPassed      = "not_passed"      // no candidate passed
	WhyPassedBefore   = "passed_before"   // the tests pass at the base commit
	WhyEqual          = "equal"           // several passed, with equal or unknown figures
)

// Recommendation names the work to take, or says why there is none.
type Recommendation struct {
	TaskID  string `json:"task_id" doc:"Task of the recommended candidate. Empty: none is recommended, and why says the reason."`
	TaskKey string `json:"task_key" doc:"Key of that task. Empty: none is recommended."`
	By      string `json:"decided_by" enum:",tests,change,cost" doc:"tests: of the completed candidates, the only one whose repeated tests are green; they fail at the base commit. change: of several such ones, that with the fewest changed lines. cost: of several of these, that with the lowest known cost. Empty: none is recommended. More values may be added."`
	Why     string `json:"why" enum:",open,not_completed,different_tests,untested,not_passed,passed_before,equal" doc:"Why none is recommended. open: a candidate has not ended. not_completed: no candidate is completed. different_tests: test commands or base commits differ. untested: of a completed candidate or of the base commit, no result of repeated tests is known. not_passed: the tests of no completed candidate are green. passed_before: the tests pass at the base commit, without any work. equal: changed lines and cost are equal or unknown. Empty: one is recommended. More values may be added."`
	Message string `json:"message" doc:"Sentence for users, written from the figures."`
}

// Recommend returns the recommendation for candidates. It depends on their figures only: equal figures give the same recommendation.
func Recommend(all []ComparedTask) Recommendation {
	if open := count(all, func(c ComparedTask) bool { return !c.Status.Final() }); open > 0 {
		return none(WhyOpen, "None yet: %d of %d tasks have not ended.", open, len(all))
	}
	completed := only(all, func(c ComparedTask) bool { return c.Status == task.StatusCompleted })
	if len(completed) == 0 {
		return none(WhyNotCompleted, "None, because no task is completed.")
	}
	passed := only(completed, func(c ComparedTask) bool { return c.Tests != nil && c.Tests.Outcome == task.TestsGreen })
	if reason := undecided(completed, passed); reason.Why != "" {
		return reason
	}
	if len(passed) == 1 {
		return passed[0].take(ByTests, "the only completed task that passed the tests that omoi repeated%s.", without(completed))
	}
	return amongPassed(passed, without(completed))
}

// undecided returns why the tests do not decide between completed candidates; zero: they do.
func undecided(completed, passed []ComparedTask) Recommendation {
	blank := count(completed, unknown)
	switch {
	case differ(completed):
		return none(WhyDifferentTests, "None, because the test commands or the base commits of the tasks differ.")
	case len(passed) == 0 && blank == len(completed):
		return none(WhyUntested, "None, because omoi has no result of repeated tests of these tasks.")
	case len(passed) == 0 && blank > 0:
		return none(WhyUntested, "None, because no task passed the tests, and omoi has no result of repeated tests of %s.", task.Count(blank, "task"))
	case len(passed) == 0:
		return none(WhyNotPassed, "None, because no completed task passed the tests that omoi repeated.")
	}
	switch atBase(completed) { //nolint:exhaustive // without another result the base commit is unknown
	case task.TestPassed:
		return none(WhyPassedBefore, "None, because the tests pass at the base commit too, without any work: choose a test command that fails there.")
	case task.TestFailed:
		return Recommendation{}
	}
	return none(WhyUntested, "None, because omoi has no result of the tests at the base commit, without the work.")
}

// unknown reports whether no run of tests says whether the work of a candidate passes: none was repeated, or the results cannot be compared.
func unknown(c ComparedTask) bool {
	return c.Tests == nil || c.Tests.Outcome == task.TestsNotComparable
}

// without says how many candidates have no result of tests; empty: none.
func without(completed []ComparedTask) string {
	if n := count(completed, unknown); n > 0 {
		return "; omoi has no result of tests of " + task.Count(n, "task")
	}
	return ""
}

// differ reports whether the tests of candidates are not the same: results of different tests say nothing about each other.
func differ(all []ComparedTask) bool {
	tested := only(all, func(c ComparedTask) bool { return c.Tests != nil })
	return slices.ContainsFunc(tested, func(c ComparedTask) bool {
		return c.Tests.Command != tested[0].Tests.Command || c.Tests.Base != tested[0].Tests.Base
	})
}

// atBase returns the result of the tests at the base commit, which all candidates share: passed if a run of any candidate passed, else
// failed if a run failed. Empty: unknown.
func atBase(all []ComparedTask) (r task.TestResult) {
	for _, c := range all {
		switch {
		case c.Tests == nil:
		case c.Tests.AtBase == task.TestPassed || c.Tests.AtBase == task.TestFlaky:
			return task.TestPassed
		case c.Tests.AtBase == task.TestFailed || c.Tests.AtBase == task.TestNotBuilt:
			r = task.TestFailed
		}
	}
	return r
}

// amongPassed chooses between candidates that passed the tests; note ends its sentence.
func amongPassed(passed []ComparedTask, note string) Recommendation {
	left := least(passed, func(c ComparedTask) (float64, bool) { return float64(task.Deref(c.Lines)), c.Lines != nil })
	if len(left) == 1 {
		return left[0].take(ByChange, "of %d tasks that passed the tests, the smallest change: %s%s.", len(passed), task.Count(*left[0].Lines, "line"), note)
	}
	left = least(left, func(c ComparedTask) (float64, bool) { return task.Deref(c.CostUSD), c.CostUSD != nil && !c.CostUnknown })
	if len(left) == 1 {
		return left[0].take(ByCost, "of the tasks that passed the tests, and whose changes are the smallest or of unknown size, the lowest cost: $%.4f%s.", *left[0].CostUSD, note)
	}
	return none(WhyEqual, "None, because %d tasks passed the tests, and changed lines and cost are equal or unknown.", len(passed))
}

// least returns the candidates with the lowest value; all of them if a value is unknown.
func least(all []ComparedTask, value func(ComparedTask) (float64, bool)) (left []ComparedTask) {
	for _, c := range all {
		v, known := value(c)
		if !known {
			return all
		}
		if len(left) > 0 {
			if lowest, _ := value(left[0]); v > lowest {
				continue
			} else if v < lowest {
				left = nil
			}
		}
		left = append(left, c)
	}
	return left
}

func (c ComparedTask) take(by, format string, args ...any) Recommendation {
	return Recommendation{TaskID: c.TaskID, TaskKey: c.TaskKey, By: by, Message: c.label() + ": " + fmt.Sprintf(format, args...)}
}

func none(why, format string, args ...any) Recommendation {
	return Recommendation{Why: why, Message: fmt.Sprintf(format, args...)}
}

func only(all []ComparedTask, is func(ComparedTask) bool) []ComparedTask {
	return slices.DeleteFunc(slices.Clone(all), func(c ComparedTask) bool { return !is(c) })
}

func count(all []ComparedTask, is func(ComparedTask) bool) int { return len(only(all, is)) }
