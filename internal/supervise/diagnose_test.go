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

	"github.com/omoi-dev/omoi/internal/event"
	"github.com/omoi-dev/omoi/internal/explain"
	"github.com/omoi-dev/omoi/internal/supervise"
	"github.com/omoi-dev/omoi/internal/task"
)

// tried returns an attempt that has ended.
func tried(number int, class task.FailureClass, reason string, feed ...event.Event) supervise.DiagnosedAttempt {
	ended := time.Date(2026, 11, 22, 9, number, 0, 0, time.UTC)
	return supervise.DiagnosedAttempt{Attempt: task.Attempt{
		Number: number, SandboxID: fmt.Sprint("box", number), EndedAt: &ended, Outcome: "failed", FailureClass: class, Reason: reason,
	}, Feed: feed}
}

func caseOf(status task.Status, tries ...supervise.DiagnosedAttempt) supervise.DiagnosisInput {
	c := supervise.DiagnosisInput{Task: task.Task{ID: "T", Title: "Do it", Status: status}, Tries: tries, TicketFailures: 1}
	if n := len(tries); n > 0 && status == task.StatusFailed {
		c.Task.FailureClass, c.Task.ErrorMessage, c.Task.EndReason = tries[n-1].FailureClass, &tries[n-1].Reason, tries[n-1].EndReason
	}
	return c
}

// compiles returns the events of an agent that repeats the same compiler error.
func compiles(box string) []event.Event {
	var feed []event.Event
	at := time.Date(2026, 11, 22, 8, 0, 0, 0, time.UTC)
	add := func(kind, data string) {
		at = at.Add(10 * time.Second)
		feed = append(feed, event.Event{SandboxID: box, Sequence: int64(len(feed) + 1), Type: kind, Data: json.RawMessage(data), CreatedAt: at})
	}
	for n := range 6 {
		add("agent.tool_use", fmt.Sprintf(`{"tool": "Bash", "tool_use_id": "c%d", "input": {"command": "make try%d"}}`, n, n))
		add("agent.tool_result", fmt.Sprintf(`{"tool": "Bash", "tool_use_id": "c%d", "is_error": true, "result": "try%d\nerror: cannot find libfoo, password=hunter2000"}`, n, n))
	}
	add("agent.error", `{"error": "I give up"}`)
	return feed
}

func diagnose(c supervise.DiagnosisInput) (explain.Diagnosis, bool) {
	return supervise.Diagnose(c, 3, supervise.DefaultSettings())
}

func TestDiagnose_RepeatedFailures(t *testing.T) {
	t.Parallel()
	same := "The agent gave up: cannot find libfoo"
	two := []supervise.DiagnosedAttempt{tried(1, task.ClassAgentError, same), tried(2, task.ClassAgentError, same)}
	_, found := diagnose(caseOf(task.StatusPending, two...))
	require.False(t, found, "two are no series")

	c := caseOf(task.StatusPending, append(two, tried(3, task.ClassAgentError, same, compiles("box3")...))...)
	d, found := diagnose(c)
	require.True(t, found)
	require.Equal(t, []any{explain.DiagnosisRepeated, 3, 3, task.ClassAgentError, explain.NoticePending}, []any{d.Kind, d.Attempt, d.Failures, d.FailureClass, d.Notice})
	require.Equal(t, "3 attempts in a row failed, all of them in the same way (agent_error): The agent gave up: cannot find libfoo.", d.Summary)
	require.Contains(t, d.Cause, "cannot find libfoo")
	require.Equal(t, "omoi logs T", d.Command, "another attempt would not help")
	require.NotEmpty(t, d.Advice)
	require.Equal(t, "rules", d.Source)
	require.Equal(t, []int64{13, 12}, []int64{d.Evidence[0].Sequence, d.Evidence[1].Sequence})
	raw, err := json.Marshal(d)
	require.NoError(t, err)
	require.NotContains(t, string(raw), "hunter2000", "it is told to others")

	c.Diagnosed = 3
	_, found = diagnose(c)
	require.False(t, found, "of these it has spoken")
}

func TestDiagnose_IgnoresOtherEnds(t *testing.T) {
	t.Parallel()
	parked := tried(2, task.ClassProviderLimit, "limit")
	parked.Outcome = "suspended"
	done := tried(2, task.ClassAgentError, "x")
	done.Outcome = "completed"
	fail := func(n int, class task.FailureClass) supervise.DiagnosedAttempt { return tried(n, class, "x") }
	for name, c := range map[string]struct {
		of    supervise.DiagnosisInput
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
		"ten of them":       {supervise.DiagnosisInput{Task: task.Task{Status: task.StatusFailed}, Diagnoses: 10}, false},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			_, found := diagnose(c.of)
			require.Equal(t, c.found, found)
		})
	}
}

