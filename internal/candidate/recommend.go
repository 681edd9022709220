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
	WhyOpen      = "open"       // a candidate has not ended
	WhyUntested  = "untested"   // omoi repeated no test
	WhyNotPassed = "not_passed" // no candidate passed
	WhyEqual     = "equal"      // several passed, with equal or unknown figures
)

// Recommendation names the work to take, or says why there is none.
type Recommendation struct {
	TaskID  string `json:"task_id" doc:"Task of the recommended candidate. Empty: none is recommended, and why says the reason."`
	TaskKey string `json:"task_key" doc:"Key of that task. Empty: none is recommended."`
	By      string `json:"decided_by" enum:",tests,change,cost" doc:"tests: the only candidate that completed and whose repeated tests are green. change: of several such ones, that with the fewest changed lines. cost: of several of these, that with the lowest known cost. Empty: none is recommended. More values may be added."`
	Why     string `json:"why" enum:",open,untested,not_passed,equal" doc:"Why none is recommended. open: a candidate has not ended. untested: no tests were repeated. not_passed: no completed candidate is green. equal: changed lines and cost are equal or unknown. Empty: one is recommended. More values may be added."`
	Message string `json:"message" doc:"Sentence for users, written from the figures."`
}

// Recommend returns the recommendation for candidates. It depends on their figures only: equal figures give the same recommendation.
func Recommend(all []ComparedTask) Recommendation {
	if open := count(all, func(c ComparedTask) bool { return !c.Status.Final() }); open > 0 {
		return none(WhyOpen, "None yet: %d of %d tasks have not ended.", open, len(all))
	}
	if count(all, func(c ComparedTask) bool { return c.Tests != nil }) == 0 {
		return none(WhyUntested, "None, because omoi repeated no tests of these tasks.")
	}
	left := slices.DeleteFunc(slices.Clone(all), func(c ComparedTask) bool {
		return c.Status != task.StatusCompleted || c.Tests == nil || c.Tests.Outcome != task.TestsGreen
	})
	switch len(left) {
	case 0:
		return none(WhyNotPassed, "None, because no completed task passed the tests that omoi repeated.")
	case 1:
		return left[0].take(ByTests, "the only completed task that passed the tests that omoi repeated.")
	}
	return amongPassed(left)
}

// amongPassed chooses between candidates that passed the tests.
func amongPassed(passed []ComparedTask) Recommendation {
	left := least(passed, func(c ComparedTask) (float64, bool) { return float64(task.Deref(c.Lines)), c.Lines != nil })
	if len(left) == 1 {
		return left[0].take(ByChange, "of %d tasks that passed the tests, the smallest change: %d lines.", len(passed), *left[0].Lines)
	}
	left = least(left, func(c ComparedTask) (float64, bool) { return task.Deref(c.CostUSD), c.CostUSD != nil && !c.CostUnknown })
	if len(left) == 1 {
		return left[0].take(ByCost, "of the tasks that passed the tests, and whose changes are the smallest or of unknown size, the lowest cost: $%.4f.", *left[0].CostUSD)
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

func count(all []ComparedTask, is func(ComparedTask) bool) (n int) {
	for _, c := range all {
		if is(c) {
			n++
		}
	}
	return n
}
