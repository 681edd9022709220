package taskcmd_test

import (
	"encoding/json"
	"strings"
	"testing"
	"time"
	"unicode/utf8"

	"github.com/stretchr/testify/require"

	"github.com/omoi-dev/omoi/api/client"
	"github.com/omoi-dev/omoi/internal/cli/exit"
	"github.com/omoi-dev/omoi/internal/task"
)

func TestFindTask(t *testing.T) {
	t.Parallel()
	f := newFake(t)
	f.tasks = []client.Task{aTask(idA, task.StatusRunning), aTask(idB, task.StatusFailed)}
	for ref, want := range map[string]string{"-": idA, "89ab": idA, "55CD": idB, idB: idB, "01931f6e-7c2a": idA} {
		got := f.omoi("show", ref, "--json")
		require.Zero(t, got.code, got.err)
		require.Contains(t, got.out, want)
	}
	for ref, code := range map[string]int{
		"abc": exit.Usage, "01931f6e": exit.Usage, "zzzz": exit.Failed, "ffff": exit.Failed, strings.Repeat("0", 36): exit.Failed,
	} {
		require.Equal(t, code, f.omoi("show", ref).code, ref)
	}
	got := f.omoi("show", "01931f6e")
	require.Contains(t, got.err, idA)
	require.Contains(t, got.err, idB)
	require.Equal(t, exit.Usage, f.omoi("show").code)
	require.Contains(t, f.omoi("show", strings.Repeat("0", 36)).err, "Next: omoi ps; for the tasks of a ticket, omoi ticket show")
	require.Contains(t, f.omoi("show", "0000eeee").err, "omoi ticket show")
	f.tasks = nil
	require.Equal(t, exit.Failed, f.omoi("show", "-").code)
}

func TestPS(t *testing.T) {
	t.Parallel()
	f := newFake(t)
	require.Contains(t, f.omoi("ps").out, "No tasks")
	queued := aTask(idB, task.StatusPending)
	position := 3
	queued.QueuePosition, queued.Title = &position, "Evil \x1b[31mtitle\u202e"
	f.tasks = []client.Task{aTask(idA, task.StatusRunning), queued}
	got := f.omoi("ps")
	require.Zero(t, got.code, got.err)
	require.Contains(t, got.out, "456789ab")
	require.Contains(t, got.out, "pending (position 3 in the queue)")
	require.NotContains(t, got.out, "\x1b")
	require.NotContains(t, got.out, "\u202e")
	require.NotContains(t, f.omoi("ps", "--status", "running").out, "456755cd")
	require.Contains(t, f.omoi("ps", "-n", "1").err, "There are more. Next: omoi ps -n 0")
	f.tasks = append(f.tasks, aTask(idC, task.StatusRunning))
	require.Contains(t, f.omoi("ps", "--status", "Running", "-n", "1").err, "There are more. Next: omoi ps --status running -n 0")
	f.tasks = f.tasks[:2]
	var all []client.Task
	requireJSON(t, f.omoi("ps", "--json", "-n", "0").out, &all)
	require.Len(t, all, 2)
	require.Contains(t, f.omoi("ps", "--status", "Running").out, "456789ab")
	require.Equal(t, exit.Usage, f.omoi("ps", "-n", "-1").code)
	require.Zero(t, f.with(call{env: map[string]string{"OMOI_API_URL": strings.TrimPrefix(f.url, "http://")}}, "ps").code, "a scheme is not needed")
	require.Equal(t, exit.Usage, f.omoi("ps", "extra").code)
	f.tasks[0].Title = strings.Repeat("long ", 12)
	for line := range strings.Lines(f.with(call{env: map[string]string{"COLUMNS": "80"}}, "ps").out) {
		require.LessOrEqual(t, utf8.RuneCountInString(line), 81)
	}
}

