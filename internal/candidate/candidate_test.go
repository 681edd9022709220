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
		c.Tests = &task.TestRepeat{Outcome: outcome}
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
	green, red := task.TestsGreen, task.TestsRed
	failed := func(c *candidate.ComparedTask) { c.Status = task.StatusFailed }
	for name, c := range map[string]struct {
		all         []candidate.ComparedTask
		id, by, why string
	}{
		"one runs":               {[]candidate.ComparedTask{ended("1", green, 1, 0), with(ended("2", "", 1, 0), func(c *candidate.ComparedTask) { c.Status = task.StatusRunning })}, "", "", "open"},
		"one waits for a user":   {[]candidate.ComparedTask{ended("1", green, 1, 0), with(ended("2", "", 1, 0), func(c *candidate.ComparedTask) { c.Status = task.StatusPending })}, "", "", "open"},
		"no tests":               {[]candidate.ComparedTask{ended("1", "", 1, 0), ended("2", "", 2, 1)}, "", "", "untested"},
		"none passed":            {[]candidate.ComparedTask{ended("1", red, 1, 0), ended("2", task.TestsChangedOnly, 1, 0)}, "", "", "not_passed"},
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
	c, is := candidate.Of(task.Task{Agent: "claude", Execution: config})
	require.True(t, is)
	require.Equal(t, "claude:opus:1", c.Name)
	require.JSONEq(t, `{"mine":1,"env":{"A":"b","MODEL":"opus:1"}}`, string(candidate.Unmark(config)))
	config, err = candidate.Mark(nil, "")
	require.NoError(t, err)
	c, is = candidate.Of(task.Task{Agent: "codex", Execution: config})
	require.Equal(t, [2]any{"codex", true}, [2]any{c.Name, is})
	_, is = candidate.Of(task.Task{Agent: "codex", Execution: candidate.Unmark(config)})
	require.False(t, is)
	for _, wrong := range []string{`[1]`, `null`, `{"env":[1]}`} {
		_, err = candidate.Mark(json.RawMessage(wrong), "m")
		require.Equal(t, task.CodeInvalid, task.CodeOf(err), wrong)
	}
}

func TestWork_IsNotThatOfAValidator(t *testing.T) {
	t.Parallel()
	a, b := "a", "b"
	tested := &task.TestRepeat{Outcome: task.TestsGreen}
	of := task.Task{Execution: json.RawMessage(`{"candidate":{}}`), Attempts: []task.Attempt{
		{Number: 1, HeadCommit: &a}, {Number: 2, HeadCommit: &b, TestRepeat: tested}, {Number: 3, Kind: "validation", HeadCommit: &b}, {Number: 4},
	}}
	require.Equal(t, 2, candidate.Work(of).Number)
	c, _ := candidate.Of(of)
	require.Equal(t, tested, c.Tests)
	of.Attempts = append(of.Attempts, task.Attempt{Number: 5, HeadCommit: &a})
	c, _ = candidate.Of(of)
	require.Nil(t, c.Tests, "the tests were not repeated on the newest work")
}
