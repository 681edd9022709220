package supervise_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/omoi-dev/omoi/internal/supervise"
	"github.com/omoi-dev/omoi/internal/task"
)

// tried is an attempt that has ended.
func tried(number int, class task.FailureClass, reason string, feed ...task.Event) task.CaseTry {
	ended := time.Date(2026, 11, 22, 9, number, 0, 0, time.UTC)
	return task.CaseTry{Attempt: task.Attempt{
		Number: number, SandboxID: fmt.Sprint("box", number), EndedAt: &ended, Outcome: "failed", FailureClass: class, Reason: reason,
	}, Feed: feed}
}

func caseOf(status task.Status, tries ...task.CaseTry) task.Case {
	c := task.Case{Task: task.Task{ID: "T", Title: "Do it", Status: status}, Tries: tries, TicketFailures: 1}
	if n := len(tries); n > 0 && status == task.StatusFailed {
		c.Task.FailureClass, c.Task.ErrorMessage = tries[n-1].FailureClass, &tries[n-1].Reason
	}
	return c
}

// compiles is an agent that meets the same error again and again.
func compiles(box string) []task.Event {
	var feed []task.Event
	at := time.Date(2026, 11, 22, 8, 0, 0, 0, time.UTC)
	add := func(kind, data string) {
		at = at.Add(10 * time.Second)
		feed = append(feed, task.Event{SandboxID: box, Sequence: int64(len(feed) + 1), Type: kind, Data: json.RawMessage(data), CreatedAt: at})
	}
	for n := range 6 {
		add("agent.tool_use", fmt.Sprintf(`{"tool": "Bash", "tool_use_id": "c%d", "input": {"command": "make try%d"}}`, n, n))
		add("agent.tool_result", fmt.Sprintf(`{"tool": "Bash", "tool_use_id": "c%d", "is_error": true, "result": "try%d\nerror: cannot find libfoo, password=hunter2000"}`, n, n))
	}
	add("agent.error", `{"error": "I give up"}`)
	return feed
}

func diagnose(c task.Case) (task.Diagnosis, bool) {
	return supervise.Diagnose(c, 3, supervise.DefaultSettings())
}

func TestRepeatedFailuresAreDiagnosed(t *testing.T) {
	t.Parallel()
	same := "The agent gave up: cannot find libfoo"
	two := []task.CaseTry{tried(1, task.ClassAgentError, same), tried(2, task.ClassAgentError, same)}
	_, found := diagnose(caseOf(task.StatusPending, two...))
	require.False(t, found, "two are no series")

	c := caseOf(task.StatusPending, append(two, tried(3, task.ClassAgentError, same, compiles("box3")...))...)
	d, found := diagnose(c)
	require.True(t, found)
	require.Equal(t, []any{task.DiagnosisRepeated, 3, 3, task.ClassAgentError, task.NoticeHeld}, []any{d.Kind, d.Attempt, d.Failures, d.FailureClass, d.Notice})
	require.Equal(t, "3 attempts in a row failed, all of them in the same way (agent_error): The agent gave up: cannot find libfoo.", d.What)
	require.Contains(t, d.Cause, "cannot find libfoo")
	require.Equal(t, "omoi logs T", d.Command, "another attempt would not help")
	require.NotEmpty(t, d.Advice)
	require.Equal(t, "rules", d.SpokenBy)
	require.Equal(t, []int64{13, 12}, []int64{d.Evidence[0].Sequence, d.Evidence[1].Sequence})
	raw, err := json.Marshal(d)
	require.NoError(t, err)
	require.NotContains(t, string(raw), "hunter2000", "it is told to others")

	c.Diagnosed = 3
	_, found = diagnose(c)
	require.False(t, found, "of these it has spoken")
}