func TestShow(t *testing.T) {
	t.Parallel()
	f := newFake(t)
	running := aTask(idA, task.StatusRunning)
	running.PendingCommand = &client.Command{Kind: "cancel", State: task.ReceiptAccepted}
	running.Attempts = []client.Attempt{
		{Number: 1, Kind: "first", Outcome: "failed", FailureClass: task.ClassInfrastructure, Reason: "The sandbox died.", Events: 7},
		{Number: 2, Kind: "retry", StartedAt: time.Now()},
	}
	gone := time.Now()
	f.tasks = []client.Task{running}
	f.boxes = []client.Sandbox{
		{
			ID: "abcdefghijklmnopqrstuvwxyz", Provider: "local", TaskID: idA, Attempt: 1, State: task.SandboxGone, VerifiedAt: &gone,
			SecondsAlive: 1.5, Salvage: &task.Salvage{Kind: task.SalvageRef, Ref: "refs/omoi/rescue/x", Files: 2, Notes: []string{"\"huge\" was left out\x1b"}},
		},
		{ID: "bbcdefghijklmnopqrstuvwxyz", Provider: "local", TaskID: idA, Attempt: 2, State: task.SandboxRunning},
	}
	got := f.omoi("show", "-")
	require.Zero(t, got.code, got.err)
	for _, want := range []string{
		idA, "Because.", "feature/x", "failed infrastructure", "The sandbox died.", "  running ", "2 files in ref refs/omoi/rescue/x",
		"not yet", "http://ui/namespaces/omoi/workflows/task-" + idA, "cancel, accepted",
	} {
		require.Contains(t, got.out, want)
	}
	require.Contains(t, got.out, "omoi logs -f 456789ab")
	require.Contains(t, got.out, "of 3 automatic", "a retry that a user asks for does not count")
	require.NotContains(t, got.out, "omoi cancel 456789ab", "it is asked for")
	require.NotContains(t, got.out, "omoi send 456789ab", "nobody would hear it")
	const work = "Not all work of attempt 1 is on the branch. Next: omoi work 456789ab\n"
	require.Contains(t, got.out, work)
	require.Empty(t, got.err, "all of it is the answer")
	require.Contains(t, f.omoi("cancel", "-").out, work)
	require.Contains(t, f.omoi("diff", "-").err, work)
	f.tasks[0].Status, f.boxes[1].StartedAt = task.StatusCancelled, &gone
	require.Contains(t, f.omoi("cancel", "-").out, work+"\nThe files of attempt 2 are being saved. Next: omoi work 456789ab\n")
	f.boxes[1].Salvage = f.boxes[0].Salvage
	require.Contains(t, f.omoi("cancel", "-").out, "work of attempts 1, 2 is")
	f.boxes[1].Salvage = nil
	f.tasks[0].Status, f.boxes[1].StartedAt = task.StatusRunning, nil
	var shown map[string]any
	requireJSON(t, f.omoi("show", "-", "--json").out, &shown)
	require.Equal(t, idA, shown["id"])
	require.Equal(t, f.url, shown["api_url"])
	require.Len(t, shown["sandboxes"], 2)
	f.tasks[0].PendingCommand = nil
	require.Contains(t, f.omoi("show", "-").out, "omoi cancel 456789ab")
}

// show prints the result. A long result is cut, with the command that prints the rest.
func TestShow_PrintsTheResult(t *testing.T) {
	t.Parallel()
	f := newFake(t)
	f.tasks = []client.Task{aTask(idA, task.StatusCompleted)}
	for result, want := range map[string]string{
		`{"output":"one\n\u001b[31mtwo\n","turns":1}`: "\nResult\n  one\n   [31mtwo\n",
		`"just a text"`: "\nResult\n  just a text\n",
		`{"output":"` + strings.Repeat(`x\n`, 45) + `"}`: "  … 5 lines more. Next: omoi show 456789ab --json",
	} {
		f.tasks[0].Result = json.RawMessage(result)
		require.Contains(t, f.omoi("show", "-").out, want)
	}
	for _, none := range []string{`null`, `{"output":"\n"}`, `{"turns":1}`, `[1]`} {
		f.tasks[0].Result = json.RawMessage(none)
		require.NotContains(t, f.omoi("show", "-").out, "Result")
	}
}

