package task_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/omoi-dev/omoi/internal/task"
)

func TestTestRepeat_Judged(t *testing.T) {
	t.Parallel()
	passed, failed, flaky, late, unbuilt := task.TestPassed, task.TestFailed, task.TestFlaky, task.TestTimedOut, task.TestNotBuilt
	for name, c := range map[string]struct {
		own, withBase, atBase task.TestResult
		given                 string // reason
		outcome               task.TestOutcome
		why, words            string
	}{
		"both":          {passed, passed, "", "", task.TestsGreen, "", "Passed with the tests of the base commit and with those of the work."},
		"both, passed":  {passed, passed, passed, "", task.TestsGreen, "", "Passed with the tests of the base commit and with those of the work; the base commit passes too."},
		"both, failed":  {passed, passed, failed, "", task.TestsGreen, "", "Passed with the tests of the base commit and with those of the work; the base commit fails."},
		"cheat":         {passed, failed, passed, "", task.TestsChangedOnly, "", "Passed only with the changed tests (a_test.go). With the tests of the base commit the work fails; the base commit passes them."},
		"rewrite":       {passed, failed, failed, "", task.TestsChangedOnly, "", "Passed only with the changed tests (a_test.go). With the tests of the base commit the work fails; the base commit fails them too."},
		"red":           {failed, failed, passed, "", task.TestsRed, "", "Failed; the base commit passes."},
		"red before":    {failed, failed, failed, "", task.TestsRed, "", "Failed, and fails at the base commit too: not charged to the agent."},
		"own do not":    {unbuilt, passed, "", "", task.TestsRed, "", "Failed."},
		"do not build":  {passed, unbuilt, "", "", task.TestsNotComparable, task.TestsNotBuilt, "Not comparable: the tests of the base commit do not build, or their programs are missing."},
		"no programs":   {unbuilt, unbuilt, unbuilt, "", task.TestsNotComparable, task.TestsNotBuilt, "Not comparable: the tests of the base commit do not build, or their programs are missing."},
		"flaky":         {passed, flaky, "", "", task.TestsNotComparable, task.TestsFlaky, "Not comparable: a run failed, and passed when it was repeated."},
		"own flaky":     {flaky, passed, "", "", task.TestsNotComparable, task.TestsFlaky, "Not comparable: a run failed, and passed when it was repeated."},
		"flaky cheat":   {flaky, failed, passed, "", task.TestsChangedOnly, "", "Passed only with the changed tests (a_test.go). With the tests of the base commit the work fails; the base commit passes them."},
		"late":          {late, failed, "", "", task.TestsNotComparable, task.TestsTimedOut, "Not comparable: a run reached its time limit."},
		"no test":       {passed, "", "", task.TestsNone, task.TestsNotComparable, task.TestsNone, "Not comparable: no file of the base commit is a test."},
		"newer reason":  {passed, "", "", "another", task.TestsNotComparable, "another", `Not comparable: reason "another".`},
		"setup, failed": {"", failed, "", task.TestsSetupFailed, task.TestsNotComparable, task.TestsSetupFailed, "Not comparable: the setup command failed."},
	} {
		r := task.TestRepeat{Own: c.own, WithBase: c.withBase, AtBase: c.atBase, Why: c.given, Changed: []string{"a_test.go"}}.Judged()
		require.Equal(t, []any{c.outcome, c.why, c.words}, []any{r.Outcome, r.Why, r.Words()}, name)
	}
}

// The runs with the tests of the base commit leave out the files that the agent added, so that a command that names them fails.
func TestTestRepeat_AddedTestsAreNotCharged(t *testing.T) {
	t.Parallel()
	r := task.TestRepeat{Own: task.TestPassed, WithBase: task.TestFailed, AtBase: task.TestFailed, Added: 1}.Judged()
	require.Equal(t, []any{task.TestsNotComparable, task.TestsAdded}, []any{r.Outcome, r.Why})
	require.Equal(t, "Not comparable: the agent changed no test of the base commit, and the command needs files that it added.", r.Words())
}