func TestWhatIsNoSeriesIsNotDiagnosed(t *testing.T) {
	t.Parallel()
	parked := tried(2, task.ClassProviderLimit, "limit")
	parked.Outcome = "parked"
	done := tried(2, task.ClassAgentError, "x")
	done.Outcome = "completed"
	fail := func(n int, class task.FailureClass) task.CaseTry { return tried(n, class, "x") }
	for name, c := range map[string]struct {
		of    task.Case
		found bool
	}{
		"other classes":     {caseOf(task.StatusPending, fail(1, task.ClassAgentError), fail(2, task.ClassResources), fail(3, task.ClassAgentError)), false},
		"one was completed": {caseOf(task.StatusPending, fail(1, task.ClassAgentError), done, fail(3, task.ClassAgentError), fail(4, task.ClassAgentError)), false},
		"one was parked":    {caseOf(task.StatusRunning, fail(1, task.ClassAgentError), parked, fail(3, task.ClassAgentError), fail(4, task.ClassAgentError)), true},
		"it is completed":   {caseOf(task.StatusCompleted, fail(1, task.ClassAgentError), fail(2, task.ClassAgentError), fail(3, task.ClassAgentError)), false},
		"a person failed":   {caseOf(task.StatusFailed, fail(1, task.ClassReported)), false},
		"its budget":        {caseOf(task.StatusFailed, fail(1, task.ClassBudget)), false},
		"its only attempt":  {caseOf(task.StatusFailed, fail(1, task.ClassAgentError)), true},
		"no attempt":        {caseOf(task.StatusFailed), true},
		"ten of them":       {task.Case{Task: task.Task{Status: task.StatusFailed}, Diagnoses: 10}, false},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			_, found := diagnose(c.of)
			require.Equal(t, c.found, found)
		})
	}
}

// Every class has a cause or says that nobody knows, a next step, and a command.
func TestEveryClassHasANextStep(t *testing.T) {
	t.Parallel()
	for _, class := range []task.FailureClass{
		task.ClassNone, task.ClassInfrastructure, task.ClassProviderLimit, task.ClassAgentError, task.ClassResources, task.ClassStopped,
		task.ClassInvalidInput, task.ClassCredentials, task.ClassPublish, task.ClassTerminated,
	} {
		c := caseOf(task.StatusFailed, tried(1, class, "It broke."))
		c.TicketFailures = 2
		d, found := diagnose(c)
		require.True(t, found, class)
		require.Contains(t, d.What, "It broke")
		require.Contains(t, d.What, "2 tasks of its ticket stand failed")
		require.NotEmpty(t, d.Proposal, class)
		require.True(t, strings.HasPrefix(d.Command, "omoi "), class)
		require.Equal(t, d.Advice != "", d.Notice == task.NoticeHeld, "%s: who is told is told something", class)
		require.NotNil(t, d.Evidence)
	}
}

// What a model says counts where it is sure; what a rule found it does not take back.
func TestAModelAddsToTheRules(t *testing.T) {
	t.Parallel()
	s := supervise.DefaultSettings()
	rules := task.Diagnosis{SpokenBy: "rules", Cause: "The same error came 6 times.", Confidence: 0.8, Evidence: []task.Sign{{SandboxID: "b", Sequence: 2}}}
	said := supervise.Conclusion{
		Model: "m", Cause: "libfoo is not installed, token=abcdefgh12345", Proposal: "Install it", Advice: "Use libbar", Confidence: 0.9,
		Evidence: []task.Sign{{SandboxID: "b", Sequence: 4}, {SandboxID: "b", Sequence: 2}},
	}
	d := supervise.Conclude(rules, said, nil, s)
	require.Equal(t, "The same error came 6 times. libfoo is not installed, token=[removed].", d.Cause)
	require.Equal(t, []string{"model", "m", "Install it.", "Use libbar."}, []string{d.SpokenBy, d.Model, d.Proposal, d.Advice})
	require.Len(t, d.Evidence, 2, "each event once")

	d = supervise.Conclude(rules, supervise.Conclusion{}, errors.New("no answer"), s)
	require.Equal(t, rules.Cause, d.Cause)
	require.Contains(t, d.Trouble, "no answer")
	said.Confidence = 0.1
	require.Equal(t, "rules", supervise.Conclude(rules, said, nil, s).SpokenBy)
}

func TestABudgetBoundsWhoeverAsks(t *testing.T) {
	t.Parallel()
	b := supervise.NewBudget(100, 0)
	ask := func() (supervise.ModelUse, error) { return supervise.ModelUse{InputTokens: 60}, context.Canceled }
	require.ErrorIs(t, b.Spend(ask), context.Canceled)
	require.ErrorIs(t, b.Spend(ask), supervise.ErrBudget, "the next may cost as much")
	require.EqualValues(t, 60, b.Spent().InputTokens)
}
