package taskcmd_test

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/omoi-dev/omoi/api/client"
	"github.com/omoi-dev/omoi/internal/cli/exit"
	"github.com/omoi-dev/omoi/internal/task"
)

// If the first event of the agent arrives before the status "assigned", the line about the start is left out.
func TestLogs_OrderOfStatusAndEvents(t *testing.T) {
	t.Parallel()
	f := newFake(t)
	assigned := aTask(idA, task.StatusAssigned)
	assigned.Why = "Attempt 1 is being started."
	f.tasks = []client.Task{assigned}
	f.onEvents = func(f *fakeAPI, n int) {
		switch n {
		case 2:
			f.events = []client.Event{anEvent(1, "agent.started", `{"sdk":"scripted"}`)}
		case 5:
			f.done = true
		}
	}
	told := withoutLastLine(f.omoi("logs", "-f", "-").out)
	require.Equal(t, 1, strings.Count(told, "is being started"), told)
	require.Less(t, strings.Index(told, "is being started"), strings.Index(told, "scripted"))

	f.onEvents = func(f *fakeAPI, n int) { f.done = n >= 4 }
	f.afters, f.done = nil, false
	require.NotContains(t, withoutLastLine(f.omoi("logs", "-f", "-").out), "is being started", "its agent has begun")
}

// withoutLastLine removes the last line, which shows the final status.
func withoutLastLine(text string) string {
	lines := strings.SplitAfter(strings.TrimRight(text, "\n"), "\n")
	return strings.Join(lines[:len(lines)-1], "")
}

func TestArguments_Invalid(t *testing.T) {
	t.Parallel()
	f := newFake(t)
	f.tasks = []client.Task{aTask(idA, task.StatusCompleted)}
	for want, args := range map[string][]string{
		"The message text is empty":                         {"send", "-", " \n"},
		"takes the full ID of one message, which omoi send": {"message", "-"},
	} {
		got := f.omoi(args...)
		require.Equal(t, exit.Usage, got.code, args)
		require.Contains(t, got.err, want)
	}
	require.Empty(t, f.asked)
	require.Contains(t, f.omoi("transcript", "-").err, "The task is completed and has no transcript. Next: omoi logs 456789ab")
	f.tasks[0].Status = task.StatusRunning
	require.Contains(t, f.omoi("transcript", "-").err, "is running and has no transcript")
}

// A salvage without files but with notes is shown: something could not be saved.
func TestSandboxList_ShowsNotesOfASalvage(t *testing.T) {
	t.Parallel()
	f := newFake(t)
	f.boxes = []client.Sandbox{{ID: boxID, TaskID: idA, Provider: "local", State: task.SandboxGone, Salvage: &task.Salvage{Kind: task.SalvageNone}}}
	require.Contains(t, f.omoi("sandbox", "list", "--all").out, "none")
	f.boxes[0].Salvage.Notes = []string{"\"huge\" was left out"}
	got := f.omoi("sandbox", "list", "--all").out
	require.Contains(t, got, "none, with 1 note: see omoi work")
	f.boxes[0].Salvage.Kind, f.boxes[0].Salvage.Files = task.SalvageRef, 2
	require.Contains(t, f.omoi("sandbox", "list", "--all").out, "2 files in ref , with 1 note: see omoi work")
}