// show names the command that answers a waiting agent.
func TestShow_WaitingAgent(t *testing.T) {
	t.Parallel()
	f := newFake(t)
	running, box := aTask(idA, task.StatusRunning), "abcdefghijklmnopqrstuvwxyz"
	running.SandboxID, running.Attempts = &box, []client.Attempt{{Number: 1, Kind: "first", Events: 2}}
	f.tasks = []client.Task{running}
	for _, c := range []struct {
		newest client.Event
		waits  bool
	}{
		{anEvent(2, "agent.waiting", `{}`), true},
		{anEvent(2, "agent.heartbeat", `{"status":"waiting"}`), true},
		{anEvent(2, "agent.heartbeat", `{"status":"running"}`), false},
		{anEvent(2, "agent.message", `{"content":"x"}`), false},
	} {
		f.events = []client.Event{anEvent(1, "agent.started", `{}`), c.newest}
		got := f.omoi("show", "-")
		require.Zero(t, got.code, got.err)
		require.Equal(t, c.waits, strings.Contains(got.out, "running (waiting for message)"), c.newest.Type)
		require.Equal(t, c.waits, strings.Contains(got.out, "answer the waiting agent"))
		require.Contains(t, got.out, `omoi send 456789ab "<text>"`)
	}
	require.Equal(t, "1:1", f.afters[len(f.afters)-1], "only the newest event is asked for")
	require.NotContains(t, f.omoi("ps").out, "waiting")
	f.tasks[0].Group, f.events = task.GroupNeedsYou, []client.Event{anEvent(2, "agent.waiting", `{}`)}
	require.Contains(t, f.omoi("ps").out, "running (waiting for message)")
	require.Equal(t, 1, strings.Count(f.omoi("show", "-").out, "(waiting for message)"))
}

// The next commands of show fit the state of the task, without duplicates.
func TestShow_NextCommands(t *testing.T) {
	t.Parallel()
	f := newFake(t)
	done := aTask(idA, task.StatusCompleted)
	done.Attempts = []client.Attempt{{Number: 1, Kind: "first", Outcome: "completed", Reason: "The work was published.", HeadCommit: done.Base, Events: 3}}
	f.tasks = []client.Task{done}
	out := f.omoi("show", "-").out
	require.Contains(t, out, "no commits, nothing to publish")
	require.Contains(t, out, "omoi logs 456789ab")
	for _, none := range []string{"omoi diff", "omoi checkout", "published"} {
		require.NotContains(t, out, none)
	}
	head := "fedcba"
	f.tasks[0].Attempts[0].HeadCommit = &head
	out = f.omoi("show", "-").out
	for _, want := range []string{"omoi diff 456789ab", "omoi checkout 456789ab", "published"} {
		require.Contains(t, out, want)
	}
	f.tasks[0].Status, f.tasks[0].Why = task.StatusFailed, "Failed after 1 attempt: x."
	out = f.omoi("show", "-").out
	require.Equal(t, 1, strings.Count(out, "omoi retry"))
	require.Contains(t, out, "Failed after 1 attempt: x.\n")
	f.tasks[0].SandboxID = new("abcdefghijklmnopqrstuvwxyz")
	require.NotContains(t, f.omoi("show", "-").out, *f.tasks[0].SandboxID)
	f.tasks[0].Agent, f.tasks[0].Attempts[0].HeadCommit = "external", nil
	require.Contains(t, f.omoi("show", "-").out, "omoi diff", "its commits come past us")
	require.Regexp(t, `(?m)^Sandbox +abcdefghijklmnopqrstuvwxyz$`, f.omoi("show", "-").out, "its agent reports under the whole id")
	f.tasks[0].Attempts[0].Events = 0
	require.NotContains(t, f.omoi("show", "-").out, "omoi diff", "nobody was there")
}

