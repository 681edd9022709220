package explain_test

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/omoi-dev/omoi/internal/event"
	"github.com/omoi-dev/omoi/internal/explain"
	"github.com/omoi-dev/omoi/internal/task"
)

// about is a task with one attempt that has begun, as of now.
func about(status task.Status, change func(*explain.WhyFacts)) explain.WhyFacts {
	now := time.Date(2026, 11, 22, 12, 0, 0, 0, time.UTC)
	box := "box1"
	f := explain.WhyFacts{
		At: now, Silent: 2 * time.Minute, NoWork: 15 * time.Minute,
		Task: task.Task{
			ID: "T", ProjectID: "P", Status: status, Provider: "local", AttemptCount: 1, SandboxID: &box, CreatedAt: now.Add(-time.Minute),
			Attempts: []task.Attempt{{Number: 1, SandboxID: box, SandboxState: task.SandboxRunning}},
		},
		Signs: []explain.Evidence{
			{Attempt: 1, SandboxID: box, Sequence: 9, Type: "agent.message"},
			{Attempt: 1, SandboxID: box, Sequence: 7, Type: "agent.tool_completed", Failure: true},
			{Attempt: 1, SandboxID: box, Sequence: 4, Type: "agent.error", Failure: true},
		},
	}
	if change != nil {
		change(&f)
	}
	return f
}

// lives gives it a pulse.
func lives(change func(*task.Pulse)) func(*explain.WhyFacts) {
	return func(f *explain.WhyFacts) {
		f.Pulse = &task.Pulse{Beat: time.Second, Work: 3 * time.Second, Assigned: time.Minute, Started: time.Minute, Waiting: -1}
		if change != nil {
			change(f.Pulse)
		}
	}
}

// elsewhere gives it to an agent that connects itself.
func elsewhere(change func(*task.Pulse)) func(*explain.WhyFacts) {
	return func(f *explain.WhyFacts) {
		lives(change)(f)
		f.Task.Agent, f.Task.Provider = task.AgentExternal, task.ProviderExternal
	}
}

func queued(reason task.Reason) func(*explain.WhyFacts) {
	return func(f *explain.WhyFacts) {
		f.Task.QueueReason, f.Task.QueuePosition, f.Task.Attempts, f.Task.AttemptCount, f.Signs = reason, new(2), nil, 0, nil
		f.Task.QueuedAt = &f.At
	}
}

func asleep(f *explain.WhyFacts) {
	f.Task.QueueReason = task.Reason{Code: task.ReasonLimitReset, Until: new(time.Date(2026, 3, 4, 14, 0, 0, 0, time.UTC))}
	shutdown := explain.Evidence{Attempt: 1, Sequence: 12, Type: event.AgentShutdown}
	f.Signs = append([]explain.Evidence{shutdown}, f.Signs...)
}

func blocked(by task.BlockedReason, change func(*explain.WhyFacts)) func(*explain.WhyFacts) {
	return func(f *explain.WhyFacts) {
		f.Task.Blocked = by
		ended := f.At
		f.Task.Attempts[0].EndedAt, f.Task.Attempts[0].Reason = &ended, "the reason"
		if change != nil {
			change(f)
		}
	}
}

func broken(class task.FailureClass) func(*explain.WhyFacts) {
	return func(f *explain.WhyFacts) {
		f.Task.FailureClass, f.Task.ErrorMessage = class, new("It broke.\n\nFor those who look inside.")
	}
}

func setup(how, execution string, code task.ReasonCode) func(*explain.WhyFacts) {
	return func(f *explain.WhyFacts) {
		broken(task.ClassInfrastructure)(f)
		f.Task.EndReason = task.Reason{Code: code}
		f.Task.ErrorMessage, f.Task.Execution = new("The setup step "+how+". The end of its output:\noops"), json.RawMessage(execution)
	}
}