// An interrupt is not a limit.
func TestDiagnose_Interrupt(t *testing.T) {
	t.Parallel()
	for _, class := range []task.FailureClass{task.ClassStopped, task.ClassAgentError} {
		try := tried(1, class, "The agent was interrupted, and no message came that says how to go on.")
		try.InterruptedBy, try.EndReason = "person", task.Reason{Code: task.ReasonInterrupted, By: "person"}
		d, found := diagnose(caseOf(task.StatusFailed, try))
		require.True(t, found)
		require.Contains(t, d.Cause, "interrupted by a user")
		require.Contains(t, d.Advice, "interrupted by a user")
		require.NotContains(t, d.Cause+d.Proposal+d.Advice, "limit")
		require.Equal(t, "omoi retry T", d.Command)
	}
	d, _ := diagnose(caseOf(task.StatusFailed, tried(1, task.ClassStopped, "It has reached MAX_TURNS.")))
	require.Contains(t, d.Cause, "limit")
}

func TestDiagnose_ValidatorWithoutVerdict(t *testing.T) {
	t.Parallel()
	try := tried(2, task.ClassInfrastructure, "the validator ended without a verdict")
	try.EndReason = task.Reason{Code: task.ReasonNoVerdict}
	d, found := diagnose(caseOf(task.StatusFailed, try))
	require.True(t, found)
	require.Contains(t, d.Cause, "validator ended without a verdict")
	require.Equal(t, "omoi logs T", d.Command)
}

// Each class has a cause or an unknown cause, a next step and a command.
func TestDiagnose_EachClassHasANextStep(t *testing.T) {
	t.Parallel()
	for _, class := range []task.FailureClass{
		task.ClassNone, task.ClassInfrastructure, task.ClassProviderLimit, task.ClassAgentError, task.ClassResources, task.ClassStopped,
		task.ClassInvalidInput, task.ClassCredentials, task.ClassPublish, task.ClassTerminated,
	} {
		c := caseOf(task.StatusFailed, tried(1, class, "It broke."))
		c.TicketFailures = 2
		d, found := diagnose(c)
		require.True(t, found, class)
		require.Contains(t, d.Summary, "It broke")
		require.Contains(t, d.Summary, "2 tasks of its ticket stand failed")
		require.NotEmpty(t, d.Proposal, class)
		require.True(t, strings.HasPrefix(d.Command, "omoi "), class)
		require.Equal(t, d.Advice != "", d.Notice == explain.NoticePending, "%s: who is told is told something", class)
		require.NotNil(t, d.Evidence)
	}
}

// A model's conclusion counts if it is confident, and does not remove a finding.
func TestConclude_KeepsFindings(t *testing.T) {
	t.Parallel()
	s := supervise.DefaultSettings()
	rules := explain.Diagnosis{Source: "rules", Cause: "The same error came 6 times.", Confidence: 0.8, Evidence: []explain.Evidence{{SandboxID: "b", Sequence: 2}}}
	said := supervise.Conclusion{
		Model: "m", Cause: "libfoo is not installed, token=abcdefgh12345", Proposal: "Install it", Advice: "Use libbar", Confidence: 0.9,
		Evidence: []explain.Evidence{{SandboxID: "b", Sequence: 4}, {SandboxID: "b", Sequence: 2}},
	}
	d := supervise.Conclude(rules, said, nil, s)
	require.Equal(t, "The same error came 6 times. libfoo is not installed, token=[removed].", d.Cause)
	require.Equal(t, []string{"model", "m", "Install it.", "Use libbar."}, []string{d.Source, d.Model, d.Proposal, d.Advice})
	require.Len(t, d.Evidence, 2, "each event once")

	d = supervise.Conclude(rules, supervise.Conclusion{}, errors.New("no answer"), s)
	require.Equal(t, rules.Cause, d.Cause)
	require.Contains(t, d.ModelError, "no answer")
	said.Confidence = 0.1
	require.Equal(t, "rules", supervise.Conclude(rules, said, nil, s).Source)
}

func TestBudget_BoundsConcurrentCalls(t *testing.T) {
	t.Parallel()
	b := supervise.NewBudget(100, 0)
	ask := func() (supervise.ModelUse, error) { return supervise.ModelUse{InputTokens: 60}, context.Canceled }
	require.ErrorIs(t, b.Spend(ask), context.Canceled)
	require.ErrorIs(t, b.Spend(ask), supervise.ErrBudget, "the next may cost as much")
}

// A ticket is due after failures in a row, and again after as many new failures.
func TestTicketDue(t *testing.T) {
	t.Parallel()
	at := time.Date(2026, 11, 22, 9, 0, 0, 0, time.UTC)
	ends := func(text string) supervise.TicketEnds { // newest first; "-" precedes a completed task
		var out supervise.TicketEnds
		for n, name := range strings.Fields(text) {
			out.Ends = append(out.Ends, supervise.TicketEnd{TaskID: strings.TrimPrefix(name, "-"), Failed: name[0] != '-', At: at.Add(-time.Duration(n) * time.Minute)})
		}
		return out
	}
	for text, want := range map[string][]string{
		"": nil, "a": nil, "a b": nil, "a b c": {"a", "b", "c"}, "a b -c d": nil, "a b a -c": {"a", "b"}, "-a b c d": nil,
		"a b c d e f": {"a", "b", "c", "d", "e"},
	} {
		require.Equal(t, want, supervise.TicketDue(ends(text), 3), text)
	}
	require.Empty(t, supervise.TicketDue(ends(strings.Repeat("a ", 5)), 3), "its own diagnoses speak of it")
	spoken := ends("a b c d e")
	spoken.Upto = spoken.Ends[2].At
	require.Empty(t, supervise.TicketDue(spoken, 3), "two since")
	spoken.Upto = spoken.Ends[3].At
	require.NotEmpty(t, supervise.TicketDue(spoken, 3))
	spoken.Diagnoses = 10
	require.Empty(t, supervise.TicketDue(spoken, 3))
}

