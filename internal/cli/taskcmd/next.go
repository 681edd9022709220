package taskcmd

import (
	"slices"
	"strings"

	"github.com/omoi-dev/omoi/api/client"
	"github.com/omoi-dev/omoi/internal/cli/render"
	"github.com/omoi-dev/omoi/internal/explain"
	"github.com/omoi-dev/omoi/internal/task"
)

// nextCommands returns the commands that a user may run now, each with its purpose. waits reports that the agent waits
// for a message.
func nextCommands(t client.Task, waits bool) [][2]string {
	id := render.Name(t.Key, t.ID)
	var next [][2]string
	add := func(when bool, command, why string) {
		if when {
			next = append(next, [2]string{strings.ReplaceAll(command, "{task}", id), why})
		}
	}
	over := t.Status.Final()
	ending := t.PendingCommand != nil && t.PendingCommand.Kind == "cancel"
	waits = waits && !ending
	asks := t.Question != nil && !over && !ending
	add(asks, `omoi answer {task} "<text>"`, "answer its question")
	add(waits && !asks, `omoi send {task} "<text>"`, "answer the waiting agent")
	add(t.Status == task.StatusFailed || t.Status == task.StatusCancelled, "omoi retry {task}", "start the next attempt")
	spent := explain.OutOfBudget(t)
	add(spent, shortened(t, explain.RaiseBudget(t)), "raise the budget and resume")
	add(needsUser(t) && !spent, "omoi retry {task}", "resume")
	add(t.Status == task.StatusPending && t.Blocked == task.BlockedProviderLimit, "omoi retry {task}", "retry now, before the rate limit resets")
	add(over && hasEvents(t), "omoi logs {task}", "show its events")
	add(!over, "omoi logs -f {task}", "follow its events")
	add(!waits && !ending && t.Status == task.StatusRunning && t.SandboxID != nil, `omoi send {task} "<text>"`, "send its agent a message")
	judged := t.Status == task.StatusPendingValidation || t.Status == task.StatusValidating || t.Blocked == task.BlockedReview
	add(judged, "omoi review {task} --approve", "publish without waiting for the validator")
	add(!over && !ending, "omoi cancel {task}", "cancel it and save its work")
	add(hasWork(t), "omoi diff {task}", "show its changes")
	add(hasWork(t), "omoi checkout {task}", "switch to its branch")
	return next
}

func hasEvents(t client.Task) bool {
	return slices.ContainsFunc(t.Attempts, func(a client.Attempt) bool { return a.Events > 0 })
}

// hasWork reports whether the branch probably has commits. Self-connecting agents push without omoi, so that events
// count as work.
func hasWork(t client.Task) bool {
	if t.Branch == nil || t.AttemptCount == 0 {
		return false
	}
	return t.PullURL != nil || t.SelfConnecting() && hasEvents(t) ||
		slices.ContainsFunc(t.Attempts, func(a client.Attempt) bool { return committed(t, a) })
}

// committed reports whether an attempt added commits to the branch.
func committed(t client.Task, a client.Attempt) bool {
	return a.HeadCommit != nil && (t.Base == nil || *a.HeadCommit != *t.Base)
}

// next prints commands with their purposes as shell comments.
func (s *session) next(out printer, commands [][2]string) {
	if len(commands) == 0 {
		return
	}
	width := 24
	for _, n := range commands {
		width = max(width, len(n[0]))
	}
	out("")
	out("Next:")
	for _, n := range commands {
		out("  %-*s  %s", width, n[0], s.style().Dim("# "+n[1]))
	}
}

// shortWhy returns the server's explanation of the task's state, with short names.
func shortWhy(t client.Task) string {
	return render.Clean(shortened(t, t.Why))
}

// shortened replaces the IDs of a task and its project in a text of the server by their short names.
func shortened(t client.Task, text string) string {
	return render.Rename(render.ShortIDs(text, t.ProjectID), t.ID, render.Name(t.Key, t.ID))
}