func TestLogs_ResumeByCursor(t *testing.T) {
	t.Parallel()
	f := newFake(t)
	f.tasks, f.done = []client.Task{aTask(idA, task.StatusCompleted)}, true
	f.events = []client.Event{
		anEvent(1, "agent.started", `{"sdk":"scripted"}`), anEvent(2, "agent.heartbeat", `{"status":"running"}`),
		anEvent(3, "agent.message", `{"content":"hello"}`),
	}
	got := f.omoi("logs", "-")
	require.Zero(t, got.code, got.err)
	require.Contains(t, got.out, "started")
	require.NotContains(t, got.out, "heartbeat")
	require.Contains(t, f.omoi("logs", "-", "--heartbeats").out, "heartbeat")
	got = f.omoi("logs", "-f", "-", "--after", "1:2")
	require.Zero(t, got.code, got.err)
	require.NotContains(t, got.out, "started")
	require.Contains(t, got.out, "hello")
	require.Contains(t, got.out, "completed")
	lines := strings.Split(strings.TrimSpace(f.omoi("logs", "-f", "-", "--json").out), "\n")
	require.Len(t, lines, 3)
	for _, line := range lines {
		var e client.Event
		requireJSON(t, line, &e)
	}
}

func TestLogs_SurviveAnOutage(t *testing.T) {
	t.Parallel()
	f := newFake(t)
	f.tasks, f.outages = []client.Task{aTask(idA, task.StatusRunning)}, 1
	f.events = []client.Event{anEvent(1, "agent.started", `{}`)}
	f.onEvents = func(f *fakeAPI, n int) {
		if n > 1 {
			f.events = append(f.events, anEvent(2, "agent.message", `{"content":"back again"}`))
			f.done = true
		}
	}
	got := f.omoi("logs", "-f", "-")
	require.Zero(t, got.code, got.err)
	require.Equal(t, 1, strings.Count(got.out, "started"), "nothing is printed twice")
	require.Contains(t, got.out, "back again")
	require.Contains(t, got.err, "does not answer")
	require.Equal(t, []string{"", "1:1", "1:1"}, f.afters)
}

func TestLogs_ShowWhyATaskWaits(t *testing.T) {
	t.Parallel()
	f := newFake(t)
	f.tasks = []client.Task{aTask(idA, task.StatusPending)}
	f.onEvents = func(f *fakeAPI, n int) { f.done = n > 1 }
	require.Contains(t, f.omoi("logs", "-f", "-").out, "Because.")
	f.afters, f.done, f.onEvents = nil, false, nil
	require.Contains(t, f.omoi("logs", "-").out, "No events yet")
	f.tasks[0].Status, f.done = task.StatusFailed, true
	require.Contains(t, f.omoi("logs", "-").out, "Next: omoi show 456789ab")
	require.NotContains(t, f.omoi("show", "-").out, "omoi logs")
}

// The hint to send a message appears only while the agent waits.
func TestLogs_OfferSendWhileTheAgentWaits(t *testing.T) {
	t.Parallel()
	f := newFake(t)
	f.tasks, f.done = []client.Task{aTask(idA, task.StatusRunning)}, true
	f.events = []client.Event{anEvent(1, "agent.waiting", `{}`)}
	require.Contains(t, f.omoi("logs", "-f", "-").out, `for a message: omoi send 456789ab "<text>"`)
	require.NotContains(t, f.omoi("logs", "-").out, "omoi send")
	f.tasks[0].Status = task.StatusCompleted
	require.NotContains(t, f.omoi("logs", "-f", "-").out, "omoi send")
}

