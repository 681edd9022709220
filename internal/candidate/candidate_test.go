package candidate_test

import (
	"encoding/json"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/omoi-dev/omoi/internal/candidate"
	"github.com/omoi-dev/omoi/internal/task"
)

// ended is a completed candidate with an outcome of tests, changed lines and a cost; -1 is unknown.
func ended(id string, outcome task.TestOutcome, lines int, usd float64) candidate.ComparedTask {
	c := candidate.ComparedTask{Name: "agent-" + id, TaskID: id, TaskKey: "APP-" + id, Status: task.StatusCompleted}
	if outcome != "" {
		c.Tests = &task.TestRepeat{Outcome: outcome, AtBase: task.TestFailed, Command: "make test", Base: "b1"}
	}
	if lines >= 0 {
		c.Lines = &lines
	}
	if usd >= 0 {
		c.CostUSD = &usd
	}
	return c
}

func with(c candidate.ComparedTask, edit func(*candidate.ComparedTask)) candidate.ComparedTask {
	edit(&c)
	return c
}

func TestRecommend(t *testing.T) {
	t.Parallel()
	green, red, blank := task.TestsGreen, task.TestsRed, task.TestsNotComparable
	failed := func(c *candidate.ComparedTask) { c.Status = task.StatusFailed }
	base := func(of candidate.ComparedTask, r task.TestResult) candidate.ComparedTask {
		return with(of, func(c *candidate.ComparedTask) { c.Tests.AtBase = r })
	}
	for name, c := range map[string]struct {
		all         []candidate.ComparedTask
		id, by, why string
	}{
		"one runs":               {[]candidate.ComparedTask{ended("1", green, 1, 0), with(ended("2", "", 1, 0), func(c *candidate.ComparedTask) { c.Status = task.StatusRunning })}, "", "", "open"},
		"one waits for a user":   {[]candidate.ComparedTask{ended("1", green, 1, 0), with(ended("2", "", 1, 0), func(c *candidate.ComparedTask) { c.Status = task.StatusPending })}, "", "", "open"},
		"no tests":               {[]candidate.ComparedTask{ended("1", "", 1, 0), ended("2", "", 2, 1)}, "", "", "untested"},
		"none passed":            {[]candidate.ComparedTask{ended("1", red, 1, 0), ended("2", task.TestsChangedOnly, 1, 0)}, "", "", "not_passed"},
		"none is completed":      {[]candidate.ComparedTask{with(ended("1", green, 1, 0), failed), with(ended("2", "", 1, 0), failed)}, "", "", "not_completed"},
		"one has no result":      {[]candidate.ComparedTask{ended("1", red, 1, 0), ended("2", blank, 1, 0)}, "", "", "untested"},
		"one is not tested":      {[]candidate.ComparedTask{ended("1", red, 1, 0), ended("2", "", 1, 0)}, "", "", "untested"},
		"no result beside green": {[]candidate.ComparedTask{ended("1", green, 9, 9), ended("2", blank, 1, 0)}, "1", "tests", ""},
		"the base passes":        {[]candidate.ComparedTask{base(ended("1", green, 1, 0), task.TestPassed), base(ended("2", red, 1, 0), task.TestPassed)}, "", "", "passed_before"},
		"the base is flaky":      {[]candidate.ComparedTask{ended("1", green, 1, 0), base(ended("2", green, 2, 0), task.TestFlaky)}, "", "", "passed_before"},
		"the base is unknown":    {[]candidate.ComparedTask{base(ended("1", green, 1, 0), ""), base(ended("2", green, 2, 0), task.TestTimedOut)}, "", "", "untested"},
		"the base fails once":    {[]candidate.ComparedTask{base(ended("1", green, 1, 0), ""), base(ended("2", green, 2, 0), task.TestNotBuilt)}, "1", "change", ""},
		"other commands":         {[]candidate.ComparedTask{ended("1", green, 1, 0), with(ended("2", red, 1, 0), func(c *candidate.ComparedTask) { c.Tests.Command = "true" })}, "", "", "different_tests"},
		"other base commits":     {[]candidate.ComparedTask{ended("1", green, 1, 0), with(ended("2", green, 2, 0), func(c *candidate.ComparedTask) { c.Tests.Base = "b2" })}, "", "", "different_tests"},
		"other base of a failed": {[]candidate.ComparedTask{ended("1", green, 1, 0), with(ended("2", red, 2, 0), func(c *candidate.ComparedTask) { failed(c); c.Tests.Base = "b2" })}, "1", "tests", ""},
		"passed and then failed": {[]candidate.ComparedTask{with(ended("1", green, 1, 0), failed), ended("2", red, 1, 0)}, "", "", "not_passed"},
		"one passed":             {[]candidate.ComparedTask{ended("1", red, 1, 0), ended("2", green, 500, 9)}, "2", "tests", ""},
		"the other failed":       {[]candidate.ComparedTask{with(ended("1", "", -1, -1), failed), ended("2", green, 5, 9)}, "2", "tests", ""},
		"smaller change":         {[]candidate.ComparedTask{ended("1", green, 30, 1), ended("2", green, 12, 9), ended("3", red, 1, 0)}, "2", "change", ""},
		"lower cost":             {[]candidate.ComparedTask{ended("1", green, 12, 3), ended("2", green, 12, 2), ended("3", green, 13, 1)}, "2", "cost", ""},
		"unknown size":           {[]candidate.ComparedTask{ended("1", green, -1, 3), ended("2", green, 12, 2)}, "2", "cost", ""},
		"unknown cost":           {[]candidate.ComparedTask{ended("1", green, 12, -1), ended("2", green, 12, 2)}, "", "", "equal"},
		"cost with a gap":        {[]candidate.ComparedTask{with(ended("1", green, 12, 1), func(c *candidate.ComparedTask) { c.CostUnknown = true }), ended("2", green, 12, 2)}, "", "", "equal"},
		"equal":                  {[]candidate.ComparedTask{ended("1", green, 12, 2), ended("2", green, 12, 2)}, "", "", "equal"},
	} {
		got := candidate.Recommend(c.all)
		require.Equal(t, []string{c.id, c.by, c.why}, []string{got.TaskID, got.By, got.Why}, name)
		require.NotEmpty(t, got.Message, name)
	}
	require.Equal(t, "APP-1 (agent-1): the only completed task that passed the tests that omoi repeated; omoi has no result of tests of 1 task.",
		candidate.Recommend([]candidate.ComparedTask{ended("1", green, 9, 9), ended("2", blank, 1, 0)}).Message)
	require.Equal(t, "APP-2 (agent-2): of 2 tasks that passed the tests, the smallest change: 12 lines.",
		candidate.Recommend([]candidate.ComparedTask{ended("1", green, 30, 1), ended("2", green, 12, 9)}).Message)
}