func TestExplain_CoversEveryState(t *testing.T) {
	t.Parallel()
	asked := func(kind string, ago time.Duration) func(*explain.WhyFacts) {
		return func(f *explain.WhyFacts) {
			f.Task.PendingCommand = &task.Command{Kind: kind, CreatedAt: f.At.Add(-ago)}
		}
	}
	pending := task.StatusPending
	for name, c := range map[string]struct {
		facts             explain.WhyFacts
		state, says, next string
		events            []int64
	}{
		"out of budget, queued": {about(pending, queued(task.Reason{Code: task.ReasonTaskBudget, Used: 9, Limit: 8, Unit: task.UnitSandboxSeconds})), "waiting", "its budget is spent", "omoi budget T --sandbox-time <more>", nil},
		"queued":                {about(pending, queued(task.Reason{Code: task.ReasonProjectLimit, Used: 5, Limit: 5})), "waiting", "Queued at position 2: waiting for a slot: 5 of 5", "omoi project update P --max-concurrent-tasks <n>", nil},
		"organization at none":  {about(pending, queued(task.Reason{Code: task.ReasonOrganizationLimit})), "waiting", "limit 0", "omoi organization list", nil},
		"organization full":     {about(pending, queued(task.Reason{Code: task.ReasonOrganizationLimit, Used: 1, Limit: 1})), "waiting", "1 of 1 used", "omoi organization list", nil},
		"held":                  {about(pending, queued(task.Reason{Code: task.ReasonAutonomousOff})), "waiting", "autonomous", "omoi project update P --autonomous-execution", nil},
		"turn, no room": {about(pending, func(f *explain.WhyFacts) {
			f.Task.WaitingFor = task.Reason{Code: task.ReasonUnverifiedLimit, Provider: "docker", Used: 20, Limit: 20}
		}), "waiting", "The task is admitted and waits: 20 of", "omoi sandbox list", nil},
		"no machine": {about(pending, func(f *explain.WhyFacts) { f.Task.WaitingFor.Code = task.ReasonNoHost }), "waiting", "no host offers", "omoi host list", nil},
		"trouble": {about(pending, func(f *explain.WhyFacts) {
			f.Task.WaitingFor = task.Reason{Code: task.ReasonRetrying, Detail: "the repository does not answer"}
		}), "waiting", "does not answer", "omoi doctor", nil},
		"being prepared":  {about(pending, nil), "starting", "sandbox box1 is running", "omoi logs -f T", nil},
		"between tries":   {about(pending, blocked(task.BlockedNone, nil)), "starting", "the reason (events 7, 4 of attempt 1).", "omoi logs -f T", []int64{7, 4}},
		"just accepted":   {about(pending, func(f *explain.WhyFacts) { f.Task.Attempts, f.Task.AttemptCount = nil, 0 }), "starting", "accepted", "omoi logs -f T", nil},
		"not started":     {about(pending, func(f *explain.WhyFacts) { f.Task.Attempts, f.Task.CreatedAt = nil, f.At.Add(-time.Hour) }), "unknown", "accepted 1h0m ago and has not started", "omoi doctor", nil},
		"dependency":      {about(pending, blocked(task.BlockedDependency, func(f *explain.WhyFacts) { f.DependsOn = []explain.Dependency{{"D", task.StatusRunning}} })), "waiting", "1 task to complete: D is running.", "omoi why D", nil},
		"dependency lost": {about(pending, blocked(task.BlockedDependencyFailed, func(f *explain.WhyFacts) { f.DependsOn = []explain.Dependency{{"D", task.StatusFailed}} })), "waiting", "D is failed", "omoi retry D", nil},
		"limit":           {about(pending, blocked(task.BlockedProviderLimit, nil)), "suspended", "rate limit is reached", "omoi retry T", []int64{9}},
		"limit, asleep":   {about(pending, blocked(task.BlockedProviderLimit, asleep)), "suspended", "is reached; the task is waiting until 2026-03-04 14:00:00 UTC, when that limit resets: the reason", "omoi retry T", []int64{9}},
		"limit, told":     {about(pending, blocked(task.BlockedProviderLimit, queued(task.Reason{Code: task.ReasonCooldownProbe}))), "suspended", "The task is waiting: another task tests", "omoi retry T", nil},
		"budget":          {about(pending, blocked(task.BlockedBudget, nil)), "suspended", "spent; the work is saved: the reason (event 9 of attempt 1).", "omoi budget T --usd <more>", []int64{9}},
		"project budget":  {about(pending, blocked(task.BlockedBudget, queued(task.Reason{Code: task.ReasonProjectBudget, Used: 1, Limit: 1, Unit: task.UnitTokens}))), "suspended", "the budget of its project", "omoi budget --project P --tokens <more>", nil},
		"paused":          {about(pending, blocked(task.BlockedPaused, nil)), "suspended", "project is paused", "omoi project resume P", []int64{9}},
		"project paused":  {about(pending, blocked(task.BlockedPaused, queued(task.Reason{Code: task.ReasonProjectPaused}))), "suspended", "project is paused", "omoi project resume P", nil},
		"all paused":      {about(pending, blocked(task.BlockedPaused, queued(task.Reason{Code: task.ReasonOrganizationPaused}))), "suspended", "ORCHESTRATOR_ENABLED=false", "omoi config show", nil},
		"by a user":       {about(pending, blocked(task.BlockedSuspended, nil)), "suspended", "user suspended the task; the work is saved: the reason (event 9 of attempt 1).", "omoi retry T", []int64{9}},
		"review":          {about(pending, blocked(task.BlockedReview, nil)), "suspended", "gave no verdict: the reason (event 9 of attempt 1).", "omoi review T --approve", []int64{9}},
		"unreached":       {about(pending, blocked(task.BlockedUnknownTooLong, nil)), "suspended", "was unreachable", "omoi retry T", []int64{9}},

		"assigned":      {about(task.StatusAssigned, nil), "starting", "is starting (local)", "omoi logs -f T", []int64{9}},
		"unheard":       {about(task.StatusAssigned, lives(func(p *task.Pulse) { p.Beat = -1 })), "starting", "has not reported in 1m", "omoi logs --raw T", nil},
		"working":       {about(task.StatusRunning, lives(nil)), "running", "its last activity was 3s ago (event 9 of attempt 1).", "omoi logs -f T", []int64{9}},
		"without pulse": {about(task.StatusRunning, nil), "running", "running (local)", "omoi logs -f T", []int64{9}},
		"in a tool":     {about(task.StatusRunning, lives(func(p *task.Pulse) { p.Tool, p.ToolAge, p.Work = "Bash", 40*time.Second, time.Hour })), "running", "with Bash under way for 40s", "omoi logs -f T", nil},
		"idle":          {about(task.StatusRunning, lives(func(p *task.Pulse) { p.Work = time.Hour })), "stuck", "sends heartbeats and has done nothing for 1h0m", `omoi send T "<text>"`, []int64{9}},
		"listens":       {about(task.StatusRunning, lives(func(p *task.Pulse) { p.Waiting = 90 * time.Second })), "waiting", "waited for a message for 2m", `omoi send T "<text>"`, nil},
		"listens, with a limit": {about(task.StatusRunning, func(f *explain.WhyFacts) {
			lives(func(p *task.Pulse) { p.Waiting = 90 * time.Second })(f)
			f.Idle = 10 * time.Minute
		}), "waiting", "waited for a message for 2m, and the attempt ends after 10m.", `omoi send T "<text>"`, nil},
		"silent":     {about(task.StatusRunning, lives(func(p *task.Pulse) { p.Beat = 5 * time.Minute })), "unknown", "no heartbeat for 5m, and that alone does not end it", "omoi logs --raw T", []int64{9}},
		"intake out": {about(task.StatusRunning, lives(func(p *task.Pulse) { p.Beat, p.IntakeOut = 5*time.Minute, 4*time.Minute })), "unknown", "during which ingest was down for 4m", "omoi logs --raw T", []int64{9}},
		"doubt": {about(task.StatusRunning, func(f *explain.WhyFacts) {
			f.Task.WaitingFor = task.Reason{Code: task.ReasonProviderUnreachable, Detail: "the host does not report"}
		}), "unknown", "the host does not report", "omoi logs --raw T", []int64{9}},
		"unheard, elsewhere": {about(task.StatusAssigned, elsewhere(func(p *task.Pulse) { p.Beat = -1 })), "starting", "has not reported in 1m, and connects itself.", "omoi show T", nil},
		"silent, elsewhere":  {about(task.StatusRunning, elsewhere(func(p *task.Pulse) { p.Beat = 5 * time.Minute })), "unknown", "no heartbeat for 5m", "omoi logs -f T", []int64{9}},
		"steered": {about(task.StatusRunning, func(f *explain.WhyFacts) {
			lives(nil)(f)
			f.Opinion = &explain.Opinion{SpokenBy: "rules", Steer: true, Summary: "The same call came 5 times.", Confidence: 0.8, Evidence: []int64{7, 12}}
		}), "stuck", "the guardian (rules, confidence 0.8) recommends steering: The same call came 5 times (events 7, 12 of attempt 1).", "omoi guardian interventions T", []int64{7, 12}},
		"validated": {about(task.StatusValidating, lives(nil)), "running", "validates the work", "omoi logs -f T", []int64{9}},

		"before a validator": {about(task.StatusPendingValidation, nil), "waiting", "validation round 1", "omoi logs -f T", nil},
		"to be revised":      {about(task.StatusNeedsRevision, nil), "starting", "", "omoi show T", nil},
		"completed":          {about(task.StatusCompleted, nil), "completed", "Completed after 1 attempt", "omoi receipt T", []int64{9}},
		"completed, and said": {about(task.StatusCompleted, func(f *explain.WhyFacts) {
			said := explain.Evidence{Attempt: 1, Sequence: 11, Type: event.AgentCompleted}
			f.Signs = append([]explain.Evidence{{Attempt: 1, Sequence: 12, Type: event.AgentShutdown}, said}, f.Signs...)
		}), "completed", "Completed after 1 attempt", "omoi receipt T", []int64{11}},
		"failed":         {about(task.StatusFailed, broken(task.ClassAgentError)), "failed", "Failed after 1 attempt (agent_error): It broke (events 7, 4 of attempt 1).", "omoi retry T", []int64{7, 4}},
		"failed alike":   {about(task.StatusFailed, func(f *explain.WhyFacts) { broken(task.ClassAgentError)(f); f.Same = true }), "failed", "Failed", "omoi logs T", []int64{7, 4}},
		"setup":          {about(task.StatusFailed, setup("ended with exit code 4", "{}", task.ReasonSetupFailed)), "failed", "The setup step ended", `omoi project update P --setup "<command>"`, []int64{7, 4}},
		"setup too slow": {about(task.StatusFailed, setup("was ended after 5m", "{}", task.ReasonSetupTimeout)), "failed", "after 5m", "omoi project update P --setup-timeout <time>", []int64{7, 4}},
		"its own setup":  {about(task.StatusFailed, setup("ended with exit code 4", `{"setup": "make deps"}`, task.ReasonSetupFailed)), "failed", "The setup step", "omoi show T", []int64{7, 4}},
		"infrastructure": {about(task.StatusFailed, broken(task.ClassInfrastructure)), "failed", "infrastructure", "omoi doctor", []int64{7, 4}},
		"credentials":    {about(task.StatusFailed, broken(task.ClassCredentials)), "failed", "credentials", "omoi credentials test", []int64{7, 4}},
		"no credential": {about(task.StatusFailed, func(f *explain.WhyFacts) {
			broken(task.ClassCredentials)(f)
			f.Task.EndReason = task.NoCredential("anthropic")
		}), "failed", "credentials", "omoi credentials set anthropic", []int64{7, 4}},
		"which credential": {about(task.StatusFailed, func(f *explain.WhyFacts) {
			broken(task.ClassCredentials)(f)
			f.Task.EndReason = task.NoCredential("github")
		}), "failed", "credentials", "omoi credentials set github", []int64{7, 4}},
		"interrupted": {about(task.StatusFailed, func(f *explain.WhyFacts) {
			broken(task.ClassStopped)(f)
			f.Task.EndReason = task.Reason{Code: task.ReasonInterrupted, By: task.FromPerson}
		}), "failed", "stopped", "omoi retry T", []int64{7, 4}},
		"bad input":       {about(task.StatusFailed, broken(task.ClassInvalidInput)), "failed", "invalid_input", "omoi show T", []int64{7, 4}},
		"out of budget":   {about(task.StatusFailed, broken(task.ClassBudget)), "failed", "budget", "omoi budget T --usd <more>", []int64{7, 4}},
		"cancelled":       {about(task.StatusCancelled, broken(task.ClassNone)), "cancelled", "It broke.", "omoi retry T", nil},
		"begins again":    {about(task.StatusFailed, func(f *explain.WhyFacts) { f.Task.PendingCommand = &task.Command{Kind: "retry"} }), "starting", "are deleted, or task.cleanup_timeout after their end; the task was failed before.", "omoi sandbox list", nil},
		"being cancelled": {about(task.StatusRunning, asked("cancel", time.Second)), "running", "; the command cancel is pending.", "omoi logs -f T", []int64{9}},
		"listens, being cancelled": {about(task.StatusRunning, func(f *explain.WhyFacts) {
			lives(func(p *task.Pulse) { p.Waiting = 90 * time.Second })(f)
			asked("cancel", time.Second)(f)
		}), "waiting", "; the command cancel is pending.", "omoi logs -f T", nil},
		"listens, about to be completed": {about(task.StatusRunning, func(f *explain.WhyFacts) {
			lives(func(p *task.Pulse) { p.Waiting = 90 * time.Second })(f)
			asked("complete", time.Second)(f)
		}), "waiting", "; the command complete is pending.", "omoi logs -f T", nil},
		"cancelled for long": {about(task.StatusRunning, asked("cancel", time.Hour)), "running", "; the command cancel is pending", "omoi doctor", []int64{9}},
		"a status to come":   {about("dreaming", nil), "unknown", "dreaming", "omoi show T", nil},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			e := explain.Explain(c.facts)
			require.Equal(t, []string{c.state, c.next, "T"}, []string{e.State, e.Next, e.TaskID})
			require.Contains(t, e.Why, c.says)
			require.True(t, strings.HasSuffix(e.Why, "."), e.Why)
			require.NotContains(t, e.Why, "look inside", "that is for others")
			numbers := []int64{}
			for _, s := range e.Evidence {
				numbers = append(numbers, s.Sequence)
			}
			require.Equal(t, append([]int64{}, c.events...), numbers)
		})
	}
}