func TestDiagnoseTicket(t *testing.T) {
	t.Parallel()
	at := time.Date(2026, 11, 22, 9, 0, 0, 0, time.UTC)
	cases := func(classes ...task.FailureClass) (supervise.TicketEnds, []supervise.DiagnosisInput) {
		var ends supervise.TicketEnds
		var all []supervise.DiagnosisInput
		for n, class := range classes {
			c := caseOf(task.StatusFailed, tried(1, class, "cannot find libfoo", compiles(fmt.Sprint("box", n))...))
			c.Task.ID, c.Task.TicketID, c.TicketFailures = fmt.Sprint("T", n), "K", len(classes)
			c.Tries[0].TaskID = c.Task.ID
			all = append(all, c)
			ends.Ends = append(ends.Ends, supervise.TicketEnd{TaskID: c.Task.ID, Failed: true, At: at})
		}
		return ends, all
	}
	alike, of := cases(task.ClassAgentError, task.ClassAgentError, task.ClassAgentError)
	d := supervise.DiagnoseTicket(alike, of, supervise.DefaultSettings())
	require.Equal(t, []any{explain.DiagnosisTicket, "K", "T0", 3, task.ClassAgentError, explain.NoticeNone, at}, []any{d.Kind, d.TicketID, d.TaskID, d.Failures, d.FailureClass, d.Notice, *d.EndedAt})
	require.Equal(t, "3 tasks of the ticket failed one after the other, all of them in the same way (agent_error): cannot find libfoo.", d.Summary)
	require.Contains(t, d.Cause, "cannot find libfoo")
	require.Equal(t, []string{"omoi logs T0", ""}, []string{d.Command, d.Advice})
	require.NotEmpty(t, d.Proposal)
	boxes := map[string]bool{}
	for _, sign := range d.Evidence {
		boxes[sign.SandboxID] = true
		require.Equal(t, strings.TrimPrefix(sign.SandboxID, "box"), strings.TrimPrefix(sign.TaskID, "T"), "each names its task")
	}
	require.Len(t, boxes, 3, "of each of them")

	mixed, of := cases(task.ClassAgentError, task.ClassResources)
	mixed.Ends = append(mixed.Ends, mixed.Ends[0])
	d = supervise.DiagnoseTicket(mixed, of, supervise.DefaultSettings())
	require.Equal(t, []any{task.ClassNone, 3, "omoi why T0"}, []any{d.FailureClass, d.Failures, d.Command})
	require.Contains(t, d.Summary, "2 tasks of the ticket failed one after the other, 3 times in all")
	require.Contains(t, d.Cause, "different ways")

	early, of := cases(task.ClassCredentials, task.ClassCredentials)
	for n := range of {
		of[n].Tries = nil
	}
	d = supervise.DiagnoseTicket(early, of, supervise.DefaultSettings())
	require.Contains(t, d.Summary, "(credentials): cannot find libfoo")
	require.Equal(t, []any{"omoi credentials test", 0}, []any{d.Command, d.Attempt})
}

// A program reads neither the description nor messages.
func TestDiagnose_ProgramRuntime(t *testing.T) {
	t.Parallel()
	c := caseOf(task.StatusFailed, tried(1, task.ClassAgentError, "The command ended with exit code 3 (exited). "+task.EndOfOutput+"starting\nThe real reason: no disk"))
	c.Task.Agent = task.AgentCommand
	d, found := diagnose(c)
	require.True(t, found)
	require.Contains(t, d.Summary, "exit code 3 (exited): The real reason: no disk.")
	require.NotContains(t, d.Summary, "starting")
	require.NotContains(t, d.Proposal, "omoi send")
	require.Contains(t, d.Proposal, "Look at what it printed")
}

// The project owns the setup step; the host is not at fault.
func TestDiagnose_SetupStep(t *testing.T) {
	t.Parallel()
	c := caseOf(task.StatusFailed, tried(1, task.ClassInfrastructure, "The setup step ended with exit code 4. The end of its output:\noops"))
	c.Task.ProjectID, c.Task.EndReason = "P", task.Reason{Code: task.ReasonSetupFailed}
	d, found := diagnose(c)
	require.True(t, found)
	require.Equal(t, `omoi project update P --setup "<command>"`, d.Command)
	require.Contains(t, d.Cause, "setup step")
	require.NotContains(t, d.Cause, "provider")
}