func TestPart_StaysWithinTheBudget(t *testing.T) {
	t.Parallel()
	whole := task.Budget{USD: 6, Tokens: 1000, SandboxSeconds: 100, WallClockS: 60}
	part, err := candidate.Part(whole, 3)
	require.NoError(t, err)
	require.Equal(t, task.Budget{USD: 2, Tokens: 333, SandboxSeconds: 33, WallClockS: 60}, part)
	all := []candidate.ComparedTask{{Budget: part}, {Budget: part}, {Budget: part}}
	require.Equal(t, task.Budget{USD: 6, Tokens: 999, SandboxSeconds: 99, WallClockS: 60}, candidate.Whole(all))
	all[1].Budget = task.Budget{}
	require.Equal(t, task.Budget{}, candidate.Whole(all), "one has no limit")
	_, err = candidate.Part(task.Budget{Tokens: 2}, 3)
	require.Equal(t, task.CodeInvalid, task.CodeOf(err), "a part of 0 would be no limit")
	_, err = candidate.Part(task.Budget{SandboxSeconds: 2}, 3)
	require.Equal(t, task.CodeInvalid, task.CodeOf(err))
}

func TestMark_IsReadBackAndNotCopied(t *testing.T) {
	t.Parallel()
	config, err := candidate.Mark(json.RawMessage(`{"mine":1,"env":{"A":"b"}}`), "opus:1")
	require.NoError(t, err)
	require.JSONEq(t, `{"mine":1,"env":{"A":"b","MODEL":"opus:1"},"candidate":{"model":"opus:1"}}`, string(config))
	require.True(t, candidate.Is(config))
	require.False(t, candidate.Is(json.RawMessage(`{"Candidate":{}}`)))
	require.False(t, candidate.Is(json.RawMessage(`{"candidate":null}`)))
	require.Equal(t, []string{"claude:opus:1", "codex"}, []string{candidate.Name("claude", "opus:1"), candidate.Name("codex", "")})
	require.JSONEq(t, `{"mine":1,"env":{"A":"b","MODEL":"opus:1"}}`, string(candidate.Unmark(config)))
	config, err = candidate.Mark(nil, "")
	require.NoError(t, err)
	require.True(t, candidate.Is(config))
	require.False(t, candidate.Is(candidate.Unmark(config)))
	for _, wrong := range []string{`[1]`, `null`, `{"env":[1]}`} {
		_, err = candidate.Mark(json.RawMessage(wrong), "m")
		require.Equal(t, task.CodeInvalid, task.CodeOf(err), wrong)
	}
}