// Whatever is put together, a task has an answer and a command.
// A task that has its slot starts nowhere while no worker is there to start it.
// An explanation names the event of the call or of the wait, not a checkpoint or a message after it.
func TestExplain_NamesTheEventOfWhatItSays(t *testing.T) {
	t.Parallel()
	shows := func(pulse func(*task.Pulse)) explain.Explanation {
		return explain.Explain(about(task.StatusRunning, func(f *explain.WhyFacts) {
			lives(pulse)(f)
			for n, eventType := range map[int64]string{
				10: event.AgentToolUse, 11: event.AgentToolUse, 12: event.AgentWaiting, 13: event.AgentMessage, 14: event.AgentCheckpoint,
			} {
				tool := map[int64]string{10: "Bash", 11: "Read"}[n]
				f.Events = append(f.Events, event.Event{Sequence: n, Type: eventType, Data: []byte(`{"tool":"` + tool + `"}`)})
				f.Signs = append(f.Signs, explain.Evidence{Attempt: 1, Sequence: n, Type: eventType})
			}
			slices.SortFunc(f.Signs, func(a, b explain.Evidence) int { return int(b.Sequence - a.Sequence) })
		}))
	}
	for want, pulse := range map[int64]func(*task.Pulse){
		10: func(p *task.Pulse) { p.Tool = "Bash" },
		12: func(p *task.Pulse) { p.Waiting = time.Minute },
		13: nil,
	} {
		e := shows(pulse)
		require.Len(t, e.Evidence, 1)
		require.Equal(t, want, e.Evidence[0].Sequence)
		require.Contains(t, e.Why, fmt.Sprintf("(event %d of attempt 1).", want))
	}
	require.Empty(t, shows(func(p *task.Pulse) { p.Tool = "Grep" }).Evidence, "its call is not among the newest events")
}