// A cancel finds out that the workflow was terminated; the task is then failed.
func TestCancel_OfATerminatedWorkflowSettlesTheTask(t *testing.T) {
	t.Parallel()
	f := newFake(t)
	f.tasks, f.ended = []client.Task{aTask(idA, task.StatusRunning)}, true
	got := f.omoi("cancel", "-")
	require.Zero(t, got.code, got.err)
	require.Contains(t, got.out, "its workflow was terminated outside omoi, so the task is now failed (terminated)")
	require.Contains(t, got.out, "Next: omoi retry 456789ab")
	require.Equal(t, exit.Failed, f.omoi("cancel", "-").code, "it was failed before")

	f.tasks[0].Status, f.tasks[0].FailureClass = task.StatusRunning, task.ClassNone
	var asked client.CommandResult
	requireJSON(t, f.omoi("cancel", "-", "--json").out, &asked)
	require.Equal(t, []any{task.StatusFailed, task.ReceiptTooLate}, []any{asked.Task.Status, asked.Command.State})
}

func TestDiff(t *testing.T) {
	t.Parallel()
	f := newFake(t)
	f.tasks = []client.Task{aTask(idA, task.StatusCompleted)}
	require.Equal(t, result{out: "+added\n"}, f.omoi("diff", "-"))
	var out map[string]string
	requireJSON(t, f.omoi("diff", "-", "--json").out, &out)
	require.Equal(t, "+added\n", out["diff"])
}

func TestCancelAndRetry(t *testing.T) {
	t.Parallel()
	f := newFake(t)
	f.tasks = []client.Task{aTask(idA, task.StatusRunning)}
	got := f.omoi("cancel", "-", "--reason", "changed my mind")
	require.Zero(t, got.code, got.err)
	require.Contains(t, got.out, "applied")
	require.Contains(t, got.out, "Next: omoi logs -f 456789ab")
	f.tasks[0].Status, f.tasks[0].Blocked = task.StatusPending, task.BlockedBudget
	require.Contains(t, f.omoi("retry", "-").out, "Because.", "why it stopped")
	f.tasks[0].Status, f.tasks[0].Blocked = task.StatusRunning, ""
	f.settled, f.asked = false, f.asked[:1]
	got = f.omoi("retry", "89ab")
	require.Zero(t, got.code, got.err)
	require.Contains(t, got.out, "accepted and in progress")
	require.Equal(t, []string{"cancel " + idA + " changed my mind", "retry " + idA + " asked for on the command line"}, f.asked)
	f.tasks[0].Status = task.StatusCompleted
	got = f.omoi("cancel", "-")
	require.Equal(t, exit.Failed, got.code)
	require.Contains(t, got.err, "completed already")
}

func TestSend(t *testing.T) {
	t.Parallel()
	f := newFake(t)
	f.tasks = []client.Task{aTask(idA, task.StatusRunning)}
	require.Equal(t, exit.Failed, f.omoi("send", "-", "hello").code, "nobody is there")
	box := "box"
	f.tasks[0].SandboxID = &box
	got := f.omoi("send", "-", "hello")
	require.Zero(t, got.code, got.err)
	require.Contains(t, got.out, "queued")
	require.Zero(t, f.omoi("send", "-", "stop that", "--interrupt").code)
	require.Equal(t, []string{"box  hello", "box interrupt stop that"}, f.asked)
	require.Equal(t, exit.Usage, f.omoi("send", "-").code)
}

func TestSandboxes(t *testing.T) {
	t.Parallel()
	f := newFake(t)
	gone := time.Now()
	f.boxes = []client.Sandbox{{ID: "abcdefghijklmnopqrstuvwxyz", Provider: "local", TaskID: idA, State: task.SandboxGone, VerifiedAt: &gone}}
	require.Contains(t, f.omoi("sandbox", "list").out, "No active sandboxes")
	require.Contains(t, f.omoi("sandbox", "list", "--all").out, "stuvwxyz")
	var boxes []client.Sandbox
	requireJSON(t, f.omoi("sandbox", "list", "--json").out, &boxes)
	require.Empty(t, boxes)
}
