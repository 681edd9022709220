package task

import (
	"fmt"
	"strings"
	"time"
)

// TestOutcome is what the repeat of a task's test command shows.
type TestOutcome string

// The outcomes.
const (
	TestsGreen         TestOutcome = "green"          // passed with the tests of the base commit, and with those of the work
	TestsChangedOnly   TestOutcome = "changed_only"   // passed only with the tests that the agent changed
	TestsRed           TestOutcome = "red"            // failed with the tests of the work
	TestsNotComparable TestOutcome = "not_comparable" // Why says the reason
)

// TestResult is the result of one run of a test command.
type TestResult string

// The results.
const (
	TestPassed   TestResult = "passed"
	TestFailed   TestResult = "failed"
	TestFlaky    TestResult = "flaky"     // failed, and passed when repeated
	TestTimedOut TestResult = "timed_out" // reached its time limit
	TestNotBuilt TestResult = "not_built" // ended before a test ran: the tests do not build, or their program is missing
)

// Reasons why the repeat of a test command is not comparable.
const (
	TestsNone        = "no_tests"    // no file of the base commit is a test
	TestsAdded       = "added"       // the agent changed no test of the base commit, and the command fails without the files that it added
	TestsFlaky       = "flaky"       // a run failed, and passed when repeated
	TestsTimedOut    = "timed_out"   // a run reached its time limit
	TestsNotBuilt    = "not_built"   // the tests of the base commit do not build, or their programs are missing
	TestsSetupFailed = "setup"       // the setup command failed
	TestsUnavailable = "unavailable" // the sandbox of the repeat failed
)

// TestRepeat is the repeat of a task's test command by omoi, in a sandbox of its own, after the agent ended.
type TestRepeat struct {
	Attempt int         `json:"attempt" doc:"Number of the attempt whose work was tested."`
	Message string      `json:"message" doc:"Sentence for users, written from the other fields."`
	Outcome TestOutcome `json:"outcome" enum:"green,changed_only,red,not_comparable" doc:"green: passed with the tests of the base commit and with those of the work. changed_only: passed only with the tests that the agent changed. red: failed with the tests of the work. More values may be added."`
	Why     string      `json:"why" enum:",no_tests,added,flaky,timed_out,not_built,setup,unavailable" doc:"Why the runs cannot be compared. Empty: they can. More values may be added."`
	// Own, WithBase and AtBase are empty if there was no such run.
	Own       TestResult `json:"own" enum:",passed,failed,flaky,timed_out,not_built" doc:"Result with the tests of the work. Empty: not run."`
	WithBase  TestResult `json:"with_base_tests" enum:",passed,failed,flaky,timed_out,not_built" doc:"Result of the same code with the tests of the base commit; that of own if the agent changed no test. Empty: not run."`
	AtBase    TestResult `json:"at_base" enum:",passed,failed,flaky,timed_out,not_built" doc:"Result of the base commit, which is run after a failure, and for each task of a comparison. failed: a failure of the work is not charged to the agent. Empty: not run."`
	Changed   []string   `json:"changed_tests" nullable:"false" doc:"Files of the test side of the base commit that the agent changed or removed, at most 20."`
	Added     int        `json:"added_tests" doc:"Number of files of the test side that the agent added; the runs with the tests of the base commit leave them out."`
	Command   string     `json:"command" doc:"Test command, without secrets."`
	Commit    string     `json:"commit" doc:"Commit of the work. A later attempt that ends with the same commit has the same result, unless the sandbox of the repeat failed."`
	Base      string     `json:"base_commit" doc:"Commit whose tests were put over the work."`
	SandboxID string     `json:"sandbox_id" doc:"Sandbox of the repeat, in which no agent ran. Empty: none was created."`
	At        time.Time  `json:"ended_at" doc:"When the repeat ended."`
}

// TestRepeats returns the repeats of the task's test command, first attempt first.
func (t Task) TestRepeats() []TestRepeat {
	all := []TestRepeat{}
	for _, a := range t.Attempts {
		if a.TestRepeat != nil {
			all = append(all, *a.TestRepeat)
		}
	}
	return all
}

// Judged returns the repeat with the outcome of its results.
func (r TestRepeat) Judged() TestRepeat {
	r.Outcome, r.Why = TestsNotComparable, r.why()
	switch {
	case r.Why != "":
	case r.Own == TestFailed || r.Own == TestNotBuilt:
		r.Outcome = TestsRed
	case r.WithBase == TestPassed:
		r.Outcome = TestsGreen
	default:
		r.Outcome = TestsChangedOnly
	}
	return r
}

// why returns the reason why the results cannot be compared; empty if they can.
func (r TestRepeat) why() string {
	switch {
	case r.Why != "":
		return r.Why
	case r.Own == TestTimedOut || r.WithBase == TestTimedOut:
		return TestsTimedOut
	case r.WithBase == TestFlaky || r.Own == TestFlaky && r.WithBase != TestFailed: // the agent may have made its own tests flaky
		return TestsFlaky
	case r.Own == TestPassed && r.WithBase == TestNotBuilt, r.Own == TestNotBuilt && r.AtBase == TestNotBuilt:
		return TestsNotBuilt
	case (r.Own == TestPassed || r.Own == TestFlaky) && r.WithBase == TestFailed && len(r.Changed) == 0:
		return TestsAdded
	}
	return ""
}

// Words returns the outcome as a sentence for users.
func (r TestRepeat) Words() string {
	switch r.Outcome {
	case TestsGreen:
		return "Passed with the tests of the base commit and with those of the work" + r.base("; the base commit passes too", "; the base commit fails") + "."
	case TestsChangedOnly:
		return "Passed only with the changed tests" + r.changed() + ". With the tests of the base commit the work fails" +
			r.base("; the base commit passes them", "; the base commit fails them too") + "."
	case TestsRed:
		return "Failed" + r.base("; the base commit passes", ", and fails at the base commit too: not charged to the agent") + "."
	case TestsNotComparable:
		return "Not comparable: " + whyNotComparable(r.Why) + "."
	}
	return string(r.Outcome)
}

// base returns a text by the result of the base commit; empty: unknown.
func (r TestRepeat) base(passed, failed string) string {
	switch r.AtBase { //nolint:exhaustive // other results say nothing
	case TestPassed:
		return passed
	case TestFailed:
		return failed
	}
	return ""
}

func (r TestRepeat) changed() string {
	if len(r.Changed) == 0 {
		return ""
	}
	return " (" + strings.Join(r.Changed, ", ") + ")"
}

func whyNotComparable(why string) string {
	text, known := map[string]string{
		TestsNone:        "no file of the base commit is a test",
		TestsAdded:       "the agent changed no test of the base commit, and the command needs files that it added",
		TestsFlaky:       "a run failed, and passed when it was repeated",
		TestsTimedOut:    "a run reached its time limit",
		TestsNotBuilt:    "the tests of the base commit do not build, or their programs are missing",
		TestsSetupFailed: "the setup command failed",
		TestsUnavailable: "the sandbox of the repeat failed",
	}[why]
	if !known {
		return fmt.Sprintf("reason %q", why)
	}
	return text
}