func TestExplain_StartingWithoutWorkersWaitsForThem(t *testing.T) {
	t.Parallel()
	slot := func(f *explain.WhyFacts) {
		f.Task.Attempts, f.Task.AttemptCount, f.Signs, f.Task.HoldsSlot = nil, 0, nil, true
		f.Down = explain.Outage{What: "No worker polls q: tasks are accepted and wait", Next: "omoi worker"}
	}
	e := explain.Explain(about(task.StatusPending, slot))
	require.Equal(t, []any{explain.StandsWaiting, "omoi worker"}, []any{e.State, e.Next})
	require.Equal(t, "Branch and sandbox cannot be created now: No worker polls q: tasks are accepted and wait.", e.Why)
	blocked := explain.Explain(about(task.StatusPending, func(f *explain.WhyFacts) { slot(f); f.Task.Blocked = task.BlockedPaused }))
	require.NotContains(t, blocked.Why, "No worker", "the project is paused first")
	f := about(task.StatusPending, slot)
	require.Contains(t, explain.Why(f.Task, f.Down), "No worker polls q")
	require.NotContains(t, explain.Why(about(task.StatusRunning, nil).Task, f.Down), "No worker")
}

func TestExplain_EveryTaskHasAnAnswer(t *testing.T) {
	t.Parallel()
	reasons := []task.BlockedReason{
		"", task.BlockedDependency, task.BlockedDependencyFailed, task.BlockedProviderLimit, task.BlockedBudget, task.BlockedPaused,
		task.BlockedSuspended, task.BlockedUnknownTooLong, task.BlockedReview, "for a reason of tomorrow",
	}
	classes := []task.FailureClass{
		"", task.ClassInfrastructure, task.ClassProviderLimit, task.ClassAgentError, task.ClassResources, task.ClassStopped, task.ClassInvalidInput,
		task.ClassCredentials, task.ClassPublish, task.ClassBudget, task.ClassTerminated, task.ClassReported,
	}
	for _, status := range task.Statuses() {
		for _, reason := range reasons {
			for _, class := range classes {
				f := explain.WhyFacts{Task: task.Task{ID: "T", ProjectID: "P", Status: status, Blocked: reason, FailureClass: class}}
				e := explain.Explain(f)
				require.NotEmpty(t, e.Why, "%s %s %s", status, reason, class)
				require.True(t, strings.HasPrefix(e.Next, "omoi "), "%s %s %s: %q", status, reason, class, e.Next)
				require.NotEmpty(t, e.State)
				require.NotNil(t, e.Evidence)
			}
		}
	}
}
